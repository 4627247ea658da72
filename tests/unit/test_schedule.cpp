// When outputs are due, alone and together; when a run ends; what the sweeps of a period cover.
#include "solver/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "solver/kernel_choice.hpp"
#include "solver/residual_check.hpp"
#include "support/decks.hpp"

namespace isotherm {
namespace {

using Sweeps = std::vector<std::int64_t>;

// Sweeps at which something is due, walked as a run walks them.
template <class Due>
Sweeps walk(const Schedule& schedule, const Due& due) {
  Sweeps sweeps;
  for (std::int64_t sweep = 0;; sweep = schedule.next_after(sweep)) {
    if (due(sweep)) sweeps.push_back(sweep);
    if (sweep == schedule.last()) return sweeps;
  }
}

Config config_of(std::int64_t steps, std::int64_t check_interval = 1000) {
  Config config = decks::base({8, 9, 10});
  config.problem.steps = steps;
  config.problem.check_interval = check_interval;
  return config;
}

TEST(Schedule, EveryOutputHasItsOwnInterval) {
  Config config = config_of(20);
  config.output.every_steps = 8;
  SliceConfig slice;
  slice.cell = 2;
  slice.times.every_steps = 3;
  config.output.slices = {slice, slice};
  config.output.slices[1].axis = 0;
  config.output.slices[1].times = {};
  config.output.coarse.factor = Int3{2, 3, 5};
  config.output.coarse.times.every_steps = 6;
  config.output.probes.points = {{"a", {}}};
  config.output.probes.times.every_steps = 10;
  const Schedule schedule(config);
  const auto part = [&](std::size_t i) {
    return walk(schedule, [&, i](std::int64_t sweep) { return schedule.part_due(i, sweep); });
  };
  EXPECT_EQ(walk(schedule, [](std::int64_t) { return true; }),
            (Sweeps{0, 1, 3, 6, 8, 9, 10, 12, 15, 16, 18, 20}));
  EXPECT_EQ(walk(schedule, [&](std::int64_t sweep) { return schedule.snapshot_due(sweep); }),
            (Sweeps{0, 8, 16}));
  EXPECT_EQ(part(0), (Sweeps{0, 3, 6, 9, 12, 15, 18}));
  EXPECT_EQ(part(1), (Sweeps{}));  // the last state only, wherever the run ends
  EXPECT_EQ(part(2), (Sweeps{0, 6, 12, 18}));
  EXPECT_EQ(walk(schedule, [&](std::int64_t sweep) { return schedule.probes_due(sweep); }),
            (Sweeps{0, 10, 20}));
  EXPECT_EQ(schedule.snapshots(), 4);
  EXPECT_EQ(schedule.files_of(0), 8);
  EXPECT_EQ(schedule.files_of(1), 1);
  EXPECT_EQ(schedule.files_of(2), 5);
  EXPECT_EQ(schedule.probe_lines(), 3);
}

// An interval that is a whole number of steps but for rounding, one that is none, and one below a step: never
// two in one sweep, none forgotten, and as many as are foretold.
TEST(Schedule, IntervalsInTimeFallOnTheNextStep) {
  Config config = config_of(1000);
  config.problem.dt = 1e-3;
  const auto due_of = [&](double every) {
    config.output.probes.points = {{"a", {}}};
    config.output.probes.times.every_time = every;
    const Schedule schedule(config);
    auto sweeps = walk(schedule, [&](std::int64_t sweep) { return schedule.probes_due(sweep); });
    const auto lines = std::ssize(sweeps) + (sweeps.back() == schedule.last() ? 0 : 1);
    EXPECT_EQ(schedule.probe_lines(), lines) << every;
    return sweeps;
  };
  const auto tenths = due_of(0.1);
  ASSERT_EQ(tenths.size(), 11u);
  for (std::size_t i = 0; i < tenths.size(); ++i) EXPECT_EQ(tenths[i], 100 * static_cast<std::int64_t>(i));
  const auto odd = due_of(0.0703);
  ASSERT_EQ(odd.size(), 15u);
  EXPECT_EQ(odd[1], 71);
  EXPECT_EQ(odd[2], 141);
  EXPECT_EQ(odd[14], 985);
  EXPECT_EQ(due_of(1e-5).size(), 1001u);
}

TEST(Schedule, ACheckLagsWhereNothingElseWaitsForTheField) {
  Config config = config_of(100, 10);
  config.output.diagnostics = 40;
  config.output.every_steps = 30;
  config.output.coarse.factor = Int3{1, 1, 1};
  config.output.coarse.times.every_steps = 50;
  config.output.probes.points = {{"a", {}}};
  config.output.probes.times.every_steps = 70;
  const auto asynchronous = [&] {
    const Schedule schedule(config);
    return walk(schedule,
                [&](std::int64_t s) { return schedule.check_due(s) && schedule.check_is_asynchronous(s); });
  };
  EXPECT_EQ(asynchronous(), Sweeps{});
  config.problem.check = Check::asynchronous;
  EXPECT_EQ(asynchronous(), (Sweeps{1, 10, 20}));
  config.output.checkpoint.every_steps = 10;  // or a run without them would end at another sweep
  EXPECT_EQ(asynchronous(), (Sweeps{1, 10, 20}));
}

TEST(Schedule, StopsWhereDiagnosticsOrACheckpointAreDue) {
  Config config = config_of(100, 40);
  const auto stops = [&] { return walk(Schedule(config), [](std::int64_t) { return true; }); };
  config.output.checkpoint.every_steps = 30;
  Schedule schedule(config);
  EXPECT_EQ(walk(schedule, [&](std::int64_t s) { return schedule.checkpoint_due(s); }), (Sweeps{30, 60, 90}));
  EXPECT_EQ(stops(), (Sweeps{0, 1, 30, 40, 60, 80, 90, 100}));
  EXPECT_EQ(schedule.checkpoints(), 3);
  config.output.checkpoint.write = false;
  EXPECT_EQ(stops(), (Sweeps{0, 1, 40, 80, 100}));
  EXPECT_EQ(Schedule(config).checkpoints(), 0);
  EXPECT_FALSE(Schedule(config).diagnostics_due(0) || Schedule(config).diagnostics_due(100));
  config.output.diagnostics = 30;
  schedule = Schedule(config);
  EXPECT_EQ(walk(schedule, [&](std::int64_t s) { return schedule.diagnostics_due(s); }),
            (Sweeps{0, 30, 60, 90, 100}));
  EXPECT_EQ(stops(), (Sweeps{0, 1, 30, 40, 60, 80, 90, 100}));
}

TEST(Schedule, ASteadyRunIsLikelyToNeedWhatItsSlowestModeNeeds) {
  Config config = config_of(100);
  EXPECT_EQ(likely_sweeps(config), 100);
  config.problem = {};
  config.problem.kind = ProblemKind::steady;
  config.grid.cells = {16, 16, 16};
  for (BoundaryConfig& wall : config.boundaries) wall.kind = BoundaryKind::temperature;
  EXPECT_EQ(likely_sweeps(config), 720);  // ln(1e6) over 0.99 (1 - cos(pi/16)), of which the logarithm
  config.problem.max_sweeps = 500;
  EXPECT_EQ(likely_sweeps(config), 500);
  config.problem.criterion = Criterion::absolute;  // from which first residual is not known
  config.problem.max_sweeps = 1000;
  EXPECT_EQ(likely_sweeps(config), 1000);
}

TEST(Schedule, ARunOfNoStepsWritesOneState) {
  Config config = config_of(0);
  config.output.every_steps = 3;
  config.output.coarse.factor = Int3{1, 1, 1};
  config.output.coarse.times.every_time = 3;
  const Schedule schedule(config);
  EXPECT_EQ(schedule.snapshots(), 1);
  EXPECT_EQ(schedule.files_of(0), 1);
}

// When a steady problem has come to rest, and when it comes no further.

ProblemConfig steady(Criterion criterion, double tolerance) {
  ProblemConfig problem;
  problem.kind = ProblemKind::steady;
  problem.criterion = criterion;
  problem.tolerance = tolerance;
  return problem;
}

TEST(Convergence, IsAResidualAtATolerance) {
  const struct {
    Criterion criterion;
    double tolerance, first, last;
    bool converged;
  } cases[] = {{Criterion::relative, 0.25, 8, 2, true}, {Criterion::relative, 0.25, 8, 2.5, false},
               {Criterion::absolute, 2, 8, 2, true},    {Criterion::absolute, 2, 8, 2.5, false},
               {Criterion::relative, 0.25, 0, 0, true}, {Criterion::relative, 0, 8, 0, false},
               {Criterion::absolute, 0, 8, 0, false},   {Criterion::relative, 0, 0, 0, false},
               {Criterion::absolute, 0, 0, 0, false}};
  for (const auto& c : cases) {
    ProblemConfig problem = steady(c.criterion, c.tolerance);
    EXPECT_EQ(has_converged(problem, c.first, c.last), c.converged) << c.tolerance << " " << c.last;
    problem.kind = ProblemKind::transient;
    EXPECT_FALSE(has_converged(problem, c.first, c.last));
  }
}

constexpr double decay = 1e-4;  // a tenth in 23026 sweeps

ProblemConfig checked_every_hundred() {
  return steady(Criterion::relative, 1e-12);
}

TEST(Stagnation, IsWhereNoLowerResidualCameWhileTheSlowestModeFellToATenth) {
  Stagnation stagnation(checked_every_hundred(), decay, 100);
  EXPECT_FALSE(stagnation.reached(0));
  stagnation.checked(100, 2e-5);
  for (std::int64_t sweep = 200; sweep <= 23100; sweep += 100) {
    stagnation.checked(sweep, sweep % 300 == 0 ? 1.6e-5 : 4e-5);  // hardly lower is no progress
    EXPECT_FALSE(stagnation.reached(sweep));
  }
  EXPECT_TRUE(stagnation.reached(23200));
  stagnation.checked(23200, 1e-5);
  EXPECT_FALSE(stagnation.reached(23200));
}

// The slowest that a residual can fall: as constant as heat that has not reached the boundaries, then by the
// slowest mode alone.
TEST(Stagnation, IsNotWhatFallsSlowly) {
  Stagnation stagnation(checked_every_hundred(), decay, 100);
  for (std::int64_t sweep = 1; sweep < 1'000'000; sweep += 100) {
    const double falling = 2 * std::exp(-decay * static_cast<double>(sweep));
    stagnation.checked(sweep, std::min(1.0, falling));
    ASSERT_FALSE(stagnation.reached(sweep)) << sweep;
  }
}

TEST(Stagnation, IsNotToldBySomeChecksOfASmallGrid) {
  Stagnation stagnation(checked_every_hundred(), 0.5, 100);  // a tenth in 5 sweeps
  stagnation.checked(100, 1);
  EXPECT_FALSE(stagnation.reached(300));
  EXPECT_TRUE(stagnation.reached(400));
}

TEST(Stagnation, IsNeverWithoutAToleranceOrADecay) {
  for (const auto& [tolerance, slowest] : {std::pair{0.0, decay}, {1e-6, 0.0}}) {
    Stagnation stagnation(steady(Criterion::absolute, tolerance), slowest, 100);
    stagnation.checked(1, 1);
    EXPECT_FALSE(stagnation.reached(std::int64_t{1} << 60));
  }
}

TEST(Stagnation, GoesOnFromACheckpoint) {
  Stagnation stagnation(checked_every_hundred(), decay, 100);
  stagnation.go_on_from({1e-5, 1000});
  stagnation.checked(20000, 1e-5);
  EXPECT_FALSE(stagnation.reached(24000));
  EXPECT_TRUE(stagnation.reached(24100));
}

// When something comes again, and what of it a schedule takes.

// What is due is what is next, and as often as is counted.
void expect_consistent(const Recurrence& recurrence, std::int64_t last) {
  std::int64_t count = 0;
  for (std::int64_t sweep = 1; sweep < last; ++sweep) {
    EXPECT_EQ(recurrence.due(sweep), recurrence.next_after(sweep - 1) == sweep) << sweep;
    count += recurrence.due(sweep);
  }
  EXPECT_EQ(recurrence.count_before(last), count);
}

TEST(Recurrence, DueNextAndCountAgree) {
  for (const std::int64_t steps : {1, 2, 7, 99, 100, 1000}) expect_consistent({steps, {}, 0.1}, 100);
  for (const double time : {0.01, 0.1, 0.25, 0.3, 1.0, 9.95, 10.0, 1e3})
    expect_consistent({{}, time, 0.1}, 100);
}

TEST(Recurrence, NeverIsNever) {
  for (const Recurrence& never : {Recurrence(), Recurrence({}, 1e17, 1e-11), Recurrence({}, 1e300, 1e-11)}) {
    EXPECT_FALSE(never.due(1) || never.due(100));
    EXPECT_EQ(never.next_after(0), Recurrence::never);
    EXPECT_EQ(never.count_before(1'000'000'000), 0);
  }
}

TEST(Recurrence, ATimeBelongsToTheFirstStepThatReachesIt) {
  const Recurrence often({}, 0.3, 0.1), between({}, 0.25, 0.1);
  EXPECT_EQ(often.next_after(0), 3);  // 0.1 + 0.1 + 0.1 is not 0.3
  EXPECT_EQ(often.next_after(3), 6);
  EXPECT_EQ(between.next_after(0), 3);
  EXPECT_EQ(between.next_after(3), 5);
}

// What the sweeps of a period cover is what the sweeps behind them read.

// Each face in turn a boundary, this rank's own cells, or another rank's: 3^6 blocks.
GhostSides sides_of(int code) {
  GhostSides sides;
  for (std::size_t f = 0; f < face_count; ++f, code /= 3) {
    sides.filled[f] = code % 3 > 0;
    sides.remote[f] = code % 3 == 2;
  }
  return sides;
}

bool within(Box inner, Box outer) {
  for (int axis = 0; axis < 3; ++axis)
    if (inner.lo[axis] < outer.lo[axis] || inner.hi[axis] > outer.hi[axis]) return false;
  return true;
}

// `box` with one layer beyond each boundary, which the boundary rule fills for whatever is swept, and no
// more.
Box with_boundaries(Box box, Int3 extent, const GhostSides& sides) {
  for (int f = 0; f < face_count; ++f) {
    if (sides.filled[static_cast<std::size_t>(f)]) continue;
    f % 2 == 1 ? box.hi[f / 2] = extent[f / 2] + 1 : box.lo[f / 2] = -1;
  }
  return box;
}
// What sweeps of a region read: so many layers more.
Box read_by(Box region, Index sweeps, Int3 extent, const GhostSides& sides) {
  const Int3 by{sweeps, sweeps, sweeps};
  return with_boundaries({region.lo - by, region.hi + by}, extent, sides);
}

const std::vector<Fusing> time_blocks_to_try = {{1}, {2}, {3}, {4}, {8}, {1, true}, {3, true}, {8, true}};

// A launch reads as many cells around its region as it fuses sweeps.
TEST(Period, EveryLaunchReadsWhatIsThere) {
  const Int3 extent{5, 6, 7};
  const Box subdomain{{0, 0, 0}, extent};
  for (int code = 0; code < 729; ++code) {
    const GhostSides sides = sides_of(code);
    for (const int depth : {1, 2, 3, 5}) {
      for (const Fusing& fusing : time_blocks_to_try) {
        Box valid = widened_subdomain(extent, sides.filled, depth);
        int taken = 0;
        for (const PeriodLaunch& launch : launches_of_period(extent, sides, depth, fusing)) {
          const Box read = read_by(launch.region, launch.sweeps, extent, sides);
          EXPECT_TRUE(within(read, with_boundaries(valid, extent, sides))) << "sides " << code;
          EXPECT_TRUE(within(subdomain, launch.region));
          EXPECT_LE(launch.sweeps, fusing.most);
          valid = launch.region;
          taken += launch.sweeps;
        }
        EXPECT_EQ(taken, depth);
        EXPECT_EQ(valid, subdomain);
      }
    }
  }
}

// As the first of a period: the interior reads only what is at hand before the exchange, and no boundary's
// ghost that was not filled from there.
TEST(Period, TheInteriorReadsWhatIsAtHand) {
  const Int3 extent{5, 6, 7};
  for (int code = 0; code < 729; ++code) {
    const GhostSides sides = sides_of(code);
    for (int most = 1; most <= 3; ++most) {
      const PeriodLaunch first = launches_of_period(extent, sides, 3, {most}).front();
      Box filled{{0, 0, 0}, extent};  // by this rank alone
      for (int f = 0; f < face_count; ++f) {
        const auto face = static_cast<std::size_t>(f);
        if (!sides.filled[face] || sides.remote[face]) continue;
        f % 2 == 1 ? filled.hi[f / 2] += 3 : filled.lo[f / 2] -= 3;
      }
      EXPECT_TRUE(within(first.available, filled) && within(first.available, first.region));
      EXPECT_TRUE(first.interior.empty() || within(first.interior, first.available));
      const Box read = read_by(first.interior, most, extent, sides);
      EXPECT_TRUE(first.interior.empty() || within(read, with_boundaries(filled, extent, sides))) << code;
    }
  }
}

TEST(Period, LaunchesFuseAsManySweepsAsMayBe) {
  using Launches = std::vector<int>;
  EXPECT_EQ(launch_sizes(8, {4}), (Launches{4, 4}));
  EXPECT_EQ(launch_sizes(7, {3}), (Launches{3, 3, 1}));
  EXPECT_EQ(launch_sizes(2, {8}), (Launches{2}));
  EXPECT_EQ(launch_sizes(0, {4}), Launches{});
  // Something looks at the last update: both fields of it are there.
  EXPECT_EQ(launch_sizes(8, {4, true}), (Launches{4, 3, 1}));
  EXPECT_EQ(launch_sizes(5, {4, true}), (Launches{4, 1}));
  EXPECT_EQ(launch_sizes(1, {4, true}), (Launches{1}));
  EXPECT_EQ(launch_sizes(3, {1, true}), (Launches{1, 1, 1}));
}

TEST(Period, AGraphHoldsWholePeriodsAndAnEvenNumberOfLaunches) {
  for (int depth = 1; depth <= 64; ++depth) {
    for (const int fused : {1, 2, 3, 4, 8}) {
      const std::int64_t sweeps = sweeps_of_a_graph(depth, fused);
      EXPECT_EQ(sweeps % depth, 0);
      EXPECT_EQ(sweeps / depth * std::ssize(launch_sizes(depth, {fused})) % 2, 0);
      EXPECT_GE(sweeps, 16);
      EXPECT_LT(sweeps, 16 + 2 * depth);
    }
  }
  EXPECT_EQ(sweeps_of_a_graph(1), 16);
  EXPECT_EQ(sweeps_of_a_graph(3), 18);
  EXPECT_EQ(sweeps_of_a_graph(4, 4), 16);
  EXPECT_EQ(sweeps_of_a_graph(6, 4), 18);
  EXPECT_EQ(even_periods(1, 4, 4), 8);
  EXPECT_EQ(even_periods(1, 4, 2), 4);
}

TEST(Period, PartsEndWithAPeriodOrWithAll) {
  EXPECT_EQ(whole_periods(7, 100, 4), 4);
  EXPECT_EQ(whole_periods(8, 100, 4), 8);
  EXPECT_EQ(whole_periods(0, 100, 4), 4);  // at least one
  EXPECT_EQ(whole_periods(0, 3, 4), 3);
  EXPECT_EQ(whole_periods(1000, 10, 4), 10);
  EXPECT_EQ(whole_periods(7, 100, 1), 7);
}

}  // namespace
}  // namespace isotherm
