// Every stencil kernel gives the bits of the formula, cell by cell, for bodies of one material and of
// several, and writes nothing outside its region.
#include "kernels/face_copy.hpp"
#include "kernels/field_reductions.hpp"
#include "physics/materials.hpp"
#include "support.hpp"

namespace isotherm::test {
namespace {

// The whole block, an odd box, and slabs at the faces. One ghost layer: also the interior and an empty box;
// the slabs are of cells. More: also regions that extend into ghosts on all sides, on the lower and on the
// upper ones, and on one; the slabs are of ghosts. `few`: fewer slabs.
std::vector<Box> regions_of(Int3 n, int ghosts, bool few) {
  const Box whole{{0, 0, 0}, n}, wide = whole.grown(ghosts - 1);
  // The other regions are tested on smaller grids.
  if (n.product() > 20000) return ghosts == 1 ? std::vector{whole} : std::vector{whole, wide};
  std::vector<Box> regions = {whole, {{n.x / 3, n.y / 4, n.z / 2}, {n.x - n.x / 5, n.y, n.z - n.z / 4}}};
  if (ghosts == 1) {
    regions.insert(regions.end(), {whole.grown(-1), Box{}});
  } else {
    regions.insert(regions.end(), {wide, Box{{-1, -1, -1}, n}, Box{{0, 0, 0}, wide.hi}, Box{{0, -1, 0}, n}});
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

TEST_P(StencilOpenmpVariant, StoresThreadsAndTilesChangeNoBits) {
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

TEST_P(StencilBoundaries, WorkNextToRegionsThatReachIntoGhosts) {
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
  Box region() const { return Box{{0, 0, 0}, shape}.grown(beyond); }
  Box available() const { return {region().lo + below, region().hi - above}; }
};

template <class T>
void check_cut(const StencilKernel<T>& kernel, Device& device, const Cut& cut, unsigned boundaries,
               ReductionOp op, int tile) {
  SCOPED_TRACE(text(cut.shape) + ", available " + text(cut.available()));
  const Box whole = cut.region(), available = cut.available();
  const Box interior = interior_of(kernel, whole, available, {1, tile});
  EXPECT_TRUE(interior.empty() || interior.within(available) == interior) << text(interior);
  const int ghosts = static_cast<int>(cut.beyond) + 1;
  SweepCase<T>(
      kernel, device,
      {.shape = cut.shape, .mask = boundaries, .has_source = true, .ghosts_filled = true, .ghosts = ghosts})
      .expect_of(kernel, tile, whole, op, interior);
}

class StepInParts : public StencilTest {};

// Blocks smaller than a tile, and of several tiles; interior columns in the middle, at an edge, or none.
TEST_P(StepInParts, EqualsOneSweep) {
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
    // In ghosts, too: tiles begin at whole packs, before the first cell of such a region.
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
TEST_P(StepInParts, SharesNoCacheLine) {
  on_kernel([]<class T>(const StencilKernel<T>& kernel, Device&) {
    if (!kernel.exterior) return;
    constexpr Index line = line_cells<T>;
    for (int tile = 0; tile < std::ssize(kernel.tiles); ++tile) {
      for (const Index x : {2 * line, 2 * line + 1, Index{530}, Index{2000}}) {
        const Box region{{0, 0, 0}, {x, 300, 7}};
        for (const Index below : {Index{0}, Index{1}, line, line + 1}) {
          for (const Index above : {Index{0}, Index{1}, line}) {
            SCOPED_TRACE(fmt::format("{} cells, {} and {} missing", x, below, above));
            const Box available{{below, 1, 0}, {x - above, 299, 7}};
            const Box interior = interior_of(kernel, region, available, {1, tile});
            EXPECT_FALSE(x == 2000 && interior.empty());
            if (interior.empty()) continue;
            EXPECT_TRUE(below == 0 ? interior.lo.x == 0 : interior.lo.x % line == 0);
            EXPECT_TRUE(above == 0 ? interior.hi.x == x : interior.hi.x % line == 0);
          }
        }
      }
    }
  });
}

ON_EACH_BACKEND(StepInParts, stencil_cases(backend));

// Sweeps with additional work: several sweeps per launch, and the norm of the update.

// Tests every tile and several regions.
template <class T>
void check_time_block(const StencilKernel<T>& kernel, Device& device, Int3 shape, int time_block,
                      unsigned mask) {
  SCOPED_TRACE(text(shape) + ", boundaries " + std::to_string(mask));
  const SweepCase<T> temporal(
      kernel, device,
      {.shape = shape, .mask = mask, .has_source = time_block % 2 == 0, .time_block = time_block});
  // The block, the block and a layer of ghosts where there is no boundary, and an odd part of it.
  const Box block = temporal.region(0), wide = temporal.region(1);
  std::vector<Box> regions = {block, {{shape.x / 2, wide.lo.y, shape.z / 3}, wide.hi}};
  if (!(wide == block)) regions.push_back(wide);
  const std::optional<ReductionOp> norms[] = {ReductionOp::max_abs, ReductionOp::sum_squares, {}};
  for (const int tile : tiles_of(kernel)) {
    SCOPED_TRACE(kernel.tiles[tile]);
    auto next = static_cast<std::size_t>(tile);
    for (const Box& region : regions) temporal.expect_of(kernel, tile, region, norms[next++ % 3]);
  }
}

// Fields whose tiles have boundaries at their sides only. Boundaries of one value per face with and without
// source and norm, each a separate kernel; or varying values, over more than one patch of lines per face.
template <class T>
void check_lots(const StencilKernel<T>& kernel, Device& device, int time_block) {
  for (const bool has_source : {false, true}) {
    SCOPED_TRACE(has_source ? "source" : "no source");
    const auto expect = [&](Index planes, unsigned fields, std::optional<ReductionOp> norm) {
      const SweepCase<T> temporal(
          kernel, device,
          {.shape = {136, 40, planes}, .fields = fields, .has_source = has_source, .time_block = time_block});
      temporal.expect_of(kernel, 0, temporal.region(0), norm);
    };
    expect(19, 0, {});
    expect(19, 0, ReductionOp::sum_abs);
    if (has_source == (time_block % 2 == 0)) expect(27, all_faces, ReductionOp::sum_squares);
  }
}

class TemporalSweeps : public StencilTest {};

TEST_P(TemporalSweeps, EqualSingleSweeps) {
  on_kernel([](const auto& kernel, Device& device) {
    for (int time_block = 1; time_block <= kernel.max_time_block; ++time_block) {
      for (const Int3 shape : {Int3{1, 1, 1}, Int3{1, 9, 7}, Int3{9, 7, 1}, Int3{40, 1, 1}, Int3{17, 23, 31},
                               Int3{65, 2, 5}, Int3{127, 6, 3}})
        check_time_block(kernel, device, shape, time_block, all_faces);
    }
    // Several tiles and chunks of every kernel, none of them full.
    check_time_block(kernel, device, {139, 40, 21}, kernel.max_time_block, all_faces);
    for (int time_block = 2; time_block <= kernel.max_time_block; ++time_block)
      check_lots(kernel, device, time_block);
    check_time_block(kernel, device, {134, 41, 9}, 2, 0b010101u);
  });
}

// Boundaries across one axis, on the lower or the upper faces of all axes, and nowhere.
TEST_P(TemporalSweeps, NextToGhostsOfNeighbours) {
  on_kernel([](const auto& kernel, Device& device) {
    for (const unsigned mask : {0b000011u, 0b001100u, 0b110000u, 0b010101u, 0b101010u, 0u}) {
      for (const int time_block : {2, 3, kernel.max_time_block}) {
        if (time_block > kernel.max_time_block) continue;
        if (time_block == 3 && mask % 0b010101u != 0) continue;  // boundaries across one axis
        check_time_block(kernel, device, {3, 20, 2}, time_block, mask);
        check_time_block(kernel, device, {61, 9, 5}, time_block, mask);
      }
    }
  });
}

// First the part that needs no ghosts of other ranks, then the rest: each part recomputes its own margins.
TEST_P(TemporalSweeps, InTwoParts) {
  on_kernel([](const auto& kernel, Device& device) {
    // No ghosts are filled between the sweeps of a time block.
    EXPECT_EQ(kernel.own_boundaries, (std::array<bool, 3>{true, true, true}));
    for (const unsigned mask : {0b011001u, 0u}) {
      for (const int time_block : {2, kernel.max_time_block}) {
        const Box inner{{time_block, 0, time_block}, {70 - time_block, 21 - time_block, 20}};
        const SweepCase temporal(
            kernel, device,
            {.shape = {70, 21, 20}, .mask = mask, .has_source = true, .time_block = time_block});
        temporal.expect_of(kernel, 0, temporal.region(0), ReductionOp::sum_squares, inner);
      }
    }
  });
}

ON_EACH_BACKEND(TemporalSweeps,
                stencil_cases(backend, [](const auto& kernel) { return kernel.max_time_block > 1; }));

// The kernel `temporal_openmp` with both kinds of store, several thread counts, every instruction set, and
// tiles from the smallest to larger than the field; rows that are divided.
TEST(TemporalOpenmp, HasTheSameBitsWhateverTheMachine) {
  const auto host = make_host_device();
  for (const InstructionSet set : instruction_sets()) {
    SCOPED_TRACE(word(set));
    host::for_instruction_set(set, [&]<class Isa>(Isa) {
      const auto expect = [&]<host::Store store, std::size_t cache>(Int3 shape, int time_block,
                                                                    unsigned mask) {
        StencilKernel<float> kernel = kernel_named(stencil_kernels<float>(), "temporal_openmp");
        kernel.launch = [](const SweepArgs<float>& args, SweepPlan plan, Stream) {
          host::sweep_temporal_openmp<Isa>(args, plan, store, cache);
        };
        check_time_block(kernel, *host, shape, time_block, mask);
      };
      on_threads({1, 3}, [&] {
        expect.template operator()<host::Store::streaming, 1>({67, 41, 19}, 3, all_faces);
        expect.template operator()<host::Store::streaming, 100 << 10>({67, 41, 19}, 3, all_faces);
        expect.template operator()<host::Store::cached, 64 << 20>({4400, 5, 4}, 4, 0b010110u);
      });
    });
  }
}

// After a launch the kernel holds as much memory as its entry states, and none after release().
TEST(TemporalOpenmp, HoldsTheMemoryThatItsEntryStates) {
  const auto host = make_host_device();
  const StencilKernel<double>& kernel = kernel_named(stencil_kernels<double>(), "temporal_openmp");
  kernel.memory->release();
  for (const Int3 shape : {Int3{40, 30, 20}, Int3{70, 60, 30}}) {
    for (const int time_block : {2, 4}) {
      const Field<double> in = random_field<double>(*host, shape, time_block, 3);
      Field<double> out = filled(*host, shape, time_block, 0.0);
      const Box whole{{0, 0, 0}, shape};
      kernel.launch({in.view(), out.view(), whole, coefficients<double>(), {}, {}, {}}, {time_block, 0}, {});
      EXPECT_GT(kernel.memory->held(), 0u);
      EXPECT_EQ(kernel.memory->held(), kernel.memory->bytes(whole, {time_block, 0}))
          << text(shape) << ", time block " << time_block;
      kernel.memory->release();
      EXPECT_EQ(kernel.memory->held(), 0u);
    }
  }
}

// The norm that a sweep returns is that of its update: the same bits for the maximum, equal to rounding for
// sums.

class FusedNorm : public StencilTest {};

// One sweep of the whole, and steps in two parts by the kernel itself, the second of which may be empty;
// StepInParts tests a kernel's own `exterior`.
TEST_P(FusedNorm, IsThatOfTheUpdate) {
  on_every_tile(shapes, []<class T>(StencilKernel<T> kernel, int tile, Device& device, Int3 shape) {
    kernel.exterior = nullptr;
    const SweepCase<T> sweep(kernel, device, {.shape = shape, .mask = 0, .fields = 0, .ghosts = 1});
    const Box whole = sweep.region(0), lower{{0, 0, 0}, {shape.x, shape.y, shape.z / 2}};
    for (const ReductionOp op : all_norms) {
      sweep.expect_of(kernel, tile, whole, op);
      if (tile > 0 || op == ReductionOp::sum_squares) continue;
      for (const Box& first : {lower, whole}) sweep.expect_of(kernel, tile, whole, op, first);
    }
  });
}

TEST_P(FusedNorm, KeepsANaN) {
  on_kernel([](const auto& kernel, Device& device) {
    for (const Int3 place : {Int3{0, 0, 0}, Int3{31, 4, 3}, Int3{64, 8, 6}}) {
      const SweepCase sweep(kernel, device,
                            {.shape = {65, 9, 7}, .mask = 0, .fields = 0, .ghosts = 1, .nan_at = place});
      for (const ReductionOp op : all_norms) sweep.expect_of(kernel, 0, sweep.region(0), op);
    }
  });
}

ON_EACH_BACKEND(FusedNorm, stencil_cases(backend, &StencilKernel<double>::fuses_norm));

// The sums of CPU kernels do not depend on the number of threads, tile, kind of store or instruction set:
// each lane always sums the same cells.
template <class T, class Sweep>
void expect_one_sum(std::string_view name, const Sweep& sweep) {
  const auto host = make_host_device();
  for (const Int3 shape : {Int3{67, 31, 19}, Int3{5000, 5, 3}, Int3{31, 4, 4}}) {
    const Box whole{{0, 0, 0}, shape};
    const Field<T> in = random_field<T>(*host, shape, 1, 31);
    Field<T> out = filled(*host, shape, 1, T(0));
    for (const ReductionOp op : {ReductionOp::sum_abs, ReductionOp::sum_squares}) {
      std::optional<double> first;
      for (const InstructionSet set : instruction_sets()) {
        const auto kernel = kernel_of({name, "", Backend::host, set}, stencil_kernels<T>);
        on_threads({1, 2, 3, 4}, [&] {
          for (int tile = 0; tile < std::ssize(kernel.tiles); ++tile) {
            for (const host::Store store : {host::Store::streaming, host::Store::cached}) {
              std::vector<double> scratch(kernel.norm_scratch_bytes(whole, tile) / sizeof(double));
              double found = std::nan("");
              const SweepArgs<T> args{in.view(),
                                      out.view(),
                                      whole,
                                      coefficients<T>(),
                                      {},
                                      {},
                                      {op, &found, scratch.data(), false}};
              host::for_instruction_set(set, [&](auto isa) { sweep(isa, args, SweepPlan{1, tile}, store); });
              if (!first) first = found;
              EXPECT_EQ(found, *first)
                  << name << " " << text(shape) << ", " << word(set) << ", tile " << tile;
            }
          }
        });
      }
    }
  }
}

TEST(FusedNormOpenmp, HasTheSameBitsForAnyThreadsTileAndInstructionSet) {
  const auto openmp = []<class Isa>(Isa, const auto& args, SweepPlan plan, host::Store store) {
    host::sweep_openmp<Isa>(args, plan, store);
  };
  const auto temporal = []<class Isa>(Isa, const auto& args, SweepPlan plan, host::Store store) {
    host::sweep_temporal_openmp<Isa>(args, plan, store, 1 << 20);
  };
  expect_one_sum<float>("openmp", openmp);
  expect_one_sum<double>("openmp", openmp);
  expect_one_sum<float>("temporal_openmp", temporal);
  expect_one_sum<double>("temporal_openmp", temporal);
}

// Bodies of several materials. Their heat is summed with each material's rho c.

constexpr int classes = 5;

// Boxes of cells of one class, large enough to have an interior, and single cells of another; ghosts beyond a
// boundary have the class of the adjacent cell.
Field<std::uint8_t> random_classes(Device& host, Int3 extent, int ghosts, unsigned faces) {
  Field<std::uint8_t> field = filled<std::uint8_t>(host, extent, ghosts, 0);
  std::mt19937 random(7);
  std::array<std::uint8_t, 512> block{};
  for (std::uint8_t& each : block) each = static_cast<std::uint8_t>(random() % classes);
  for_each_cell(field.view().padded(), [&](Int3 c) {
    const Index at = (c.x + 9) / 11 + 8 * ((c.y + 9) / 8) + 64 * ((c.z + 7) / 4);
    field.view()(c) = random() % 300 == 0 ? static_cast<std::uint8_t>(random() % classes)
                                          : block[static_cast<std::size_t>(at) % 512];
  });
  for_each_cell(field.view().padded(), [&](Int3 c) {
    Int3 inside = c;
    for (int axis = 0; axis < 3; ++axis) {
      if ((faces >> 2 * axis & 1) != 0) inside[axis] = std::max<Index>(inside[axis], 0);
      if ((faces >> (2 * axis + 1) & 1) != 0) inside[axis] = std::min(inside[axis], extent[axis] - 1);
    }
    field.view()(c) = field.view()(inside);
  });
  return field;
}

template <class T>
struct MaterialTables {
  std::vector<Coefficients<T>> coefficients;  // [sweep][class]
  std::vector<T> conductance, capacity;
  std::vector<double> heat;

  // `is_symmetric`: are conductances the same from both sides of a face?
  explicit MaterialTables(bool is_symmetric = false) {
    std::mt19937 random(11);
    std::uniform_real_distribution<double> of(0.1, 1);
    const auto next = [&] { return static_cast<T>(of(random)); };
    for (int i = 0; i < most_sweeps_per_launch * classes; ++i) {
      const T cx = next() / 8, cy = next() / 8, cz = next() / 8;
      coefficients.push_back({1 - 2 * (cx + cy + cz), cx, cy, cz, next()});
    }
    for (int i = 0; i < classes; ++i) {
      capacity.push_back(4 + next());
      heat.push_back(of(random));
    }
    for (int i = 0; i < 3 * classes * classes; ++i) conductance.push_back(next());
    const auto at = [&](int axis, int i, int j) -> T& {
      return conductance[(axis * classes + i) * classes + j];
    };
    for (int axis = 0; axis < 3 && is_symmetric; ++axis)
      for (int i = 0; i < classes; ++i)
        for (int j = 0; j < i; ++j) at(axis, i, j) = at(axis, j, i);
  }
  // Ordered by sweep, then by class.
  std::vector<T> steps() const {
    std::vector<T> all;
    for (int sweep = 0; sweep < most_sweeps_per_launch; ++sweep)
      for (const T each : capacity) all.push_back(weight(sweep) / each);
    return all;
  }
  static T weight(int sweep) { return T(0.75) + T(sweep) / 8; }
};

template <class T>
T by_hand(const MaterialTables<T>& tables, bool steady, FieldView<const std::uint8_t> of,
          FieldView<const T> in, T s, Int3 c, int sweep) {
  const Int3 near[] = {{-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}};
  const int own = of(c);
  std::array<T, 6> g{}, t{};
  T sum = 0;
  bool alone = true;
  for (std::size_t f = 0; f < 6; ++f) {
    const int other = of(c + near[f]);
    alone = alone && other == own;
    g[f] = tables.conductance[(f / 2 * classes + static_cast<std::size_t>(own)) * classes +
                              static_cast<std::size_t>(other)];
    t[f] = in(c + near[f]);
    sum += g[f];
  }
  const Coefficients<T>& k = tables.coefficients[sweep * classes + own];
  if (alone) return swept(k, in, c, s);
  const T step = tables.weight(sweep) / (steady ? sum : tables.capacity[own]);
  T change = step * T(1.5) * s;
  for (std::size_t f = 0; f < 6; ++f) change = std::fma(step * g[f], t[f] - in(c), change);
  return in(c) + change;
}

struct MaterialsSetting {
  Int3 extent;
  unsigned faces;  // with a boundary
  bool steady, has_source, is_symmetric, by_cell, with_layers;
  int sweeps;
  unsigned number;  // of this setting
};

class MaterialsSweep : public StencilTest {
 protected:
  template <class T>
  void expect_formula(const StencilKernel<T>& kernel, const MaterialsSetting& s) {
    SCOPED_TRACE("extent " + text(s.extent) + ", faces " + std::to_string(s.faces) + ", sweeps " +
                 std::to_string(s.sweeps) + (s.steady ? ", steady" : "") + (s.has_source ? ", source" : "") +
                 (s.is_symmetric ? ", symmetric" : "") + (s.by_cell ? ", boundaries by cell" : ""));
    const int ghosts = s.sweeps + 1;
    const MaterialTables<T> tables(s.is_symmetric);
    const Field<std::uint8_t> of = random_classes(*host_, s.extent, ghosts, s.faces),
                              of_there = to_device(*device_, of);
    const Buffer coefficients = copied_to(*device_, tables.coefficients),
                 conductance = copied_to(*device_, tables.conductance),
                 steps = copied_to(*device_, tables.steps()), heat = copied_to(*device_, tables.heat);
    SweepCase<T> sweep(kernel, *device_,
                       {.shape = s.extent,
                        .mask = s.faces,
                        .fields = 0,
                        .has_source = s.has_source,
                        .ghosts_filled = true,
                        .by_cell = s.by_cell,
                        .time_block = s.sweeps},
                       [&](FieldView<const T> in, const Field<T>* source, Int3 c, int n) {
                         const T q = source ? source->view()(c) : T(0);
                         return by_hand<T>(tables, s.steady, of.view(), in, q, c, n);
                       });
    Materials<T>& materials = sweep.materials;
    materials.classes = of_there.view();
    materials.count = classes;
    for (int i = 0; i < most_sweeps_per_launch; ++i) {
      materials.coefficients.sweep[i] = coefficients.template as<Coefficients<T>>() + i * classes;
      materials.weight.sweep[i] = tables.weight(i);
      if (!s.steady) materials.step.sweep[i] = steps.template as<T>() + i * classes;
    }
    materials.conductance = conductance.template as<T>();
    materials.is_symmetric = s.is_symmetric;
    materials.source = T(1.5);
    materials.heat = heat.template as<double>();
    std::optional<MixedCellTables<T>> mixed;
    Field<T> between[] = {Field<T>(*device_, s.extent, ghosts), Field<T>(*device_, s.extent, ghosts)};
    if (kernel.backend == Backend::cuda) {
      std::array<bool, face_count> by_cell{};
      for (unsigned f = 0; f < face_count; ++f) by_cell[f] = (s.faces >> f & 1) != 0;
      materials.mixed = mixed.emplace(*device_, of_there.view(), by_cell, s.with_layers).view();
      for (int i = 0; i < 2; ++i) materials.between[i] = between[i].view();
    }

    const Box region = sweep.region(1),
              interior = region.grown(-s.sweeps).empty() ? Box{} : region.grown(-s.sweeps);
    std::vector<int> tiles = tiles_of(kernel);
    // Uses one tile per setting: all tiles together would take half the time of all emulated cases.
    if (is_slow(*device_) && s.extent.x > 100 && kernel.max_time_block > 1)
      tiles = {tiles[s.number / 4 % tiles.size()]};
    for (const int tile : tiles) sweep.expect_of(kernel, tile, region, {}, interior);
  }
};

TEST_P(MaterialsSweep, GivesTheBitsOfTheFormula) {
  on_kernel([&]<class T>(const StencilKernel<T>& kernel, Device&) {
    // Small grids: each problem with each number of sweeps. The large grid: the other settings in turn.
    unsigned problem = 0;
    for (const Int3 extent : {Int3{1, 1, 1}, Int3{37, 9, 7}, Int3{140, 34, 9}}) {
      const unsigned problems = extent.x > 100 ? 1 : 2;
      for (const int sweeps : {1, kernel.max_time_block / 2, kernel.max_time_block}) {
        if (sweeps == 0 || (sweeps == 1 && kernel.max_time_block == 2)) continue;
        for (const unsigned faces : {0u, 0b111111u, 0b011001u})
          for (unsigned n = 0; n < problems; ++n, ++problem)
            expect_formula<T>(kernel, {extent, faces, problem % 2 == 0, problem / 2 % 2 == 0,
                                       problem % 3 == 0, problem % 5 < 3, problem % 4 < 3, sweeps, problem});
      }
    }
  });
}

ON_EACH_BACKEND(MaterialsSweep,
                cases_of(stencil_kernels<double>(), backend, &StencilKernel<double>::sweeps_materials));

class HeatOfMaterials : public OnDevice {};

TEST_P(HeatOfMaterials, IsSummedWithTheCapacityOfEach) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const Int3 extent{37, 9, 7};
    const MaterialTables<T> tables;
    const Field<std::uint8_t> of = random_classes(*host_, extent, 1, 0), of_there = to_device(*device_, of);
    const Field<T> field = random_field<T>(*host_, extent, 1, 3), there = to_device(*device_, field);
    const Buffer heat = copied_to(*device_, tables.heat),
                 result = copied_to<LongAccumulator>(*device_, {LongAccumulator{}});
    Materials<T> materials;
    materials.classes = of_there.view();
    materials.heat = heat.template as<double>();
    LongAccumulator sum{};
    for_each_cell({{0, 0, 0}, extent},
                  [&](Int3 c) { sum.add(tables.heat[of.view()(c)] * double{field.view()(c)}); });
    functions(FieldReductions<T>::on)
        .heat_sum({there.view(), materials}, result.template as<LongAccumulator>(), {});
    EXPECT_EQ(fetched_value<LongAccumulator>(*device_, result).rounded(), sum.rounded());
  });
}

ON_EACH_BACKEND(HeatOfMaterials, backend_cases(backend));

}  // namespace
}  // namespace isotherm::test
