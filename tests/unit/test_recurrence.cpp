// When something comes again, and what of it a schedule takes.
#include "solver/schedule.hpp"

#include <gtest/gtest.h>

#include "support/decks.hpp"

namespace isotherm {
namespace {

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

TEST(Recurrence, ATimeBeyondAllStepsIsNever) {
  for (const double time : {1e17, 1e300}) {
    const Recurrence seldom({}, time, 1e-11);
    EXPECT_EQ(seldom.next_after(0), Recurrence::never);
    EXPECT_EQ(seldom.count_before(1'000'000'000), 0);
  }
}

TEST(Recurrence, ATimeBelongsToTheFirstStepThatReachesIt) {
  const Recurrence often({}, 0.3, 0.1), between({}, 0.25, 0.1);
  EXPECT_EQ(often.next_after(0), 3);  // 0.1 + 0.1 + 0.1 is not 0.3
  EXPECT_EQ(often.next_after(3), 6);
  EXPECT_EQ(between.next_after(0), 3);
  EXPECT_EQ(between.next_after(3), 5);
}

TEST(Recurrence, NeverIsNever) {
  const Recurrence never;
  EXPECT_FALSE(never.recurs() || never.due(1) || never.due(100));
  EXPECT_EQ(never.next_after(5), Recurrence::never);
  EXPECT_EQ(never.count_before(1000), 0);
}

TEST(Schedule, StopsWhereACheckpointIsDue) {
  Config config = decks::base({4, 5, 6});  // 100 steps
  config.problem.check_interval = 40;
  config.output.checkpoint.every_steps = 30;
  const Schedule schedule(config);
  std::vector<std::int64_t> stops, due;
  for (std::int64_t at = 0; at < 100; stops.push_back(at)) at = schedule.next_after(at);
  for (std::int64_t sweep = 0; sweep <= 100; ++sweep)
    if (schedule.checkpoint_due(sweep)) due.push_back(sweep);
  EXPECT_EQ(stops, (std::vector<std::int64_t>{1, 30, 40, 60, 80, 90, 100}));
  EXPECT_EQ(due, (std::vector<std::int64_t>{30, 60, 90}));
  EXPECT_EQ(schedule.checkpoints(), 3);
  config.output.checkpoint.write = false;
  EXPECT_EQ(Schedule(config).next_after(1), 40);
  EXPECT_EQ(Schedule(config).checkpoints(), 0);
}

// Or a run without checkpoints would end at another sweep than one that has some.
TEST(Schedule, ACheckpointLeavesLaggedChecksAsTheyAre) {
  Config config = decks::base({4, 5, 6});
  config.problem.check_interval = 10;
  config.problem.check = Check::asynchronous;
  config.output.checkpoint.every_steps = 10;
  EXPECT_TRUE(Schedule(config).check_may_lag(10));
}

}  // namespace
}  // namespace isotherm
