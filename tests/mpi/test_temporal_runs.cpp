// Runs whose launches fuse sweeps come to the same field, norm, diagnostics and end as single sweeps of one
// rank: random grids, boundaries, depths, process grids, and counts of sweeps between looks at the field.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backend_fixture.hpp"
#include "support/decks.hpp"
#include "support/process_grid.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

struct Drawn {
  Config config;
  int time_block = 1;
  Overlap overlap = Overlap::off;
  std::vector<std::int64_t> parts;
};

Drawn draw(Random& random) {
  const auto upto = [&](std::int64_t least, std::int64_t most) { return random.between(least, most); };
  Drawn drawn;
  const Int3 cells{upto(4, 40), upto(4, 24), upto(4, 24)};
  const std::int64_t kind = upto(0, 2);
  drawn.config = kind == 0   ? decks::steady(cells)
                 : kind == 1 ? decks::periodic(cells)
                             : decks::every_wall(cells);
  if (kind == 2) drawn.config.boundaries[0].value = Expression("320 + 10*sin(20*y)", "yzt");
  drawn.config.solver.halo_width = static_cast<int>(upto(1, 4));
  drawn.config.solver.reduction = upto(0, 1) ? "auto" : "reproducible";
  if (upto(0, 2) == 0) drawn.config.output.diagnostics = 1;
  drawn.time_block = static_cast<int>(upto(2, 8));
  drawn.overlap = upto(0, 1) ? Overlap::on : Overlap::off;
  for (int i = 0; i < 3; ++i) drawn.parts.push_back(upto(1, 11));
  return drawn;
}

struct Observed {
  SolverAnswer answer;
  double balance = 0;
  std::vector<double> end{};  // of the last look
  bool operator==(const Observed&) const = default;
};

// What a run says at its end, without output.diagnostics too.
template <class T>
std::vector<double> end_of(Solver<T>& solver) {
  const TemperatureExtremes extremes = solver.extremes();
  std::vector<double> end;
  for (const NumberedTemperature& each : {extremes.lowest, extremes.highest}) {
    end.push_back(each.value);
    end.push_back(static_cast<double>(each.number));
  }
  const std::optional<HeatFlows> heat = solver.heat_flows();
  if (!heat) return {};
  for (const double value : {heat->source, heat->rate, heat->balance}) end.push_back(value);
  end.insert(end.end(), heat->boundaries.begin(), heat->boundaries.end());
  return end;
}

template <class T>
std::vector<Observed> looks(const Drawn& drawn, const Config& config, Solver<T>& solver) {
  std::vector<Observed> found;
  for (const std::int64_t& count : drawn.parts) {
    solver.sweep(count, &count == &drawn.parts.back());
    const double residual = solver.residual();
    const double balance = config.output.diagnostics ? solver.diagnose().flows->balance : 0;
    found.push_back({{solver.fingerprint(), residual}, balance});
  }
  found.back().end = end_of(solver);
  EXPECT_FALSE(found.back().end.empty());
  return found;
}

template <class T>
void check(Drawn drawn, const std::string& kernel, const std::string& transport, Device& device) {
  const Communicator world = Communicator::world();
  const Int3 n = drawn.config.grid.cells;
  Config plain = drawn.config;
  plain.solver.reduction = "reproducible";
  const auto expected = looks(drawn, plain, *PlainSolver<T>(plain));
  Config config = drawn.config;
  config.solver.kernel = kernel;
  config.parallel.overlap = drawn.overlap;
  config.parallel.transport = transport;
  for (const Int3 grid : process_grids(world.size(), n)) {
    const Decomposition decomposition = blocks_of(config, grid);
    if (*config.solver.halo_width > decomposition.max_halo_width().value_or(64)) continue;
    // Without neighbours the depth may stay open.
    if (grid.product() == 1 && decomposition.max_halo_width() == std::nullopt)
      config.solver.halo_width.reset();
    SolverKernels<T> kernels = choose_kernels<T>(config, device.backend());
    kernels.sweep.time_block = std::min(drawn.time_block, kernels.sweep.kernel->max_time_block);
    SCOPED_TRACE(fmt::format("{} {}x{}x{} on {}x{}x{}, depth {}, fused {}, overlap {}", kernel, n.x, n.y, n.z,
                             grid.x, grid.y, grid.z, config.solver.halo_width.value_or(0),
                             kernels.sweep.time_block, drawn.overlap == Overlap::on));
    Solver<T> solver(config, decomposition, world, device, kernels);
    EXPECT_EQ(looks(drawn, config, solver), expected);
  }
}

// Of choices that are drawn from all that `auto` has, each for some sweeps.
void check_steps(const Drawn& drawn, Random& random, Device& device) {
  const Communicator world = Communicator::world();
  Config config = drawn.config;
  const Decomposition decomposition = blocks_of(config, even_process_grid(world.size()));
  config.solver.halo_width.reset();
  config.solver.ghosts = widest_halo(config, decomposition, 3);
  PlainSolver<double> expected(config);
  const KernelChoices<double> choices = kernel_choices<double>(config, device.backend());
  Solver<double> solver(config, decomposition, world, device,
                        choose_kernels<double>(config, device.backend()));
  for (int i = 0; i < 5; ++i) {
    StepPlan<double> plan = solver.plan();
    plan.sweep = choices.sweeps[random() % choices.sweeps.size()];
    plan.sweep.time_block = std::min(plan.sweep.time_block, longest_time_block(config, decomposition));
    plan.halo_width =
        random.between(plan.sweep.time_block, std::max(plan.sweep.time_block, ghost_layers(config)));
    const auto fits = [&](const auto* kernel) { return !kernel->fused || plan.sweep.kernel->fuses_norm(); };
    solver.use(plan, **std::ranges::find_if(choices.reductions, fits));
    const std::int64_t sweeps = random.between<std::int64_t>(1, 9);
    EXPECT_EQ(answers(solver, {sweeps}), answers(*expected, {sweeps}));
  }
}

class TemporalRuns : public BackendTest {};
ISOTHERM_ON_EACH_BACKEND(TemporalRuns);

TEST_P(TemporalRuns, AreRunsOfSingleSweeps) {
  Random random(seed_of_all(world()));
  const std::string transport = usable_transports(device(), world()).back();
  for (int i = 0; i < 10; ++i) {
    const Drawn drawn = draw(random);
    for (const auto& kernel : stencil_kernels<double>()) {
      if (kernel.backend != GetParam() || kernel.max_time_block == 1) continue;
      i % 2 == 0 ? check<double>(drawn, std::string(kernel.name), transport, device())
                 : check<float>(drawn, std::string(kernel.name), transport, device());
    }
  }
}

// Kernel, tile, time block and halo width change between steps, as under the autotuner.
TEST_P(TemporalRuns, AreTheSameWhenStepsChange) {
  if (!has_temporal_kernel<double>(GetParam())) GTEST_SKIP() << "no kernel takes time blocks on this device";
  Random random(seed_of_all(world()));
  for (int i = 0; i < (GetParam() == Backend::host ? 4 : 1); ++i) {  // an emulated device is slow
    const Drawn drawn = draw(random);
    check_steps(drawn, random, device());
  }
}

// Without a field of the sweep before, no heat is said; a steady problem needs none.
TEST(TemporalEnd, HasHeatWhereTheLastSweepStandsAlone) {
  const auto host = make_host_device();
  const auto heat_after = [&](Config config, bool last_alone) {
    config.solver.kernel = "temporal_openmp";
    config.solver.reduction = "fused";
    SolverKernels<double> kernels = choose_kernels<double>(config, Backend::host);
    kernels.sweep.time_block = 4;
    Solver<double> solver(config, blocks_of(config, {1, 1, 1}), Communicator::self(), *host, kernels);
    EXPECT_EQ(solver.time_block(), 4);
    const bool at_first = solver.heat_flows().has_value();
    EXPECT_EQ(at_first, config.problem.kind == ProblemKind::steady);
    solver.sweep(8, last_alone);
    return solver.heat_flows().has_value();
  };
  Config transient = decks::every_wall({9, 8, 7});
  transient.boundaries[0].value = Expression(300.0);
  EXPECT_TRUE(heat_after(transient, true));
  EXPECT_FALSE(heat_after(transient, false));
  EXPECT_TRUE(heat_after(decks::steady({9, 8, 7}), false));
  transient.material.conductivity.reset();
  transient.material.diffusivity = 1e-5;
  for (std::size_t f = 0; f < face_count; ++f) transient.boundaries[f] = {};
  EXPECT_FALSE(heat_after(transient, true));
}

// As many as boundaries and ghosts allow, and the run says why it takes single sweeps.
TEST(TimeBlock, IsNoMoreThanMayBe) {
  const auto time_block_of = [](Config config) {
    config.solver.kernel = "temporal_openmp";
    const auto host = make_host_device();
    SolverKernels<double> kernels = choose_kernels<double>(config, Backend::host);
    kernels.sweep.time_block = 4;
    const Solver<double> solver(config, blocks_of(config, {1, 1, 1}), Communicator::self(), *host, kernels);
    return fmt::format("{} {}", solver.time_block(), solver.why_single());
  };
  Config steady = decks::steady({9, 8, 7});
  EXPECT_EQ(time_block_of(steady), "4 ");
  steady.solver.halo_width = 2;
  EXPECT_EQ(time_block_of(steady), "2 ");
  steady.solver.halo_width = 1;
  EXPECT_EQ(time_block_of(steady), "1 solver.halo_width is 1");
  EXPECT_EQ(time_block_of(decks::every_wall({9, 8, 7})), "1 boundaries vary in time");
  Config around = decks::periodic({9, 8, 7});
  EXPECT_EQ(time_block_of(around), "1 solver.halo_width is 1");
  around.solver.halo_width = 3;
  EXPECT_EQ(time_block_of(around), "3 ");
}

}  // namespace
}  // namespace isotherm
