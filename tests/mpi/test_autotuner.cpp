// The autotuner: its steps are steps of the run, all ranks choose the same plan, and it does not vary
// settings that the deck names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <tuple>
#include <vector>

#include "backend_fixture.hpp"
#include "core/error.hpp"
#include "halo/hiding.hpp"
#include "support/decks.hpp"
#include "support/error_text.hpp"
#include "support/moved_clock.hpp"
#include "support/repeat.hpp"
#include "tune/autotuner.hpp"

namespace isotherm {
namespace {

template <class T>
struct Tuned {
  Tuning tuning;
  StepPlan<T> plan;
};

// A run of `sweeps`, split at random; in each part the autotuner uses as many sweeps as it needs. The result
// is that of plain sweeps; sums of residuals differ in their last digits.
template <class T>
Tuned<T> run_tuned(Config config, Device& device, Random& random, std::int64_t sweeps,
                   const std::function<void(KernelChoices<T>&)>& change = {}) {
  const Communicator world = Communicator::world();
  const Decomposition decomposition = even_blocks(config);
  config.solver.ghosts = widest_halo(config, decomposition);
  KernelChoices<T> choices = common_choices<T>(config, decomposition, world, device);
  if (change) change(choices);
  Solver<T> solver(config, decomposition, world, device, default_kernels(config, choices));
  const auto autotuner = std::make_unique<Autotuner<T>>(config, solver, choices);
  EXPECT_EQ(autotuner->open(), config.solver.kernel == "auto");
  while (solver.sweeps() < sweeps) {
    const std::int64_t end = std::min(sweeps, solver.sweeps() + random.between<std::int64_t>(1, 60));
    autotuner->advance(end - 1);
    EXPECT_LT(solver.sweeps(), end);
    solver.sweep(end - solver.sweeps());
  }
  EXPECT_EQ(solver.sweeps(), sweeps);
  PlainSolver<T> plain(config);
  plain->sweep(sweeps);
  EXPECT_EQ(solver.fingerprint(), plain->fingerprint());
  EXPECT_NEAR(solver.residual(), plain->residual(), 1e-5 * plain->residual());
  Tuned<T> tuned{autotuner->record(), solver.plan()};
  EXPECT_LE(tuned.tuning.sweeps, sweeps);
  EXPECT_TRUE(!solver.reduction().fused || tuned.plan.sweep.kernel->fuses_norm());
  const auto& [sweep, halo_width, overlap, graph] = tuned.plan;
  const std::string mine =
      fmt::format("{} {} {} {} {} {} {}", sweep.kernel->name, sweep.tile, sweep.time_block, halo_width,
                  word(overlap), graph, solver.reduction().name);
  for (const std::string& theirs : world.all_gather(mine)) EXPECT_EQ(theirs, mine);
  return tuned;
}

// Host kernels that sweep as usual, and advance the clock by a time that depends on kernel and tile.
using Launch = decltype(StencilKernel<double>::launch);
struct ClockedKernel {
  StencilKernel<double> kernel;
  Launch real_launch;
  std::vector<double> seconds;  // of a sweep, by tile
};
std::vector<ClockedKernel> clocked_kernels;

template <int i>
void launch_clocked(const SweepArgs<double>& args, SweepPlan plan, Stream stream) {
  clocked_kernels[i].real_launch(args, plan, stream);
  move_clock(clocked_kernels[i].seconds[static_cast<std::size_t>(plan.tile)] * plan.time_block);
}

// Replaces the kernels in `choices`: the first takes 20 s per sweep, others 1 or 400 s, times 1 to 5 by tile.
void replace_kernels(KernelChoices<double>& choices, Random& random) {
  const std::vector<Launch> launches{launch_clocked<0>, launch_clocked<1>, launch_clocked<2>,
                                     launch_clocked<3>};
  clocked_kernels.clear();
  clocked_kernels.reserve(launches.size());
  for (SweepChoice<double>& choice : choices.sweeps) {
    auto found = std::ranges::find(clocked_kernels, choice.kernel->name,
                                   [](const ClockedKernel& each) { return each.kernel.name; });
    if (found == clocked_kernels.end()) {
      const double of_kernel = clocked_kernels.empty() ? 20 : random.between(0, 1) ? 1 : 400;
      ClockedKernel clocked{*choice.kernel, choice.kernel->launch, {}};
      clocked.kernel.launch = launches.at(clocked_kernels.size());
      for (std::size_t tile = 0; tile < choice.kernel->tiles.size(); ++tile)
        clocked.seconds.push_back(of_kernel * static_cast<double>(random.between(100, 500)) / 100);
      found = clocked_kernels.insert(found, clocked);
    }
    choice.kernel = &found->kernel;
  }
}

auto identity(const Tuning::Candidate& c) {
  return std::make_tuple(c.kernel, c.tile, c.time_block, c.halo_width, c.overlap, c.graph, c.reduction);
}

class AutotunerOn : public BackendTest {
 protected:
  Random random_{seed_of_all(world())};
};

// Boundary values with jumps within steps.
Config with_a_table(Config config) {
  std::vector<TableKnot> knots;
  for (int i = 0; i < 60; ++i) knots.push_back({2.3 * i * time_plan(config).dt, 300.0 + 7 * (i % 5)});
  config.boundaries[0].value = Expression(knots, true, "");
  return config;
}

// A long run, in which kernel, tile, time block and halo width change. Boundary values that depend on time
// are those of the sweep that a measurement executes.
TEST_P(AutotunerOn, MakesStepsOfTheRun) {
  const bool slow = is_slow(device());
  for (Config config :
       {decks::steady({18, 17, 15}), decks::periodic({16, 18, 17}),
        with_a_table(decks::every_boundary({19, 16, 15})),
        decks::with_step_limits(decks::of_many_classes(decks::steady({17, 16, 13}), random_))}) {
    if (config.problem.kind == ProblemKind::steady) config.problem.tolerance = 0;  // never reached
    config.problem.max_sweeps = 1000000000;
    if (config.problem.kind == ProblemKind::transient) config.problem.steps = 1000000000;
    config.solver.tuning_budget = 10;
    const std::int64_t sweeps = slow ? 400 : 6000;
    const auto candidates = run_tuned<double>(config, device(), random_, sweeps).tuning.candidates;
    ASSERT_GT(candidates.size(), 1u);
    std::set<decltype(identity(candidates.front()))> seen;
    for (const Tuning::Candidate& c : candidates) {
      EXPECT_TRUE(seen.insert(identity(c)).second)
          << c.kernel << " " << c.tile << " was measured as two candidates";
      EXPECT_GT(c.seconds, 0);
      EXPECT_EQ(world().all_reduce(c.seconds, ReduceOp::max), c.seconds) << "ranks have different figures";
      EXPECT_LE(c.time_block, longest_time_block(config));
      if (exchanges(ghost_sides(even_blocks(config), world().rank()))) {
        EXPECT_LE(c.time_block, c.halo_width);
      }
    }
    const bool temporal = std::ranges::any_of(candidates, [](const auto& c) { return c.time_block > 1; });
    EXPECT_EQ(temporal, has_temporal_kernel<double>(GetParam(), false));
  }
}

TEST_P(AutotunerOn, TakesTheFastestKernelInItsFastestTile) {
  if (GetParam() != Backend::host) GTEST_SKIP() << "a test cannot move the clock of a GPU";
  Config config = decks::without_time(decks::steady({18, 17, 15}));
  config.problem.tolerance = 0;
  config.problem.max_sweeps = 1000000000;
  config.solver.tuning_budget = 1e7;
  const auto tuned = run_tuned<double>(config, device(), random_, 3000,
                                       {[&](auto& choices) { replace_kernels(choices, random_); }});
  const auto fastest_tile = [](const ClockedKernel& each) { return std::ranges::min_element(each.seconds); };
  const ClockedKernel& fastest = *std::ranges::min_element(
      clocked_kernels, {}, [&](const ClockedKernel& each) { return *fastest_tile(each); });
  EXPECT_EQ(tuned.plan.sweep.kernel->name, fastest.kernel.name);
  EXPECT_EQ(tuned.plan.sweep.tile, fastest_tile(fastest) - fastest.seconds.begin());
}

// In fp32 with a source. Candidates take steps of fewer planes, not of the run: the run takes only the steps
// that show how long a step is. Not if the thinnest rank has too few planes, even if others have one more.
TEST_P(AutotunerOn, MeasuresLongStepsOnFewerPlanes) {
  const Index parts = even_process_grid(world().size()).z;
  for (const Index planes : {64 * parts, 32 * parts - 1}) {
    SCOPED_TRACE(planes);
    Config config = decks::steady({40, 40, planes});
    config.problem.max_sweeps = 1000000000;
    config.problem.tolerance = 0;
    config.problem.check_interval = 8;
    config.solver.tuning_budget = 5e-5;  // s: a tenth of it is shorter than a step
    const auto tuned = run_tuned<float>(config, device(), random_, 70);
    EXPECT_EQ(tuned.tuning.source, Tuning::Source::measurement);
    const bool is_thick = planes == 64 * parts;
    EXPECT_EQ(tuned.tuning.planes < planes / parts, is_thick);
    EXPECT_TRUE(!is_thick || tuned.tuning.sweeps < config.problem.check_interval);
  }
}

// Checked before any allocation: a kernel whose index range is too small for a rank's subdomain is rejected
// if the deck names it, and `auto` does not consider it.
TEST_P(AutotunerOn, KernelsWithoutRoomForTheSubdomainAreRejected) {
  Config config = decks::steady({9, 8, 7});
  const Index most = std::numeric_limits<Index>::max() / 16;
  bool any = false;
  for (const StencilKernel<double>& kernel : stencil_kernels<double>()) {
    if (kernel.backend != GetParam() || kernel.longest_axis > most || !kernel.why_unsupported(0).empty())
      continue;
    any = true;
    const Int3 fits{8, 7, kernel.longest_axis}, longer{8, 7, kernel.longest_axis + 1};
    const auto offered = [&](Int3 subdomain) {
      const auto sweeps = kernel_choices<double>(config, GetParam(), subdomain).sweeps;
      return std::any_of(sweeps.begin(), sweeps.end(), [&](const auto& c) { return c.kernel == &kernel; });
    };
    config.solver.kernel = "auto";
    EXPECT_EQ(offered(fits), kernel.is_candidate) << kernel.name;
    EXPECT_FALSE(offered(longer)) << kernel.name;
    config.solver.kernel = kernel.name;
    EXPECT_TRUE(offered(fits)) << kernel.name;
    expect_says(refusal([&] { offered(longer); }, ExitCode::unavailable),
                fmt::format("it has room for {} cells along an axis, and a subdomain has {}",
                            kernel.longest_axis, kernel.longest_axis + 1));
  }
  EXPECT_EQ(any, GetParam() == Backend::cuda && has_temporal_kernel<double>(GetParam(), false));
}

ISOTHERM_ON_EACH_BACKEND(AutotunerOn);

TEST(KernelRoom, LimitsPlanesAndNotOnlyAxes) {
  StencilKernel<double> kernel{};
  kernel.largest_plane = Index{1} << 31;
  EXPECT_EQ(why_no_room(kernel, {46000, 46000, 4}), "");
  EXPECT_EQ(why_no_room(kernel, {8, 7, Index{1} << 40}), "");
  expect_says(why_no_room(kernel, {46400, 46400, 4}), "46528 x 46528");
  expect_says(why_no_room(kernel, {8, Index{1} << 30, 7}), "136 x ");
}

TEST(WidestHalo, IsLimitedByEventsAndByTheGrid) {
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
  Config around = decks::periodic({32, 32, 32});
  around.boundaries[2].value = Expression(300.0);
  const Decomposition one = blocks_of(around, {1, 1, 1});
  EXPECT_EQ(widest_halo(around, one), 8);
  around.solver.kernel = "openmp";
  EXPECT_EQ(widest_halo(around, one), 1);
}

TEST(KernelChoices, ExcludeTheReferenceKernels) {
  const KernelChoices<double> choices =
      kernel_choices<double>(decks::every_boundary({17, 23, 31}), Backend::host);
  for (const auto& choice : choices.sweeps) EXPECT_NE(choice.kernel->name, "reference");
  for (const auto* kernel : choices.reductions) EXPECT_NE(kernel->name, "reference");
  EXPECT_TRUE(choices.reductions.front()->fused);
}

// Variants of a step: with sweeps that store their faces into the neighbours' ghosts, with timed phases, with
// measured overlap. All give the bits of plain sweeps; test_one_answer.cpp tests graphs.

// Sweeps that store their faces into the neighbours' ghosts give the bits of exchanges: on every process
// grid, for every sequence of sweeps, as graphs too. Where they are not possible, an error says why.

Config with_face_stores(Config config) {
  config.solver.kernel = "tma_pipeline";
  config.parallel.transport = "peer";
  config.parallel.overlap = Overlap::in_kernel;
  return config;
}

template <class T>
std::vector<SolverAnswer> answers_in_turns(Solver<T>& solver, bool graph = false) {
  return graph ? answers(solver, {1, 7, 17}) : answers(solver, {1, 2, 7});
}

class FaceStoresTest : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (IsSkipped()) return;
    if (world().size() == 1) GTEST_SKIP() << "nothing is exchanged";
    const std::vector<std::string> uuids =
        world().all_gather(device().info().uuid);  // kernels wait for other ranks' kernels
    if (std::set(uuids.begin(), uuids.end()).size() < uuids.size())
      GTEST_SKIP() << "needs a GPU for each rank";
    const std::vector<std::string> transports = usable_transports(device(), world());
    if (std::find(transports.begin(), transports.end(), "peer") == transports.end())
      GTEST_SKIP() << "needs transport peer";
  }

  template <class T>
  void expect_the_bits_of_exchanges(Config config, Int3 parts, bool graph) {
    SCOPED_TRACE(fmt::format("{} bytes, {} parts, graph {}", sizeof(T), text(parts), graph));
    const std::vector<SolverAnswer> expected = answers_in_turns(*PlainSolver<T>(config), graph);
    config = with_face_stores(config);
    config.solver.reduction = graph ? "warp_shuffle" : "fused";  // a sweep with a norm stores no faces
    Solver<T> solver = solver_of<T>(config, blocks_of(config, parts), world(), device(), graph, true);
    EXPECT_EQ(solver.plan().overlap, Overlap::in_kernel);
    EXPECT_EQ(answers_in_turns(solver, graph), expected);
  }
};
INSTANTIATE_TEST_SUITE_P(Cuda, FaceStoresTest, testing::Values(Backend::cuda));

// Whole tiles along x if that axis is divided.
TEST_P(FaceStoresTest, GiveTheBitsOfExchanges) {
  for (const Int3 p : process_grids(world().size(), {1000, 1000, 1000})) {
    const Index x = p.x > 1 ? 128 * p.x : 37;
    expect_the_bits_of_exchanges<double>(decks::every_boundary({x, 10 * p.y + 1, 7 * p.z + 1}), p, false);
    expect_the_bits_of_exchanges<float>(decks::every_boundary({2 * x, 12 * p.y - 1, 5 * p.z + 1}), p, false);
    expect_the_bits_of_exchanges<double>(decks::steady({x, 9 * p.y, 3 * p.z}), p, true);
    expect_the_bits_of_exchanges<float>(decks::steady({2 * x, 35 * p.y, p.z}), p, true);
  }
}

// Two neighbours, and one neighbour that is the same on both sides.
TEST_P(FaceStoresTest, GoAroundAxesThatAreCut) {
  for (const int axis : {0, 1, 2}) {
    Config around = decks::periodic_along({axis}, decks::steady({40, 9, 8}));
    const Index n = world().size();
    const Int3 parts{axis == 0 ? n : 1, axis == 1 ? n : 1, axis == 2 ? n : 1};
    around.grid.cells = {axis == 0 ? 128 * n : 40, 9 * parts.y, 8 * parts.z};
    expect_the_bits_of_exchanges<double>(around, parts, axis == 1);
  }
}

// Alternates with exchanges, and with fields that have more ghosts than an exchange fills.
TEST_P(FaceStoresTest, TakeTurnsWithExchangesOfAnyWidth) {
  Config config = with_face_stores(decks::steady({40, 9 * world().size(), 12}));
  PlainSolver<double> plain(config);
  config.parallel.overlap = Overlap::automatic;
  config.solver.ghosts = 4;
  Solver<double> solver =
      solver_of<double>(config, blocks_of(config, {1, world().size(), 1}), world(), device());
  StepPlan<double> step = solver.plan();
  for (const auto& [width, overlap] : {std::pair{1, Overlap::in_kernel},
                                       {4, Overlap::on},
                                       {1, Overlap::in_kernel},
                                       {2, Overlap::off},
                                       {1, Overlap::on}}) {
    step.halo_width = width;
    step.overlap = overlap;
    solver.use(step, solver.reduction());
    solver.sweep(7);
    plain->sweep(7);
    EXPECT_EQ(solver.fingerprint(), plain->fingerprint());
  }
}

// As in `run --profile`. No sweep has two parts. Exchange times are those of the first exchange, or of one
// exchange after each sweep with a norm.
TEST_P(FaceStoresTest, KeepTheirBitsWhilePhasesAreTimed) {
  Config config = with_face_stores(decks::steady({40, 9 * world().size(), 12}));
  const std::vector<SolverAnswer> expected = answers_in_turns(*PlainSolver<double>(config));
  for (const char* reduction : {"warp_shuffle", "fused"}) {
    SCOPED_TRACE(reduction);
    config.solver.reduction = reduction;
    Solver<double> solver =
        solver_of<double>(config, blocks_of(config, {1, world().size(), 1}), world(), device(), true);
    solver.time_phases();
    EXPECT_FALSE(solver.plan().graph);
    EXPECT_EQ(answers_in_turns(solver), expected);
    const PhaseTimes times = solver.times();
    EXPECT_EQ(times[Phase::interior], 0);
    EXPECT_EQ(times[Phase::exterior], 0);
    EXPECT_GT(times[Phase::sweeps], 0);
    EXPECT_EQ(times[Phase::pack], 0);  // sweeps store directly
    EXPECT_GT(times[Phase::wire], 0);
    EXPECT_GT(times[Phase::unpack], 0);
    EXPECT_LE(times[Phase::wire] + times[Phase::unpack], times[Phase::halo]);
    EXPECT_GT(times[Phase::reduction], 0);
  }
}

// Measurements on fewer planes omit the sources, next to which the run sweeps cells again.
TEST_P(FaceStoresTest, AreNoCandidatesWhereSourcesVary) {
  Config config = with_face_stores(decks::sources_in_few_cells({40, 9, 40 * world().size()}));
  config.parallel.overlap = Overlap::automatic;
  config.solver.reduction = "warp_shuffle";
  config.solver.halo_width = 1;
  config.problem.steps = 1000000;
  Solver<double> solver =
      solver_of<double>(config, blocks_of(config, {1, 1, world().size()}), world(), device());
  KernelChoices<double> choices = kernel_choices<double>(config, device().backend());
  choices.sweeps.resize(1);
  const Timer timer;
  solver.sweep(9);
  solver.synchronize();
  config.solver.tuning_budget = world().all_reduce(timer.seconds(), ReduceOp::max);
  Autotuner<double> autotuner(config, solver, choices);
  autotuner.advance(solver.sweeps() + 10000);
  for (const Tuning::Candidate& c : autotuner.record().candidates) EXPECT_NE(c.overlap, Overlap::in_kernel);
}

TEST_P(FaceStoresTest, AreRejectedWhereTheyCannotBe) {
  const Index n = world().size();
  const Int3 along_x{n, 1, 1}, along_y{1, n, 1};
  const auto rejected = [&](Int3 parts, auto change) {
    Config config = with_face_stores(decks::steady({128 * n, 9 * n, 12}));
    change(config);
    const std::string said = error_text<CollectiveError>(
        [&] { solver_of<double>(config, blocks_of(config, parts), world(), device()); },
        ExitCode::unavailable);
    return said.find("parallel.overlap: sweeps cannot store their faces here") != said.npos;
  };
  EXPECT_FALSE(rejected(along_x, [](Config&) {}));
  EXPECT_FALSE(rejected(along_y, [](Config&) {}));
  EXPECT_TRUE(rejected(along_x, [&](Config& c) { c.grid.cells.x = 130 * n; }));
  EXPECT_FALSE(rejected(along_y, [&](Config& c) { c.grid.cells.x = 130 * n; }));
  EXPECT_TRUE(rejected(along_y, [](Config& c) { c.parallel.transport = "host"; }));
  EXPECT_TRUE(rejected(along_y, [](Config& c) { c.solver.kernel = "naive"; }));
  EXPECT_TRUE(rejected(along_y, [](Config& c) { c.solver.halo_width = 2; }));
  // Along a periodic axis, a rank is its own neighbour.
  EXPECT_TRUE(rejected(along_y, [](Config& c) { c = decks::periodic_along({2}, c); }));
  EXPECT_TRUE(rejected(along_y, [](Config& c) { c.grid.cells.x = 9; }));  // too narrow for the kernel's tiles
}

// A solver with timed phases gives the same bits as one without, and reports how long each part of an
// exchange takes.

class TimedPhases : public BackendTest {};
ISOTHERM_ON_EACH_BACKEND(TimedPhases);

TEST_P(TimedPhases, ChangeNoBitAndAddUp) {
  Config config = decks::steady({17, 13, 14});
  config.solver.reduction = GetParam() == Backend::host ? "reference" : "warp_shuffle";
  for (const Overlap overlap : {Overlap::on, Overlap::off}) {
    SCOPED_TRACE(fmt::format("overlap {}", overlap == Overlap::on));
    config.parallel.overlap = overlap;
    Solver<double> plain = solver_of<double>(config, even_blocks(config), world(), device(), true),
                   timed = solver_of<double>(config, even_blocks(config), world(), device(), true);
    timed.time_phases();
    EXPECT_FALSE(timed.plan().graph);
    EXPECT_EQ(sum_of(timed.times()), 0);
    EXPECT_EQ(answers(plain, {7, 20}), answers(timed, {7, 20}));

    const PhaseTimes times = timed.times();
    const bool overlaps = overlap == Overlap::on;
    const bool several = world().size() > 1;
    EXPECT_EQ(times[Phase::wire] > 0, several);
    EXPECT_EQ(times[Phase::unpack] > 0, several);
    EXPECT_LE(times[Phase::pack] + times[Phase::wire] + times[Phase::unpack], times[Phase::halo]);
    EXPECT_EQ(times[Phase::interior] > 0, overlaps);
    EXPECT_EQ(times[Phase::exterior] > 0, overlaps);
    EXPECT_LE(times[Phase::interior] + times[Phase::exterior], times[Phase::sweeps]);
    EXPECT_GT(times[Phase::reduction], 0);
    EXPECT_EQ(plain.times()[Phase::wire], 0);
  }
}

// How much of an exchange is hidden: the timed spans, on a device whose clock the test moves; and a solver
// whose sweeps do not change when it is measured.

// Rank 0 sweeps slowest; the other ranks' waiting for it does not count as communication.
TEST(HidingOfSpans, ExcludeTheWaitForTheSlowestRank) {
  const Communicator world = Communicator::world();
  const auto host = make_host_device();
  for (const Backend backend : {Backend::host, Backend::cuda}) {
    for (const double unit : {0x1p-20, 0x1p-3}) {  // s: many steps per sample, and one
      ClockedDevice device(*host, backend);
      int steps = 0;
      const HaloCost cost = measure_halo_cost(
          world, device, {},
          [&](StepPart part) {
            const int sweep = world.is_root() ? 32 : 20;
            device.now += unit * (part == StepPart::exchange ? 4 : part == StepPart::sweep ? sweep : 33);
            ++steps;
          },
          false);
      EXPECT_EQ(cost.exchange, 4 * unit);
      EXPECT_EQ(cost.exposed, unit);
      EXPECT_LE(steps * 33 * unit, std::max(0.5, 40 * 33 * unit)) << "it takes too long";
    }
  }
}

class HidingOfHalos : public BackendTest {};

TEST_P(HidingOfHalos, IsMeasuredWithoutATrace) {
  Config config = decks::every_boundary({16, 13, 15});
  for (const int halo_width : {1, 2}) {
    for (const Overlap overlap : {Overlap::on, Overlap::off}) {
      SCOPED_TRACE(fmt::format("halo {}, overlap {}", halo_width, overlap == Overlap::on ? "on" : "off"));
      config.solver.halo_width = halo_width;
      config.parallel.overlap = overlap;
      Solver<double> plain = solver_of<double>(config, even_blocks(config), world(), device()),
                     timed = solver_of<double>(config, even_blocks(config), world(), device(), false, true);
      std::optional<HaloCost> cost;
      if (world().size() > 1) cost = timed.measure_halo_cost();
      EXPECT_EQ(answers(timed, {5}), answers(plain, {5}));
      EXPECT_EQ(timed.sweeps(), 5);
      if (!cost) continue;
      EXPECT_GT(cost->exchange, 0);
      EXPECT_GE(cost->exposed, 0);
      for (const double value : {cost->exchange, cost->exposed}) {
        EXPECT_EQ(world().all_reduce(value, ReduceOp::max), value) << "ranks have different figures";
      }
    }
  }
}
ISOTHERM_ON_EACH_BACKEND(HidingOfHalos);

}  // namespace
}  // namespace isotherm
