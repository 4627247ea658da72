// Every stencil kernel gives the bits of the formula, cell by cell, and writes nothing outside its region.
#include "kernels/face_copy.hpp"
#include "support.hpp"
#include "support/repeat.hpp"

namespace isotherm::test {
namespace {

// The whole block, an odd box, and slabs at the faces. One ghost layer: also the interior and an empty box;
// the slabs are of cells. More: also regions that extend into ghosts on all sides, on the lower and on the
// upper ones; the slabs are of ghosts. `few`: fewer slabs.
std::vector<Box> regions_of(Int3 n, int ghosts, bool few) {
  const Box whole{{0, 0, 0}, n}, wide = whole.grown(ghosts - 1);
  // The other regions are tested on smaller grids.
  if (n.product() > 20000) return ghosts == 1 ? std::vector{whole} : std::vector{whole, wide};
  std::vector<Box> regions = {whole, {{n.x / 3, n.y / 4, n.z / 2}, {n.x - n.x / 5, n.y, n.z - n.z / 4}}};
  if (ghosts == 1) {
    regions.insert(regions.end(), {whole.grown(-1), Box{}});
  } else {
    regions.insert(regions.end(), {wide, Box{{-1, -1, -1}, n}, Box{{0, 0, 0}, wide.hi}});
  }
  const Index inside = ghosts == 1 ? 1 : 0;
  for (int axis = 0; axis < 3; ++axis) {
    Box low = wide, high = wide;
    low.hi[axis] = inside;
    high.lo[axis] = n[axis] - inside;
    regions.push_back(low);
    if (!few) regions.push_back(high);
  }
  return regions;
}

template <class T>
void check_regions(const StencilKernel<T>& kernel, int tile, Device& device, Int3 shape, int ghosts,
                   bool has_source) {
  const SweepCase<T> sweep(
      kernel, device, {.shape = shape, .mask = 0, .fields = 0, .has_source = has_source, .ghosts = ghosts});
  for (const Box& region : regions_of(shape, ghosts, tile > 0 && device.backend() == Backend::cuda))
    sweep.expect_of(kernel, tile, region, {});
}

class StencilVariant : public StencilTest {};

// All shapes in the first tile. In other tiles only large shapes without a source; TemporalSweeps tests the
// other tiles of kernels with temporal blocking.
TEST_P(StencilVariant, HasTheBitsOfTheFormula) {
  on_every_tile(shapes, [](const auto& kernel, int tile, Device& device, Int3 shape) {
    if (tile > 0 && kernel.max_time_block > 1) return;
    for (const auto& [ghosts, has_source] : {std::pair{1, false}, {3, true}}) {
      if (tile > 0 && !has_source && shape.product() < 5000) continue;
      SCOPED_TRACE(has_source ? "source" : "no source");
      check_regions(kernel, tile, device, shape, ghosts, has_source);
    }
  });
}

// More blocks along y or z than the limit of a grid (65535).
TEST_P(StencilVariant, SweepsLongColumns) {
  if (GetParam().kernel != "naive") return;
  on_kernel([]<class T>(const StencilKernel<T>& kernel, Device& device) {
    const Int3 shape = sizeof(T) == 4 ? Int3{3, 530000, 1} : Int3{2, 1, 70001};
    check_regions(kernel, 0, device, shape, 1, false);
  });
}

// 1300^3 cells: every count and offset passes 2^31. A constant is a fixed point of coefficients that add up
// to one; the planted cell is the last.
TEST_F(CudaTest, LargeFieldsNeed64BitIndices) {
  const Int3 extent{1300, 1300, 1300};
  const double cells = 1300.0 * 1300.0 * 1300.0;
  if (device->memory().free_bytes < std::size_t{32} << 30) GTEST_SKIP() << "needs 32 GiB of free GPU memory";
  Field<float> in(*device, extent, 1), out(*device, extent, 1);
  const FaceCopy<float>& cuda = FaceCopy<float>::on(Backend::cuda);
  cuda.fill(in.view(), 1.0f, {});
  cuda.fill(out.view(), 7.0f, {});
  const float planted = 5.0f;
  device->copy(&in.view()(1299, 1299, 1299), &planted, sizeof planted, {});
  const Box all = in.view().interior();
  kernel_named(stencil_kernels<float>(), "naive")
      .launch({in.view(), out.view(), all, Coefficients<float>{0.25f, 0.125f, 0.125f, 0.125f, 1}, {}, {}, {}},
              {}, {});
  for (const auto& kernel : reduction_kernels<float>()) {
    if (kernel.backend != Backend::cuda || !kernel.launch) continue;
    const Buffer scratch(*device, kernel.scratch_bytes(all)), result(*device, sizeof(double));
    const auto reduce = [&](FieldView<const float> a, FieldView<const float> b, ReductionOp op) {
      kernel.launch({a, b, all, op, result.as<double>(), scratch.data()}, {});
      return fetched_value<double>(*device, result);
    };
    EXPECT_EQ(reduce(in.view(), {}, ReductionOp::sum), cells + 4) << kernel.name;
    EXPECT_EQ(reduce(in.view(), {}, ReductionOp::max_abs), 5.0) << kernel.name;
    // The planted 5 becomes 2, and its three neighbours within the field 1.5.
    EXPECT_EQ(reduce(out.view(), {}, ReductionOp::sum), cells + 1 + 3 * 0.5) << kernel.name;
    EXPECT_EQ(reduce(in.view(), out.view(), ReductionOp::sum_abs), 3 + 3 * 0.5) << kernel.name;
  }
}

ON_EACH_BACKEND(StencilVariant, cases_of(stencil_kernels<double>(), backend));

// The kernel `openmp` with both kinds of store, whatever it would choose here, and several thread counts.
class StencilOpenmpVariant : public StencilTest {};

TEST_P(StencilOpenmpVariant, StoresThreadsAndTilesLeaveTheBitsAlone) {
  on_kernel([&]<class T>(StencilKernel<T> kernel, Device& host) {
    host::for_instruction_set(GetParam().instruction_set.value_or(instruction_set()), [&]<class Isa>(Isa) {
      const decltype(kernel.launch) stores[] = {[](const SweepArgs<T>& args, SweepPlan plan, Stream) {
                                                  host::sweep_openmp<Isa>(args, plan, host::Store::streaming);
                                                },
                                                [](const SweepArgs<T>& args, SweepPlan plan, Stream) {
                                                  host::sweep_openmp<Isa>(args, plan, host::Store::cached);
                                                }};
      on_threads({1, 3}, [&] {
        for (Int3 shape :
             {Int3{17, 23, 31}, Int3{131, 17, 9}, Int3{67, 251, 1}, Int3{5000, 3, 2}, Int3{9, 1, 2003}}) {
          for (bool has_source : {false, true}) {
            if (has_source && omp_get_max_threads() == 1) continue;  // with one thread the code is the same
            SCOPED_TRACE(text(shape));
            for (const auto launch : stores) {
              kernel.launch = launch;
              for (int tile = 0; tile < std::ssize(kernel.tiles); ++tile)
                check_regions(kernel, tile, host, shape, 2, has_source);
            }
          }
        }
      });
    });
  });
}

// Values at the limits of the number range: all instruction sets give the same result.
TEST_P(StencilOpenmpVariant, TreatsSpecialValuesAsTheReferenceDoes) {
  on_kernel([]<class T>(const StencilKernel<T>& kernel, Device& host) {
    using Limits = std::numeric_limits<T>;
    const Int3 shape{67, 5, 4};
    Field<T> in = random_field<T>(host, shape, 1, 5);
    const T special[] = {T(0),  -T(0),         Limits::infinity(),   -Limits::infinity(), Limits::quiet_NaN(),
                         T(-1), Limits::max(), Limits::denorm_min(), Limits::min(),       Limits::lowest()};
    for (std::size_t i = 0; i < elements(in).size(); i += 7)
      elements(in)[i] = special[i / 7 % std::size(special)];
    Field<T> expected = filled<T>(host, shape, 1, 0), found = filled<T>(host, shape, 1, 0);
    for_each_cell(shape, [&](Int3 at) {
      expected.view()(at) = PlainFormula<T>()(std::as_const(in).view(), nullptr, at, 0);
    });
    kernel.launch({std::as_const(in).view(), found.view(), {{0, 0, 0}, shape}, coefficients<T>(), {}, {}, {}},
                  {}, {});
    for (std::size_t i = 0; i < elements(in).size(); ++i) {
      const T a = elements(expected)[i], b = elements(found)[i];
      ASSERT_TRUE(same_bits_or_nan(a, b)) << "element " << i << ": " << a << ", " << b;
    }
  });
}

ON_EACH_BACKEND(StencilOpenmpVariant, cases_of(stencil_kernels<double>(), backend,
                                               [](const auto& kernel) { return kernel.name == "openmp"; }));

// Boundaries that kernels apply or read from the ghosts; and an overlapped step, which sweeps the interior
// and then the exterior: the bits and the norm equal those of one sweep.

class StencilBoundaries : public StencilTest {};

// A kernel that applies no boundaries reads all of them from the ghosts. One tile and a few shapes suffice to
// test that it reads nothing else.
template <class T>
bool applies_boundaries(const StencilKernel<T>& kernel) {
  return kernel.own_boundaries != std::array<bool, 3>{};
}

// Boundaries on the faces of `mask`; across the others the regions reach into the ghosts.
template <class T>
void check(const StencilKernel<T>& kernel, int tile, Device& device, Int3 shape, int ghosts = 2,
           unsigned mask = all_faces, unsigned fields = lower_faces) {
  const SweepCase<T> sweep(kernel, device,
                           {.shape = shape, .mask = mask, .fields = fields, .ghosts = ghosts});
  const Box whole = sweep.region(ghosts - 1), one = sweep.region(1);
  sweep.expect_of(kernel, tile, whole, {});
  sweep.expect_of(kernel, tile, {{shape.x / 2, whole.lo.y, shape.z / 3}, whole.hi}, {});
  if (!(one == whole)) sweep.expect_of(kernel, tile, one, {});
}

TEST_P(StencilBoundaries, AreAppliedOrFoundInTheGhosts) {
  std::vector<Int3> all = shapes;
  all.push_back({139, 37, 67});  // several partly filled tiles and chunks of every kernel
  for (const Index x : {46, 60, 61, 62, 94}) all.push_back({x, 17, 5});  // rows that nearly fill their pitch
  on_every_tile(all, [](const auto& kernel, int tile, Device& device, Int3 shape) {
    if (tile > 0 && !applies_boundaries(kernel) && shape.product() > 5000) return;
    check(kernel, tile, device, shape);
  });
}

// Shapes whose last warps, packs and rows end at the boundaries, with several rows and columns, and one that
// contains both boundaries across y; chunks have enough planes that a b of the previous plane would differ.
TEST_P(StencilBoundaries, VaryOverEveryFace) {
  on_every_tile({{128, 64, 21}, {256, 32, 19}, {128, 8, 60}, {128, 4, 60}},
                [](const auto& kernel, int tile, Device& device, Int3 shape) {
                  if ((tile > 0 || shape.y != 8) && !applies_boundaries(kernel)) return;
                  check(kernel, tile, device, shape, 2, all_faces, all_faces);
                });
}

TEST_P(StencilBoundaries, StandBesideRegionsThatReachIntoGhosts) {
  on_every_tile({{1, 1, 1}, {3, 40, 2}, {61, 33, 5}, {134, 37, 9}},
                [](const auto& kernel, int tile, Device& device, Int3 shape) {
                  if ((tile > 0 || shape.x > 100) && !applies_boundaries(kernel)) return;
                  // On the lower or the upper faces of all axes; on no face, which StencilVariant tests in
                  // all tiles; across one axis.
                  std::vector<unsigned> masks = {0b010101u, 0b101010u};
                  if (tile == 0) masks.push_back(0u);
                  if (tile == 0 && shape.x < 100)
                    masks.insert(masks.end(), {0b000011u, 0b001100u, 0b110000u});
                  for (const unsigned mask : masks) check(kernel, tile, device, shape, 5, mask);
                  check(kernel, tile, device, shape, 2, 0b010101u);
                });
}

ON_EACH_BACKEND(StencilBoundaries, stencil_cases(backend));

// An overlapped step, the interior and then the exterior, has the bits and the norm of one sweep.

// A region, which is the block extended by `beyond` ghost layers, and its part that is available before an
// exchange: `below` and `above` are the layers missing at the lower and upper ends of each axis.
struct Cut {
  Int3 shape, below, above;
  Index beyond = 0;
  Box region() const { return {{-beyond, -beyond, -beyond}, shape + Int3{beyond, beyond, beyond}}; }
  Box available() const { return {region().lo + below, region().hi - above}; }
};

template <class T>
void check_cut(const StencilKernel<T>& kernel, Device& device, const Cut& cut, unsigned boundaries,
               ReductionOp op, int tile) {
  SCOPED_TRACE(text(cut.shape) + ", at hand " + text(cut.available()));
  const Box whole = cut.region(), available = cut.available();
  const Box interior = interior_of(kernel, whole, available, {1, tile});
  for (int axis = 0; axis < 3 && !interior.empty(); ++axis) {
    EXPECT_GE(interior.lo[axis], available.lo[axis]);
    EXPECT_LE(interior.hi[axis], available.hi[axis]);
  }
  const int ghosts = static_cast<int>(cut.beyond) + 1;
  SweepCase<T>(
      kernel, device,
      {.shape = cut.shape, .mask = boundaries, .has_source = true, .ghosts_filled = true, .ghosts = ghosts})
      .expect_of(kernel, tile, whole, op, interior);
}

class StepInParts : public StencilTest {};

// Blocks smaller than a tile, and of several tiles: interior columns in the middle, at an edge, and none.
TEST_P(StepInParts, IsAStep) {
  on_kernel([](const auto& kernel, Device& device) {
    const Int3 wide{402, 70, 5};
    for (const Cut& cut :
         {Cut{{1, 1, 1}, {1, 1, 1}, {0, 0, 0}}, Cut{{5, 4, 3}, {1, 1, 1}, {1, 1, 1}},
          Cut{{33, 8, 9}, {0, 1, 0}, {1, 0, 2}}, Cut{{139, 41, 12}, {1, 1, 1}, {1, 1, 1}},
          Cut{{139, 37, 12}, {0, 0, 3}, {0, 0, 1}}, Cut{wide, {1, 1, 1}, {1, 1, 1}},
          Cut{{402, 20, 5}, {0, 2, 0}, {2, 0, 0}}, Cut{{402, 20, 5}, {3, 0, 1}, {0, 0, 0}}}) {
      for (const unsigned boundaries : {0b011001u, 0u, 0b111111u}) {
        if (cut.shape.x == wide.x && cut.below.x != 1 && boundaries != 0b011001u)
          continue;  // only the columns matter here
        if (boundaries != 0b011001u && !applies_boundaries(kernel)) continue;
        check_cut(kernel, device, cut, boundaries, ReductionOp::max_abs, 0);
      }
      const int last = static_cast<int>(kernel.tiles.size()) - 1;
      check_cut(kernel, device, cut, 0b100110u, ReductionOp::sum_squares, last);
    }
  });
}

// Tiles begin at whole packs, before the first cell of such a region.
TEST_P(StepInParts, IsAStepAlsoInGhosts) {
  on_kernel([](const auto& kernel, Device& device) {
    for (const Index x : {126, 300}) {
      for (const Int3 below : {Int3{0, 1, 0}, Int3{2, 0, 1}}) {
        check_cut(kernel, device, {{x, 37, 4}, below, {0, 2, 1}, 1}, 0, ReductionOp::sum_squares, 0);
        check_cut(kernel, device, {{x, 37, 4}, below, {1, 0, 0}, 2}, 0, ReductionOp::max_abs, 0);
      }
    }
  });
}

// The parts share no cache line: the interior begins and ends at line boundaries or with the region. A wide
// block always has an interior.
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
  on_kernel([](const auto& kernel, Device&) {
    if (kernel.exterior != nullptr) check_lines(kernel);
  });
}

ON_EACH_BACKEND(StepInParts, stencil_cases(backend));

}  // namespace
}  // namespace isotherm::test
