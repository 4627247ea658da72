// What diagnostics can know of a deck, where bins lie, how a balance closes, when a line is due.
#include "physics/diagnostics.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "solver/schedule.hpp"
#include "support/decks.hpp"

namespace isotherm {
namespace {

TEST(Diagnostics, KnowsWhatTheMaterialSays) {
  Config config = decks::base({4, 5, 6});  // transient, k, rho and c
  DiagnosticsPlan plan = plan_diagnostics(config);
  const double volume = 0.3 / 4 * (0.2 / 5) * (0.25 / 6);
  EXPECT_DOUBLE_EQ(*plan.heat_capacity, 7800 * 500.0 * volume);
  EXPECT_TRUE(plan.flows && plan.rate);
  EXPECT_DOUBLE_EQ(plan.conductance[2], 15 * (0.3 / 4) * (0.25 / 6) / (0.2 / 5));
  config.boundaries[4].kind = config.boundaries[5].kind = WallKind::periodic;
  EXPECT_EQ(plan_diagnostics(config).walls,
            (std::array<bool, face_count>{true, true, true, true, false, false}));

  config.material = {};
  config.material.diffusivity = 1e-5;
  plan = plan_diagnostics(config);
  EXPECT_FALSE(plan.heat_capacity || plan.flows || plan.rate);
  config.material.conductivity = 15;
  EXPECT_DOUBLE_EQ(*plan_diagnostics(config).heat_capacity, 15 / 1e-5 * volume);

  config = decks::steady({4, 5, 6});
  config.material = {};
  EXPECT_FALSE(plan_diagnostics(config).flows);
  config.material.conductivity = 15;
  plan = plan_diagnostics(config);
  EXPECT_TRUE(plan.flows && !plan.rate && !plan.heat_capacity);
}

TEST(Diagnostics, BinsCoverWhatIsKnownBeforeTheFirstSweep) {
  Config config = decks::base({4, 5, 6});
  config.output.histogram.bins = 8;
  config.boundaries[0] = {WallKind::temperature, Expression(250.0), 0};
  config.boundaries[1] = {WallKind::convection, Expression(410.0), 3};
  config.boundaries[2] = {WallKind::temperature, Expression("1000*x", "xzt"), 0};  // no number
  config.boundaries[3] = {WallKind::flux, Expression(5000.0), 0};                  // no temperature
  Bins bins = choose_bins(config, 290, 320);
  EXPECT_EQ(bins.low, 250);
  EXPECT_EQ(bins.high, 410);
  EXPECT_EQ(bins.edge(1), 270);
  config.output.histogram.range = Interval{300, 308};
  bins = choose_bins(config, 290, 320);
  EXPECT_EQ(bins.low, 300);
  EXPECT_EQ(bins.edge(8), 308);

  config = decks::base({4, 5, 6});
  config.output.histogram.bins = 4096;
  for (const double uniform : {300.0, 0.0, -1e12, 1e12, 1e-310}) {
    bins = choose_bins(config, uniform, uniform);
    EXPECT_LT(bins.low, uniform);
    EXPECT_GT(bins.high, uniform);
    for (int i = 0; i < bins.count; ++i) ASSERT_LT(bins.edge(i), bins.edge(i + 1)) << uniform;
  }
}

TEST(Diagnostics, BalanceIsWhatIsNotAccountedFor) {
  HeatFlows flows;
  flows.walls = {5, -3, 0, 0, 1, 0};
  flows.source = 2;
  flows.rate = 4;
  close_balance(flows);
  EXPECT_EQ(flows.balance, 1);
  EXPECT_EQ(flows.relative_balance, 1.0 / 15);
  flows = {};
  close_balance(flows);
  EXPECT_EQ(flows.relative_balance, 0);
  flows.rate = std::nan("");
  close_balance(flows);
  EXPECT_TRUE(std::isnan(flows.balance) && std::isnan(flows.relative_balance));
}

TEST(Diagnostics, AreDueAtBothEndsAndEverySoManySweeps) {
  Config config = decks::base({4, 5, 6});  // 100 steps
  config.problem.check_interval = 40;
  config.output.diagnostics = 30;
  const Schedule schedule(config);
  std::vector<std::int64_t> due, stops;
  for (std::int64_t sweep = 0; sweep <= 100; ++sweep) {
    if (schedule.diagnostics_due(sweep)) due.push_back(sweep);
  }
  for (std::int64_t at = 0; at < 100; stops.push_back(at)) at = schedule.next_after(at);
  EXPECT_EQ(due, (std::vector<std::int64_t>{0, 30, 60, 90, 100}));
  EXPECT_EQ(stops, (std::vector<std::int64_t>{1, 30, 40, 60, 80, 90, 100}));
  config.output.diagnostics.reset();
  EXPECT_FALSE(Schedule(config).diagnostics_due(0) || Schedule(config).diagnostics_due(100));
}

TEST(Schedule, ACheckLagsWhereNothingElseWaitsForTheField) {
  Config config = decks::base({4, 5, 6});  // 100 steps
  config.problem.check_interval = 10;
  config.output.diagnostics = 40;
  config.output.every_steps = 30;
  const auto asynchronous = [&] {
    const Schedule schedule(config);
    std::vector<std::int64_t> sweeps;
    for (std::int64_t sweep = 1; sweep <= 100; ++sweep) {
      if (schedule.check_due(sweep) && schedule.check_may_lag(sweep)) sweeps.push_back(sweep);
    }
    return sweeps;
  };
  EXPECT_EQ(asynchronous(), std::vector<std::int64_t>{});
  config.problem.check = Check::asynchronous;
  EXPECT_EQ(asynchronous(), (std::vector<std::int64_t>{1, 10, 20, 50, 70}));
}

}  // namespace
}  // namespace isotherm
