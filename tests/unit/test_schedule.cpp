// When outputs are due, alone and together.
#include "solver/schedule.hpp"

#include <gtest/gtest.h>

#include "support/decks.hpp"

namespace isotherm {
namespace {

// Sweeps at which something is due, walked as a run walks them.
template <class Due>
std::vector<std::int64_t> walk(const Schedule& schedule, const Due& due) {
  std::vector<std::int64_t> sweeps;
  for (std::int64_t sweep = 0;; sweep = schedule.next_after(sweep)) {
    if (due(sweep)) sweeps.push_back(sweep);
    if (sweep == schedule.last()) return sweeps;
  }
}

Config config_of(std::int64_t steps) {
  Config config = decks::base({8, 9, 10});
  config.problem.steps = steps;
  config.problem.check_interval = 1000;
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
  using Sweeps = std::vector<std::int64_t>;
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

TEST(Schedule, ACheckDoesNotLagWhereAnyFileIsDue) {
  Config config = config_of(100);
  config.problem.check = Check::asynchronous;
  config.problem.check_interval = 10;
  config.output.coarse.factor = Int3{1, 1, 1};
  config.output.coarse.times.every_steps = 20;
  config.output.probes.points = {{"a", {}}};
  config.output.probes.times.every_steps = 30;
  const Schedule schedule(config);
  EXPECT_TRUE(schedule.check_may_lag(10));
  EXPECT_FALSE(schedule.check_may_lag(20));
  EXPECT_FALSE(schedule.check_may_lag(30));
  EXPECT_TRUE(schedule.check_may_lag(50));
  EXPECT_FALSE(schedule.check_may_lag(100));
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

}  // namespace
}  // namespace isotherm
