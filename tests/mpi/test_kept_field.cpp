// A field that is kept, and others that are held against it on other process grids.
#include <gtest/gtest.h>

#include <limits>

#include "core/communicator.hpp"
#include "grid/decomposition.hpp"
#include "grid/field.hpp"
#include "kernels/fingerprint.hpp"
#include "output/field_files/kept_field.hpp"

namespace isotherm {
namespace {

constexpr Int3 grid{11, 9, 13};

// Every cell is its index, and what is told is added to some.
template <class T>
class Whole {
 public:
  Whole(const Communicator& world, Int3 process_grid)
      : world_(world),
        block_(Decomposition(grid, process_grid, {}).block(world.rank())),
        device_(make_host_device()),
        field_(*device_, block_.extent(), 1) {
    const FieldView<T> view = field_.view();
    for (Index z = 0; z < view.extent.z; ++z)
      for (Index y = 0; y < view.extent.y; ++y)
        for (Index x = 0; x < view.extent.x; ++x)
          view(x, y, z) = static_cast<T>(index(block_.lo + Int3{x, y, z}));
  }

  void set(Int3 cell, T value) {
    if (block_.contains(cell)) field_.view()(cell - block_.lo) = value;
  }
  BlockOfField<T> block() const {
    const FieldView<const T> view = field_.view();
    return {view, block_, world_.all_reduce(fingerprint<T>(view, block_.lo, grid), ReduceOp::sum)};
  }
  static Index index(Int3 c) { return c.x + grid.x * (c.y + grid.y * c.z); }

 private:
  const Communicator& world_;
  Box block_;
  std::unique_ptr<Device> device_;
  Field<T> field_;
};

template <class T>
class KeptFieldOf : public testing::Test {
 protected:
  const Communicator world_ = Communicator::world();
  const Int3 along_x_{world_.size(), 1, 1}, along_z_{1, 1, world_.size()};
};
using Numbers = testing::Types<float, double>;
TYPED_TEST_SUITE(KeptFieldOf, Numbers);

TYPED_TEST(KeptFieldOf, HasTheSameBitsOnAnyProcessGrid) {
  const Whole<TypeParam> one(this->world_, this->along_x_), other(this->world_, this->along_z_);
  const KeptField<TypeParam> kept(this->world_, one.block());
  EXPECT_FALSE(kept.compare(one.block()));
  EXPECT_FALSE(kept.compare(other.block()));
}

TYPED_TEST(KeptFieldOf, CountsTheCellsThatDifferAndNamesTheFirst) {
  const Whole<TypeParam> one(this->world_, this->along_x_);
  const KeptField<TypeParam> kept(this->world_, one.block());
  for (const Int3 process_grid : {this->along_x_, this->along_z_}) {
    Whole<TypeParam> other(this->world_, process_grid);
    other.set({3, 4, 12}, TypeParam(-1));
    other.set({10, 8, 5}, TypeParam(-2));
    other.set({2, 0, 6}, TypeParam(-3));
    const auto difference = kept.compare(other.block());
    ASSERT_TRUE(difference);
    EXPECT_EQ(difference->cells, 3);
    EXPECT_EQ(difference->first, (Int3{10, 8, 5}));
    EXPECT_EQ(difference->found, -2);
    EXPECT_EQ(difference->expected, Whole<TypeParam>::index({10, 8, 5}));
    EXPECT_EQ(text_of(*difference, grid), "3 of 1 287 cells; the first, (10, 8, 5), is -2 and should be 593");
  }
}

// A zero of the other sign is equal, and has other bits.
TYPED_TEST(KeptFieldOf, LooksAtBitsNotAtValues) {
  const Whole<TypeParam> one(this->world_, this->along_x_);
  const KeptField<TypeParam> kept(this->world_, one.block());
  Whole<TypeParam> other(this->world_, this->along_z_);
  other.set({0, 0, 0}, -TypeParam(0));
  const auto difference = kept.compare(other.block());
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->cells, 1);
  EXPECT_EQ(difference->first, (Int3{0, 0, 0}));
  other.set({0, 0, 0}, std::numeric_limits<TypeParam>::quiet_NaN());
  EXPECT_EQ(kept.compare(other.block())->cells, 1);
}

}  // namespace
}  // namespace isotherm
