// Boundaries as rows apply them or find them in the ghosts; and an overlapped step, the interior and then the
// rest: the bits and the norm of a sweep of the whole.
#include <array>

#include "kernels/stencil.hpp"
#include "stencil_cases.hpp"

namespace isotherm::test {
namespace {

constexpr unsigned all_faces = BoundedBlock<double>::all_faces,
                   lower_faces = BoundedBlock<double>::lower_faces;

class StencilBoundaries : public testing::TestWithParam<KernelCase> {};

// A row that applies none finds them all in the ghosts, whatever they are: one tile shows that it looks
// nowhere else.
template <class T>
bool applies_boundaries(const StencilKernel<T>& kernel) {
  return kernel.own_boundaries != std::array<bool, 3>{};
}

// Boundaries on the faces of `mask`; across the others the regions reach into the ghosts.
template <class T>
void check(const StencilKernel<T>& kernel, int tile, Device& device, Int3 shape, int ghosts = 2,
           unsigned mask = all_faces, unsigned fields = lower_faces) {
  SCOPED_TRACE("boundaries " + std::to_string(mask) + ", ghosts " + std::to_string(ghosts));
  const auto host = make_host_of(device);
  const BoundedBlock<T> there(device, shape, ghosts, mask, fields), here(*host, shape, ghosts, mask, fields);
  const Field<T> in = random_field<T>(*host, shape, ghosts, 19);
  Field<T> ruled = to_device(*host, in);
  here.fill_ghosts(ruled.view(), kernel.own_boundaries);
  const Field<T> in_there = to_device(device, in);
  const Box whole = there.region(ghosts - 1), one = there.region(1);
  const Box half{{shape.x / 2, whole.lo.y, shape.z / 3}, whole.hi};
  std::vector<Box> regions = {whole, half};
  if (!(one == whole)) regions.push_back(one);
  for (const Box& region : regions) {
    SCOPED_TRACE("region " + text(region));
    Field<T> expected = filled(*host, shape, ghosts, T(-7));
    sweep_plainly(ruled, expected, region);
    Field<T> out = to_device(device, filled(*host, shape, ghosts, T(-7)));
    kernel.launch({in_there.view(), out.view(), region, coefficients<T>(), there.boundaries, {}, {}},
                  {1, tile}, {});
    expect_same_there(device, expected, out);
  }
}

TEST_P(StencilBoundaries, AreAppliedOrFoundInTheGhosts) {
  std::vector<Int3> all = shapes;
  all.push_back({139, 70, 67});  // several tiles and chunks of every row, none of them full
  for (const Index x : {46, 60, 61, 62, 94}) all.push_back({x, 33, 5});  // rows that nearly fill their pitch
  on_every_tile(GetParam(), all, [](const auto& row, int tile, Device& device, Int3 shape) {
    if (tile > 0 && !applies_boundaries(row) && shape.product() > 5000) return;
    check(row, tile, device, shape);
  });
}

// Shapes whose last warps, packs and rows end at the boundaries, in rows and columns of several, and one that
// two boundaries across y share; a chunk has planes enough for a b of the plane before to be another.
TEST_P(StencilBoundaries, VaryOverEveryFace) {
  on_every_tile(GetParam(), {{128, 80, 61}, {256, 40, 59}, {128, 8, 60}, {128, 4, 60}},
                [](const auto& row, int tile, Device& device, Int3 shape) {
                  if (tile > 0 && !applies_boundaries(row)) return;
                  check(row, tile, device, shape, 2, all_faces, all_faces);
                });
}

TEST_P(StencilBoundaries, StandBesideRegionsThatReachIntoGhosts) {
  on_every_tile(GetParam(), {{1, 1, 1}, {3, 40, 2}, {61, 33, 5}, {134, 37, 9}},
                [](const auto& row, int tile, Device& device, Int3 shape) {
                  if (tile > 0 && !applies_boundaries(row)) return;
                  // Across one axis, on the lower or the upper faces of all, and nowhere.
                  for (const unsigned mask : {0b000011u, 0b001100u, 0b110000u, 0b010101u, 0b101010u, 0u}) {
                    check(row, tile, device, shape, 5, mask);
                  }
                  check(row, tile, device, shape, 2, 0b010101u);
                });
}

INSTANTIATE_TEST_SUITE_P(Host, StencilBoundaries, testing::ValuesIn(stencil_cases(Backend::host)), label_of);
INSTANTIATE_TEST_SUITE_P(Cuda, StencilBoundaries, testing::ValuesIn(stencil_cases(Backend::cuda)), label_of);

// An overlapped step, the interior and then the rest: the bits and the norm of a sweep of the whole.

// A region, the block and so many layers of ghosts, and what of it is at hand before an exchange: so many
// layers less, at the lower and the upper end of each axis.
struct Cut {
  Int3 shape, below, above;
  Index beyond = 0;
  Box region() const { return {{-beyond, -beyond, -beyond}, shape + Int3{beyond, beyond, beyond}}; }
  Box available() const { return {region().lo + below, region().hi - above}; }
};

template <class T>
void check_cut(const StencilKernel<T>& kernel, Device& device, const Cut& cut, unsigned boundaries,
               ReductionOp op, int tile) {
  SCOPED_TRACE(text(cut.shape) + ", at hand " + text(cut.available()) + ", boundaries " +
               std::to_string(boundaries) + ", tile " + std::to_string(tile));
  const auto host = make_host_of(device);
  const int ghosts = static_cast<int>(cut.beyond) + 1;
  const unsigned fields = BoundedBlock<T>::all_faces;
  const BoundedBlock<T> there(device, cut.shape, ghosts, boundaries, fields);
  const BoundedBlock<T> here(*host, cut.shape, ghosts, boundaries, fields);
  const Box whole = cut.region(), available = cut.available();
  Field<T> in = random_field<T>(*host, cut.shape, ghosts, 37);
  here.fill_ghosts(in.view(), {true, true, true});
  const Field<T> source = random_field<T>(*host, cut.shape, ghosts, 38);
  Field<T> expected = filled(*host, cut.shape, ghosts, T(-7));
  sweep_plainly(in, expected, whole, &source);
  const double norm_expected = reduce_plainly(op, expected, in, whole);

  const Box interior = interior_of(kernel, whole, available, {1, tile});
  for (int axis = 0; axis < 3 && !interior.empty(); ++axis) {
    EXPECT_GE(interior.lo[axis], available.lo[axis]);
    EXPECT_LE(interior.hi[axis], available.hi[axis]);
  }
  const Field<T> in_there = to_device(device, in), source_there = to_device(device, source);
  Field<T> out = to_device(device, filled(*host, cut.shape, ghosts, T(-7)));
  const Buffer result = buffer_of<double>(device, {std::nan("")});
  Buffer scratch;
  UpdateNorm norm;
  if (kernel.fuses_norm()) {
    scratch = Buffer(device, split_scratch_bytes(kernel, whole, interior, {1, tile}));
    norm = {op, result.as<double>(), scratch.data(), false};
  }
  SweepArgs<T> args{in_there.view(),  out.view(),          interior, coefficients<T>(),
                    there.boundaries, source_there.view(), norm};
  if (!interior.empty()) {
    kernel.launch(args, {1, tile}, {});
    args.norm.accumulate = true;
  }
  args.region = whole;
  launch_exterior(kernel, args, interior, {1, tile}, {});
  expect_same_there(device, expected, out);
  if (kernel.fuses_norm()) {
    EXPECT_NEAR(fetched<double>(device, result.data()), norm_expected,
                op == ReductionOp::max_abs ? 0.0 : 1e-12 * norm_expected);
  }
}

class StepInParts : public testing::TestWithParam<KernelCase> {};

// Blocks of less than a tile, and of several: interior columns in the middle, at an edge, and none.
TEST_P(StepInParts, IsAStep) {
  on_stencil_kernel(GetParam(), [](const auto& kernel, Device& device) {
    const Int3 wide{530, 100, 7};
    for (const Cut& cut : {Cut{{1, 1, 1}, {1, 1, 1}, {0, 0, 0}}, Cut{{5, 4, 3}, {1, 1, 1}, {1, 1, 1}},
                           Cut{{33, 8, 9}, {0, 1, 0}, {1, 0, 2}}, Cut{{139, 41, 12}, {1, 1, 1}, {1, 1, 1}},
                           Cut{{139, 70, 12}, {0, 0, 3}, {0, 0, 1}}, Cut{wide, {1, 1, 1}, {1, 1, 1}},
                           Cut{wide, {0, 2, 0}, {2, 0, 0}}, Cut{wide, {3, 0, 1}, {0, 0, 0}}}) {
      for (const unsigned boundaries : {0b011001u, 0u, 0b111111u}) {
        if (cut.shape.x == wide.x && cut.below.x != 1 && boundaries != 0b011001u)
          continue;  // the columns are what counts
        check_cut(kernel, device, cut, boundaries, ReductionOp::max_abs, 0);
      }
      const int last = static_cast<int>(kernel.tiles.size()) - 1;
      check_cut(kernel, device, cut, 0b100110u, ReductionOp::sum_squares, last);
    }
  });
}

// Tiles begin at whole packs, before the first cell of such a region.
TEST_P(StepInParts, IsAStepAlsoInGhosts) {
  on_stencil_kernel(GetParam(), [](const auto& row, Device& device) {
    for (const Index x : {126, 252, 300}) {
      for (const Int3 below : {Int3{0, 1, 0}, Int3{2, 0, 1}}) {
        check_cut(row, device, {{x, 70, 5}, below, {0, 2, 2}, 1}, 0, ReductionOp::sum_squares, 0);
        check_cut(row, device, {{x, 70, 5}, below, {1, 0, 0}, 2}, 0, ReductionOp::max_abs, 0);
      }
    }
  });
}

// Neither part shares a line of memory with the other: the interior begins and ends between lines, or with
// the region. A wide block has one.
template <class T>
void check_lines(const StencilKernel<T>& kernel) {
  constexpr Index line = line_cells<T>;
  for (int tile = 0; tile < static_cast<int>(kernel.tiles.size()); ++tile) {
    for (const Index x : {2 * line, 2 * line + 1, Index{530}, Index{2000}}) {
      const Box region{{0, 0, 0}, {x, 300, 7}};
      const auto cut = [&](Index below, Index above) {
        return interior_of(kernel, region, {{below, 1, 0}, {x - above, 299, 7}}, {1, tile});
      };
      for (const Index below : {Index{0}, Index{1}, line, line + 1}) {
        for (const Index above : {Index{0}, Index{1}, line}) {
          const Box interior = cut(below, above);
          EXPECT_FALSE(x == 2000 && interior.empty()) << below << " " << above;
          if (interior.empty()) continue;
          EXPECT_TRUE(below == 0 ? interior.lo.x == 0 : interior.lo.x % line == 0) << x << " " << below;
          EXPECT_TRUE(above == 0 ? interior.hi.x == x : interior.hi.x % line == 0) << x << " " << above;
        }
      }
    }
  }
}

TEST_P(StepInParts, CutsNoLine) {
  on_stencil_kernel(GetParam(), [](const auto& kernel, Device&) {
    if (kernel.exterior != nullptr) check_lines(kernel);
  });
}

INSTANTIATE_TEST_SUITE_P(Host, StepInParts, testing::ValuesIn(stencil_cases(Backend::host)), label_of);
INSTANTIATE_TEST_SUITE_P(Cuda, StepInParts, testing::ValuesIn(stencil_cases(Backend::cuda)), label_of);

}  // namespace
}  // namespace isotherm::test
