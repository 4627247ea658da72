// The CUDA rows where the GPU's own limits lie: grids of more blocks than a launch may have, boxes of one
// cell, more than 2^31 cells, repeated runs. The tables' tests compare every row with the reference besides.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "grid/field.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "tests/kernels/cuda_fixture.hpp"
#include "tests/kernels/support.hpp"

namespace isotherm {
namespace {

template <class Row>
const Row& row_named(std::span<const Row> rows, std::string_view name) {
  for (const Row& row : rows) {
    if (row.name == name) return row;
  }
  throw std::runtime_error("no such row");
}

template <class T>
class RowsCuda : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (device) host = make_host_of(*device);
  }

  // Ghosts and padding too, in host memory.
  Field<T> random_field(Int3 extent, int ghosts) {
    return test::random_field<T>(*host, extent, ghosts, random());
  }
  Field<T> on_device(const Field<T>& field) { return test::to_device(*device, field); }
  void expect_same(const Field<T>& expected, const Field<T>& on_device, const std::string& what) {
    std::vector<char> bytes(on_device.bytes());
    device->copy(bytes.data(), on_device.data(), bytes.size(), {});
    device->synchronize(Stream{});
    EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), bytes.size()), 0) << what << ", seed " << seed;
  }
  Index up_to(Index most) { return std::uniform_int_distribution<Index>(0, most)(random); }
  // A box of at least one cell within `bounds`.
  Box random_box(Box bounds) {
    Box box;
    for (int axis = 0; axis < 3; ++axis) {
      const Index n = bounds.extent()[axis];
      box.lo[axis] = bounds.lo[axis] + up_to(n - 1);
      box.hi[axis] = box.lo[axis] + 1 + up_to(bounds.hi[axis] - box.lo[axis] - 1);
    }
    return box;
  }
  double reduced(const ReductionKernel<T>& row, FieldView<const T> a, FieldView<const T> b, Box region,
                 ReductionOp op) {
    const Buffer scratch(*device, row.scratch_bytes(region)), result(*device, sizeof(double));
    row.launch({a, b, region, op, result.template as<double>(), scratch.data()}, {});
    double value = -1;
    device->copy(&value, result.data(), sizeof value, {});
    device->synchronize(Stream{});
    return value;
  }

  const unsigned seed = std::random_device{}();
  std::mt19937_64 random{seed};
  std::unique_ptr<Device> host;
};

using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RowsCuda, Precisions);

template <class T>
std::vector<ReductionKernel<T>> cuda_reductions() {
  std::vector<ReductionKernel<T>> rows;
  for (const auto& row : reduction_kernels<T>()) {
    if (row.backend == Backend::cuda && row.launch) rows.push_back(row);
  }
  return rows;
}
constexpr ReductionOp operations[] = {ReductionOp::sum, ReductionOp::max_abs, ReductionOp::sum_abs,
                                      ReductionOp::sum_squares};

// Thin shells, odd boxes, and extents of more than 65535 blocks in y and z, against the reference row: the
// region has its bits, every other cell of `out` stays as it was.
TYPED_TEST(RowsCuda, NaiveSweepsAnyBox) {
  using T = TypeParam;
  const auto& reference = row_named(stencil_kernels<T>(), "reference");
  const auto& naive = row_named(stencil_kernels<T>(), "naive");
  const Coefficients<T> c{T(0.31), T(0.11), T(0.12), T(0.115)};
  const auto check = [&](Int3 extent, const std::vector<Box>& regions, bool has_source) {
    const Field<T> in = this->random_field(extent, 1), source = this->random_field(extent, 1);
    Field<T> out = this->random_field(extent, 1);
    const Field<T> in_cuda = this->on_device(in), source_cuda = this->on_device(source);
    Field<T> out_cuda = this->on_device(out);
    for (const Box& region : regions) {
      SweepArgs<T> args{in.view(), out.view(), region, c, {}, {}, {}};
      SweepArgs<T> args_cuda{in_cuda.view(), out_cuda.view(), region, c, {}, {}, {}};
      if (has_source) {
        args.source = source.view();
        args_cuda.source = source_cuda.view();
      }
      reference.launch(args, {}, {});
      naive.launch(args_cuda, {}, {});
      this->expect_same(out, out_cuda,
                        testing::PrintToString(region.extent().x) + " x " +
                            testing::PrintToString(region.extent().y) + " x " +
                            testing::PrintToString(region.extent().z));
    }
  };

  const Int3 odd{67, 23, 31};
  std::vector<Box> boxes{{{0, 0, 0}, odd},          {{0, 0, 0}, {1, 23, 31}}, {{66, 0, 0}, odd},
                         {{0, 0, 0}, {67, 1, 31}},  {{0, 22, 0}, odd},        {{0, 0, 30}, odd},
                         {{1, 1, 1}, {66, 22, 30}}, {{5, 5, 5}, {5, 9, 9}}};
  for (int i = 0; i < 40; ++i) boxes.push_back(this->random_box({{0, 0, 0}, odd}));
  check(odd, boxes, false);
  check(odd, boxes, true);
  for (const Int3 extent : {Int3{1, 1, 1}, Int3{2, 1, 70001}, Int3{33, 1, 66000}, Int3{3, 530000, 1}}) {
    check(extent, {{{0, 0, 0}, extent}}, false);
  }
}

TYPED_TEST(RowsCuda, PackUnpackAndCopyAreTheHosts) {
  using T = TypeParam;
  const FaceCopy<T>&expected = face_copy<T>(Backend::host), &tested = face_copy<T>(Backend::cuda);
  for (const Int3 extent : {Int3{19, 7, 5}, Int3{40, 3, 33}, Int3{2, 1, 70001}}) {
    Field<T> field = this->random_field(extent, 2);
    Field<T> field_cuda = this->on_device(field);
    for (int i = 0; i < 20; ++i) {
      const Box from = this->random_box(field.view().padded()), to = this->random_box(field.view().padded());
      const std::size_t bytes = static_cast<std::size_t>(from.cells()) * sizeof(T);
      const Buffer dense(*this->host, bytes), dense_cuda(*this->device, bytes);
      expected.pack(field.view(), from, dense.template as<T>(), {});
      tested.pack(field_cuda.view(), from, dense_cuda.template as<T>(), {});
      std::vector<char> packed(bytes);
      this->device->copy(packed.data(), dense_cuda.data(), bytes, {});
      this->device->synchronize(Stream{});
      ASSERT_EQ(std::memcmp(packed.data(), dense.data(), bytes), 0) << "pack, seed " << this->seed;

      // The packed cells land in another box of their shape, if there is one within the padded block.
      const Box target = Box{{0, 0, 0}, from.extent()}.shifted(field.view().padded().lo);
      expected.unpack(dense.template as<T>(), field.view(), target, {});
      tested.unpack(dense_cuda.template as<T>(), field_cuda.view(), target, {});
      this->expect_same(field, field_cuda, "unpack");

      const Int3 n = to.extent();  // a slab of `to`, copied past its own end along x where there is room
      const Box slab{to.lo, {to.lo.x + (n.x + 1) / 2, to.hi.y, to.hi.z}};
      const Box next = slab.shifted({slab.extent().x, 0, 0});
      if (next.hi.x > field.view().padded().hi.x) continue;
      expected.copy_within(field.view(), slab, next, {});
      tested.copy_within(field_cuda.view(), slab, next, {});
      this->expect_same(field, field_cuda, "copy_within");
    }
    expected.fill(field.view(), T(3), {});
    tested.fill(field_cuda.view(), T(3), {});
    const Box all = field.view().padded();
    EXPECT_EQ(this->reduced(row_named(reduction_kernels<T>(), "warp_shuffle"), field_cuda.view(), {}, all,
                            ReductionOp::sum),
              3.0 * all.cells());
  }
}

// Every set of walls, with b of the face and of the cell, at each reach into the ghosts.
TYPED_TEST(RowsCuda, WallGhostsAreTheHosts) {
  using T = TypeParam;
  const Int3 extent{37, 6, 9};
  const int ghosts = 3;
  const Index pitch = 37 + 2 * ghosts;  // of any face: no side is longer
  const Field<T> b = this->random_field({pitch * pitch, 1, 1}, 1), b_cuda = this->on_device(b);
  const Index origin = ghosts + ghosts * pitch;
  for (unsigned set = 0; set < 64; ++set) {
    Walls<T> walls, walls_cuda;
    for (int f = 0; f < face_count; ++f) {
      Wall<T>& wall = walls.faces[f];
      wall.is_wall = (set >> f) & 1;
      wall.a = T(0.5) + T(f);
      wall.b = T(10) * T(f);
      wall.pitch = pitch;
      walls_cuda.faces[f] = wall;
      if (f % 2 == 0) {
        wall.b_field = b.view().origin + origin;
        walls_cuda.faces[f].b_field = b_cuda.view().origin + origin;
      }
    }
    Field<T> field = this->random_field(extent, ghosts);
    Field<T> field_cuda = this->on_device(field);
    for (const int extend : {0, 1, ghosts}) {
      Box region = field.view().interior();
      for (int f = 0; f < face_count; ++f) {
        if (walls.faces[f].is_wall) continue;
        f % 2 == 1 ? region.hi[f / 2] += extend : region.lo[f / 2] -= extend;
      }
      face_copy<T>(Backend::host).fill_walls(field.view(), walls, region, {});
      face_copy<T>(Backend::cuda).fill_walls(field_cuda.view(), walls_cuda, region, {});
      this->expect_same(field, field_cuda, "walls " + std::to_string(set));
    }
  }
}

TYPED_TEST(RowsCuda, ReductionsAreRightAndRepeatable) {
  using T = TypeParam;
  for (const Int3 extent : {Int3{1, 1, 1}, Int3{5000, 3, 2}, Int3{31, 33, 17}, Int3{150, 100, 100}}) {
    const Field<T> a = this->random_field(extent, 1), b = this->random_field(extent, 1);
    const Field<T> a_cuda = this->on_device(a), b_cuda = this->on_device(b);
    for (const bool two : {false, true}) {
      const Box region = this->random_box(a.view().interior());
      long double sum = 0, sum_abs = 0, sum_squares = 0;
      double max = 0;
      for (Index z = region.lo.z; z < region.hi.z; ++z) {
        for (Index y = region.lo.y; y < region.hi.y; ++y) {
          for (Index x = region.lo.x; x < region.hi.x; ++x) {
            const double d = double(a.view()(x, y, z)) - (two ? double(b.view()(x, y, z)) : 0.0);
            sum += d;
            sum_abs += std::abs(d);
            sum_squares += static_cast<long double>(d) * d;
            max = std::max(max, std::abs(d));
          }
        }
      }
      const double expected[] = {double(sum), max, double(sum_abs), double(sum_squares)};
      for (const auto& row : cuda_reductions<T>()) {
        for (const ReductionOp op : operations) {
          const auto run = [&] {
            return this->reduced(row, a_cuda.view(), two ? b_cuda.view() : FieldView<const T>{}, region, op);
          };
          const double value = run(), right = expected[static_cast<int>(op)];
          if (row.sum_bits != SumBits::vary || op == ReductionOp::max_abs) {
            EXPECT_EQ(value, run()) << row.name << ": two runs differ";
          }
          if (op == ReductionOp::max_abs) {
            EXPECT_EQ(value, right) << row.name << ", seed " << this->seed;
          } else {  // far above what rounding in fp64 costs, far below one cell lost or counted twice
            EXPECT_NEAR(value, right, 1e-12 * double(sum_abs)) << row.name << ", seed " << this->seed;
          }
        }
      }
    }
  }
}

TYPED_TEST(RowsCuda, MaximumKeepsNaNWhereverItStands) {
  using T = TypeParam;
  const Int3 extent{65, 9, 40};
  Field<T> field = this->random_field(extent, 1);
  const Box all = field.view().interior();
  for (int i = 0; i < 12; ++i) {
    const Int3 at = this->random_box(all).lo;
    const T kept = field.view()(at);
    field.view()(at) = std::numeric_limits<T>::quiet_NaN();
    const Field<T> field_cuda = this->on_device(field);
    for (const auto& row : cuda_reductions<T>()) {
      EXPECT_TRUE(std::isnan(this->reduced(row, field_cuda.view(), {}, all, ReductionOp::max_abs)))
          << row.name << ", seed " << this->seed;
      const Box beside{{at.x + 1, 0, 0}, extent};
      if (beside.empty()) continue;
      EXPECT_FALSE(std::isnan(this->reduced(row, field_cuda.view(), {}, beside, ReductionOp::max_abs)))
          << row.name << ", seed " << this->seed;
    }
    field.view()(at) = kept;
  }
}

TYPED_TEST(RowsCuda, EmptyRegionsGiveZero) {
  const Field<TypeParam> field = this->on_device(this->random_field({4, 4, 4}, 1));
  for (const auto& row : cuda_reductions<TypeParam>()) {
    for (const ReductionOp op : operations) {
      for (const Box empty : {Box{{1, 1, 1}, {1, 3, 3}}, Box{{0, 0, 3}, {4, 4, 2}}}) {
        EXPECT_EQ(this->reduced(row, field.view(), {}, empty, op), 0.0) << row.name;
      }
    }
  }
}

// 1300^3 cells: every count and offset passes 2^31. A constant is a fixed point of coefficients that add up
// to one; the planted cell is the last.
TEST_F(CudaTest, LargeFieldsNeed64BitIndices) {
  const Int3 extent{1300, 1300, 1300};
  const double cells = 1300.0 * 1300.0 * 1300.0;
  if (device->memory().free_bytes < std::size_t{32} << 30) GTEST_SKIP() << "needs 32 GiB of free GPU memory";
  Field<float> in(*device, extent, 1), out(*device, extent, 1);
  const FaceCopy<float>& cuda = face_copy<float>(Backend::cuda);
  cuda.fill(in.view(), 1.0f, {});
  cuda.fill(out.view(), 7.0f, {});
  const float planted = 5.0f;
  device->copy(&in.view()(1299, 1299, 1299), &planted, sizeof planted, {});
  const Box all = in.view().interior();
  row_named(stencil_kernels<float>(), "naive")
      .launch({in.view(), out.view(), all, {0.25f, 0.125f, 0.125f, 0.125f}, {}, {}, {}}, {}, {});
  for (const auto& row : cuda_reductions<float>()) {
    const Buffer scratch(*device, row.scratch_bytes(all)), result(*device, sizeof(double));
    const auto reduce = [&](FieldView<const float> a, FieldView<const float> b, ReductionOp op) {
      row.launch({a, b, all, op, result.as<double>(), scratch.data()}, {});
      double value = -1;
      device->copy(&value, result.data(), sizeof value, {});
      device->synchronize(Stream{});
      return value;
    };
    EXPECT_EQ(reduce(in.view(), {}, ReductionOp::sum), cells + 4) << row.name;
    EXPECT_EQ(reduce(in.view(), {}, ReductionOp::max_abs), 5.0) << row.name;
    // The planted 5 becomes 2, and its three neighbours within the field 1.5.
    EXPECT_EQ(reduce(out.view(), {}, ReductionOp::sum), cells + 1 + 3 * 0.5) << row.name;
    EXPECT_EQ(reduce(in.view(), out.view(), ReductionOp::sum_abs), 3 + 3 * 0.5) << row.name;
  }
}

}  // namespace
}  // namespace isotherm
