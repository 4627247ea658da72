// Sweeps with additional work: several sweeps per launch, and the norm of the update.
#include "support.hpp"
#include "support/repeat.hpp"

namespace isotherm::test {
namespace {

// Tests every tile and several regions.
template <class T>
void check(const StencilKernel<T>& kernel, Device& device, Int3 shape, int time_block, unsigned mask) {
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

TEST_P(TemporalSweeps, AreAsManySweeps) {
  on_kernel([](const auto& kernel, Device& device) {
    for (int time_block = 1; time_block <= kernel.max_time_block; ++time_block) {
      for (const Int3 shape : {Int3{1, 1, 1}, Int3{1, 9, 7}, Int3{9, 7, 1}, Int3{40, 1, 1}, Int3{17, 23, 31},
                               Int3{65, 2, 5}, Int3{127, 6, 3}})
        check(kernel, device, shape, time_block, all_faces);
    }
  });
}

// Several tiles and chunks of every kernel, none of them full.
TEST_P(TemporalSweeps, OfManyTiles) {
  on_kernel([](const auto& kernel, Device& device) {
    check(kernel, device, {139, 40, 21}, kernel.max_time_block, all_faces);
    for (int time_block = 2; time_block <= kernel.max_time_block; ++time_block)
      check_lots(kernel, device, time_block);
    check(kernel, device, {134, 41, 9}, 2, 0b010101u);
  });
}

// Boundaries across one axis, on the lower or the upper faces of all axes, and nowhere.
TEST_P(TemporalSweeps, BesideGhostsOfNeighbours) {
  on_kernel([](const auto& kernel, Device& device) {
    for (const unsigned mask : {0b000011u, 0b001100u, 0b110000u, 0b010101u, 0b101010u, 0u}) {
      for (const int time_block : {2, 3, kernel.max_time_block}) {
        if (time_block > kernel.max_time_block) continue;
        if (time_block == 3 && mask % 0b010101u != 0) continue;  // boundaries across one axis
        check(kernel, device, {3, 20, 2}, time_block, mask);
        check(kernel, device, {61, 9, 5}, time_block, mask);
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
        check(kernel, *host, shape, time_block, mask);
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
TEST(TemporalOpenmp, KeepsTheMemoryThatItSays) {
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

// Tests one sweep of the whole, and steps in two parts by the kernel itself, the second of which may be
// empty; StepInParts tests a kernel's own `exterior`.
template <class T>
void check_norm(StencilKernel<T> kernel, int tile, Device& device, Int3 shape) {
  kernel.exterior = nullptr;
  const SweepCase<T> sweep(kernel, device, {.shape = shape, .mask = 0, .fields = 0, .ghosts = 1});
  const Box whole = sweep.region(0), lower{{0, 0, 0}, {shape.x, shape.y, shape.z / 2}};
  for (const ReductionOp op : all_norms) {
    sweep.expect_of(kernel, tile, whole, op);
    if (tile > 0 || op == ReductionOp::sum_squares) continue;
    for (const Box& first : {lower, whole}) sweep.expect_of(kernel, tile, whole, op, first);
  }
}

class FusedNorm : public StencilTest {};

TEST_P(FusedNorm, IsThatOfTheUpdate) {
  on_every_tile(shapes, [](const auto& row, int tile, Device& device, Int3 shape) {
    check_norm(row, tile, device, shape);
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

}  // namespace
}  // namespace isotherm::test
