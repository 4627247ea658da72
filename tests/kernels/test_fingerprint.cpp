// The fingerprint: changed by any swap of unequal cells and by any flipped bit, the same for any split.
#include "kernels/fingerprint.hpp"

#include <bit>
#include <type_traits>

#include "support.hpp"

namespace isotherm::test {
namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

Int3 cell_of(Index i, Int3 n) {
  return {i % n.x, i / n.x % n.y, i / (n.x * n.y)};
}

template <class T>
class FingerprintOf : public testing::Test {
 protected:
  std::uint64_t of(const Field<T>& field) const { return fingerprint<T>(field.view(), {0, 0, 0}, shape_); }

  const Int3 shape_{19, 7, 11};
  const std::unique_ptr<Device> host_ = make_host_device();
  const std::uint64_t seed_ = std::random_device{}();
  std::mt19937_64 random_{seed_};
  Index any_cell() { return static_cast<Index>(random_() % static_cast<std::uint64_t>(shape_.product())); }
};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(FingerprintOf, Precisions);

TYPED_TEST(FingerprintOf, ChangesWithEveryBitOfACell) {
  SCOPED_TRACE("seed " + std::to_string(this->seed_));
  using T = TypeParam;
  Field<T> field = random_field<T>(*this->host_, this->shape_, 1, this->seed_);
  const std::uint64_t before = this->of(field);
  for (int trial = 0; trial < 50; ++trial) {
    T& cell = field.view()(cell_of(this->any_cell(), this->shape_));
    for (unsigned bit = 0; bit < 8 * sizeof(T); ++bit) {
      const T kept = cell;
      cell = std::bit_cast<T>(std::bit_cast<Bits<T>>(cell) ^ (Bits<T>(1) << bit));
      ASSERT_NE(this->of(field), before) << "bit " << bit;
      cell = kept;
    }
  }
  EXPECT_EQ(this->of(field), before);
}

TYPED_TEST(FingerprintOf, ChangesWithEverySwapOfUnequalCells) {
  SCOPED_TRACE("seed " + std::to_string(this->seed_));
  using T = TypeParam;
  Field<T> field = random_field<T>(*this->host_, this->shape_, 1, this->seed_);
  const std::uint64_t before = this->of(field);
  for (int trial = 0; trial < 2000; ++trial) {
    T& a = field.view()(cell_of(this->any_cell(), this->shape_));
    T& b = field.view()(cell_of(this->any_cell(), this->shape_));
    if (same_bits(a, b)) continue;
    std::swap(a, b);
    ASSERT_NE(this->of(field), before);
    std::swap(a, b);
  }
}

TYPED_TEST(FingerprintOf, AddsUpOverAnySplit) {
  SCOPED_TRACE("seed " + std::to_string(this->seed_));
  using T = TypeParam;
  const Int3 n = this->shape_;
  const Field<T> whole = random_field<T>(*this->host_, n, 1, this->seed_);
  for (int trial = 0; trial < 20; ++trial) {
    const Int3 cut = cell_of(this->any_cell(), n);
    std::uint64_t sum = 0;
    for (int part = 0; part < 8; ++part) {
      Box box;
      for (int axis = 0; axis < 3; ++axis) {
        const bool upper = part >> axis & 1;
        box.lo[axis] = upper ? cut[axis] : 0;
        box.hi[axis] = upper ? n[axis] : cut[axis];
      }
      if (box.empty()) continue;
      Field<T> block = filled(*this->host_, box.extent(), 2, T(77));
      for (Index i = 0; i < box.cells(); ++i) {
        const Int3 c = cell_of(i, box.extent());
        block.view()(c) = whole.view()(c + box.lo);
      }
      sum += fingerprint<T>(std::as_const(block).view(), box.lo, n);
    }
    ASSERT_EQ(sum, this->of(whole)) << "cut at " << text(cut);
  }
}

TYPED_TEST(FingerprintOf, IsTheSameForEveryInstructionSet) {
  using T = TypeParam;
  const Field<T> field = random_field<T>(*this->host_, this->shape_, 1, 1);
  for (std::string_view set : instruction_sets()) {
    for_instruction_set(set, [&](auto isa) {
      EXPECT_EQ((host::Fingerprint<decltype(isa), T>::compute(field.view(), {0, 0, 0}, this->shape_)),
                this->of(field));
    });
  }
}

TYPED_TEST(FingerprintOf, TellsZerosOfEitherSignApart) {
  using T = TypeParam;
  const Field<T> plus = filled(*this->host_, this->shape_, 1, T(0));
  const Field<T> minus = filled(*this->host_, this->shape_, 1, -T(0));
  EXPECT_NE(this->of(plus), this->of(minus));
}

// Written into files and compared across versions: the value itself must not drift.
TEST(Fingerprint, KeepsItsValue) {
  const auto host = make_host_device();
  Field<double> field = filled(*host, {2, 2, 2}, 1, 0.0);
  for (Index i = 0; i < 8; ++i) field.view()(cell_of(i, {2, 2, 2})) = static_cast<double>(i);
  EXPECT_EQ(fingerprint<double>(std::as_const(field).view(), {0, 0, 0}, {2, 2, 2}), 15686855588707271070u);
}

}  // namespace
}  // namespace isotherm::test
