// The autotuner: its steps are steps of the run, all ranks take the same plan, and what the deck names is not
// tried.
#include "tune/autotuner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <tuple>

#include "backend_fixture.hpp"
#include "core/error.hpp"
#include "support/decks.hpp"
#include "support/error_text.hpp"
#include "support/moved_clock.hpp"
#include "support/process_grid.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

template <class T>
struct Tuned {
  Tuning tuning;
  StepPlan<T> plan;
  std::uint64_t fingerprint = 0;
  std::int64_t sweeps = 0;
};

// A run of `sweeps`, parted at random, in which the autotuner takes what it wants of each part.
template <class T>
Tuned<T> run_tuned(Config config, const Decomposition& decomposition, Device& device, Random& random,
                   std::int64_t sweeps, const std::function<void(KernelChoices<T>&)>& change = {}) {
  const Communicator world = Communicator::world();
  config.solver.ghosts = widest_halo(config, decomposition);
  KernelChoices<T> choices = common_choices<T>(config, decomposition, world, device);
  if (change) change(choices);
  const auto fits = [&](const auto* kernel) {
    return !kernel->fused || choices.sweeps.front().kernel->fuses_norm();
  };
  Solver<T> solver(
      config, decomposition, world, device,
      {choices.sweeps.front(), *std::ranges::find_if(choices.reductions, fits), choices.histogram});
  Autotuner<T> autotuner(config, solver, choices);
  EXPECT_EQ(autotuner.open(), config.solver.kernel == "auto");
  while (solver.sweeps() < sweeps) {
    const std::int64_t end = std::min(sweeps, solver.sweeps() + random.between<std::int64_t>(1, 60));
    autotuner.advance(end - 1);
    EXPECT_LT(solver.sweeps(), end);
    solver.sweep(end - solver.sweeps());
    solver.residual();
  }
  Tuned<T> tuned{autotuner.record(), solver.plan(), solver.fingerprint(), solver.sweeps()};
  EXPECT_LE(tuned.tuning.sweeps, tuned.sweeps);
  EXPECT_TRUE(!solver.reduction().fused || tuned.plan.sweep.kernel->fuses_norm());
  const auto& [sweep, halo_width, overlap, graph] = tuned.plan;
  const std::string mine =
      fmt::format("{} {} {} {} {} {} {}", sweep.kernel->name, sweep.tile, sweep.time_block, halo_width,
                  word(overlap), graph, solver.reduction().name);
  for (const std::string& theirs : world.all_gather(mine)) EXPECT_EQ(theirs, mine);
  return tuned;
}

template <class T>
std::uint64_t plain_fingerprint(const Config& config, std::int64_t sweeps) {
  PlainSolver<T> solver(config);
  solver->sweep(sweeps);
  return solver->fingerprint();
}

// Kernels of the host that sweep as they do, and move the clock by seconds that follow from kernel and tile.
struct ClockedKernels {
  static constexpr int most = 4;
  static inline std::vector<StencilKernel<double>> kernels;
  static inline decltype(StencilKernel<double>::launch) launches[most];
  static inline std::vector<double> seconds[most];  // of a sweep, by tile

  template <int i>
  static void launch(const SweepArgs<double>& args, SweepPlan plan, Stream stream) {
    launches[i](args, plan, stream);
    move_clock(seconds[i][static_cast<std::size_t>(plan.tile)] * plan.time_block);
  }
  // In place of those in `choices`, some at random 20 times as fast as others, their tiles up to 5 times.
  static void replace(KernelChoices<double>& choices, Random& random) {
    constexpr decltype(StencilKernel<double>::launch) clocked[most] = {launch<0>, launch<1>, launch<2>,
                                                                       launch<3>};
    kernels.clear();
    kernels.reserve(most);
    for (SweepChoice<double>& choice : choices.sweeps) {
      auto kernel = std::ranges::find(kernels, choice.kernel->name, &StencilKernel<double>::name);
      if (kernel == kernels.end()) {
        const std::size_t i = kernels.size();
        ASSERT_LT(i, std::size_t{most});
        launches[i] = choice.kernel->launch;
        seconds[i].clear();
        const double of_kernel = i == 0 ? 20 : random.between(0, 1) ? 1 : 400;
        for (std::size_t tile = 0; tile < choice.kernel->tiles.size(); ++tile)
          seconds[i].push_back(of_kernel * static_cast<double>(random.between(100, 500)) / 100);
        kernels.push_back(*choice.kernel);
        kernels.back().launch = clocked[i];
        kernel = kernels.end() - 1;
      }
      choice.kernel = &*kernel;
    }
  }
};

auto identity(const Tuning::Candidate& c) {
  return std::make_tuple(c.kernel, c.tile, c.time_block, c.halo_width, c.overlap, c.graph, c.reduction);
}

class AutotunerOn : public BackendTest {
 protected:
  Random random_{seed_of_all(world())};
  Decomposition parts_of(const Config& config) {
    return blocks_of(config, even_process_grid(world().size()));
  }
};

// Of a long run, around an axis and without one.
TEST_P(AutotunerOn, MakesStepsOfTheRun) {
  const bool on_host = GetParam() == Backend::host;
  for (Config config : {decks::steady({18, 17, 15}), decks::periodic({16, 18, 17})}) {
    config = decks::without_time(config);
    if (config.problem.kind == ProblemKind::steady) config.problem.tolerance = 0;  // never reached
    config.problem.max_sweeps = 1000000000;
    if (config.problem.kind == ProblemKind::transient) config.problem.steps = 1000000000;
    config.solver.tuning_budget = on_host ? 0.5 : 2;
    const std::int64_t sweeps = on_host ? 6000 : 1500;
    const auto tuned = run_tuned<double>(config, parts_of(config), device(), random_, sweeps);
    EXPECT_EQ(tuned.sweeps, sweeps);
    EXPECT_EQ(tuned.fingerprint, plain_fingerprint<double>(config, sweeps));
    const auto& candidates = tuned.tuning.candidates;
    ASSERT_GT(candidates.size(), 1u);
    std::set<decltype(identity(candidates.front()))> seen;
    for (const Tuning::Candidate& c : candidates) {
      EXPECT_TRUE(seen.insert(identity(c)).second)
          << c.kernel << " " << c.tile << " was measured as two candidates";
      EXPECT_GT(c.seconds, 0);
      EXPECT_EQ(world().all_reduce(c.seconds, ReduceOp::max), c.seconds) << "ranks have different figures";
      EXPECT_LE(c.time_block, longest_time_block(config));
      if (exchanges(ghost_sides(parts_of(config), world().rank()))) {
        EXPECT_LE(c.time_block, c.halo_width);
      }
    }
    const bool temporal = std::ranges::any_of(candidates, [](const auto& c) { return c.time_block > 1; });
    EXPECT_EQ(temporal, has_temporal_kernel<double>(GetParam()));
  }
}

TEST_P(AutotunerOn, TakesTheFastestKernelInItsFastestTile) {
  if (GetParam() != Backend::host) GTEST_SKIP() << "the time of a GPU is none that a test can move";
  Config config = decks::without_time(decks::steady({18, 17, 15}));
  config.problem.tolerance = 0;
  config.problem.max_sweeps = 1000000000;
  config.solver.tuning_budget = 1e7;
  const auto tuned = run_tuned<double>(config, parts_of(config), device(), random_, 3000,
                                       {[&](auto& choices) { ClockedKernels::replace(choices, random_); }});
  double least = std::numeric_limits<double>::infinity();
  std::string_view kernel, tile;
  for (std::size_t i = 0; i < ClockedKernels::kernels.size(); ++i)
    for (std::size_t t = 0; t < ClockedKernels::seconds[i].size(); ++t)
      if (ClockedKernels::seconds[i][t] < least) {
        least = ClockedKernels::seconds[i][t];
        kernel = ClockedKernels::kernels[i].name;
        tile = ClockedKernels::kernels[i].tiles[t];
      }
  EXPECT_EQ(tuned.plan.sweep.kernel->name, kernel);
  EXPECT_EQ(tuned.plan.sweep.kernel->tiles[static_cast<std::size_t>(tuned.plan.sweep.tile)], tile);
  EXPECT_EQ(tuned.fingerprint, plain_fingerprint<double>(config, 3000));
}

// With a source and fp32, on fewer planes: no step of the run but those that showed how long they take.
TEST_P(AutotunerOn, MeasuresLongStepsOnFewerPlanes) {
  Config config = decks::steady({40, 40, 64 * even_process_grid(world().size()).z});
  config.problem.max_sweeps = 1000000000;
  config.problem.tolerance = 0;
  config.problem.check_interval = 8;
  config.solver.tuning_budget = 5e-5;  // s: a tenth of it is less than a step
  const auto tuned = run_tuned<float>(config, parts_of(config), device(), random_, 70);
  EXPECT_EQ(tuned.tuning.source, Tuning::Source::measurement);
  EXPECT_LT(tuned.tuning.planes, 64);
  EXPECT_LT(tuned.tuning.sweeps, config.problem.check_interval);
  EXPECT_EQ(tuned.fingerprint, plain_fingerprint<float>(config, 70));
}

// Values of boundaries belong to a time, and are those of the sweep that a measurement makes.
TEST_P(AutotunerOn, KeepsBoundariesThatVaryInTime) {
  Config config = decks::every_wall({19, 16, 15});
  config.problem.steps = 1000000;
  config.solver.tuning_budget = 0.05;
  const auto tuned = run_tuned<double>(config, parts_of(config), device(), random_, 150);
  EXPECT_EQ(tuned.fingerprint, plain_fingerprint<double>(config, 150));
  for (const Tuning::Candidate& c : tuned.tuning.candidates) EXPECT_EQ(c.time_block, 1);
}

TEST_P(AutotunerOn, HasNothingToDoWhereTheDeckNamesAll) {
  Config config = decks::steady({12, 11, 10});
  config.solver.kernel = GetParam() == Backend::host ? "openmp" : "tma_pipeline";
  if (!has_temporal_kernel<double>(GetParam())) config.solver.kernel = "reference";
  config.solver.tile = std::string(
      std::ranges::find(stencil_kernels<double>(), config.solver.kernel, &StencilKernel<double>::name)
          ->tiles[0]);
  config.solver.reduction = "fused";
  config.solver.halo_width = 1;
  config.solver.cuda_graph = GraphChoice::off;
  config.parallel.overlap = Overlap::off;
  run_tuned<double>(config, parts_of(config), device(), random_, 9);
}

// Before anything is made: a kernel that has no room for the subdomain of a rank is rejected by name, and no
// choice of `auto`.
TEST_P(AutotunerOn, NoRowIsAskedForABlockThatItHasNoRoomFor) {
  Config config = decks::steady({9, 8, 7});
  const Index most = std::numeric_limits<Index>::max() / 16;
  bool any = false;
  for (const StencilKernel<double>& kernel : stencil_kernels<double>()) {
    if (kernel.backend != GetParam() || kernel.longest_axis > most || !kernel.why_unsupported(0).empty())
      continue;
    any = true;
    const Int3 fits{8, kernel.longest_axis, 7}, longer{8, kernel.longest_axis + 1, 7};
    const auto offered = [&](Int3 subdomain) {
      const auto sweeps = kernel_choices<double>(config, GetParam(), subdomain).sweeps;
      return std::any_of(sweeps.begin(), sweeps.end(), [&](const auto& c) { return c.kernel == &kernel; });
    };
    config.solver.kernel = "auto";
    EXPECT_TRUE(offered(fits)) << kernel.name;
    EXPECT_FALSE(offered(longer)) << kernel.name;
    config.solver.kernel = kernel.name;
    EXPECT_TRUE(offered(fits)) << kernel.name;
    expect_says(refusal([&] { offered(longer); }, ExitCode::unavailable),
                fmt::format("it has room for {} cells along an axis, and a subdomain has {}",
                            kernel.longest_axis, kernel.longest_axis + 1));
  }
  EXPECT_EQ(any, GetParam() == Backend::cuda && has_temporal_kernel<double>(GetParam()));
}

ISOTHERM_ON_EACH_BACKEND(AutotunerOn);

TEST(Autotuner, EndsWithItsBudget) {
  const auto host = make_host_device();
  Random random(1);
  Config config = decks::steady({9, 8, 7 * Communicator::world().size()});
  config.problem.max_sweeps = 10;  // 5 % of ten sweeps
  const Int3 slabs{1, 1, Communicator::world().size()};
  const auto tuned = run_tuned<double>(config, blocks_of(config, slabs), *host, random, 400);
  EXPECT_EQ(tuned.tuning.source, Tuning::Source::measurement);
  EXPECT_FALSE(tuned.tuning.complete);
  EXPECT_EQ(tuned.tuning.candidates.size(), 1u);
}

TEST(WidestHalo, IsNoDeeperThanSomethingIsDue) {
  const auto width = [](auto change) {
    Config config = decks::base({64, 64, 64});
    change(config);
    return widest_halo(config, Decomposition(config.grid.cells, {2, 2, 2}, {}));
  };
  EXPECT_EQ(width([](Config&) {}), 8);
  EXPECT_EQ(width([](Config& c) { c.solver.halo_width = 20; }), 20);
  EXPECT_EQ(width([](Config& c) { c.problem.check_interval = 3; }), 3);
  EXPECT_EQ(width([](Config& c) { c.problem.steps = 5; }), 5);
  EXPECT_EQ(width([](Config& c) { c.output.diagnostics = 4; }), 4);
  EXPECT_EQ(width([](Config& c) { c.output.every_steps = 2; }), 2);
  EXPECT_EQ(width([](Config& c) { c.grid.cells.x = 6; }), 3);
  EXPECT_EQ(width([](Config& c) { c.parallel.overlap = Overlap::in_kernel; }), 1);
  EXPECT_EQ(width([](Config& c) { c.boundaries[2] = decks::every_wall({8, 8, 8}).boundaries[0]; }), 1);
  Config around = decks::periodic({32, 32, 32});
  around.boundaries[2].value = Expression(300.0);
  const Decomposition one = blocks_of(around, {1, 1, 1});
  EXPECT_EQ(widest_halo(around, one), 8);
  around.solver.kernel = "openmp";
  EXPECT_EQ(widest_halo(around, one), 1);
}

TEST(KernelChoices, KeepToTheDeck) {
  Config config = decks::every_wall({17, 23, 31});
  config.solver.kernel = "openmp";
  config.solver.tile = "1plane";
  config.solver.reduction = "openmp";
  const KernelChoices<double> choices = kernel_choices<double>(config, Backend::host);
  EXPECT_FALSE(choices.open());
  EXPECT_EQ(choices.sweeps.front().kernel->name, "openmp");
  EXPECT_EQ(choices.sweeps.front().tile, 1);
  EXPECT_EQ(choices.reductions.front()->name, "openmp");
}

TEST(KernelChoices, LeaveOutWhatOthersAreComparedWith) {
  const KernelChoices<double> choices =
      kernel_choices<double>(decks::every_wall({17, 23, 31}), Backend::host);
  for (const auto& choice : choices.sweeps) EXPECT_NE(choice.kernel->name, "reference");
  for (const auto* kernel : choices.reductions) EXPECT_NE(kernel->name, "reference");
  EXPECT_TRUE(choices.reductions.front()->fused);
}

}  // namespace
}  // namespace isotherm
