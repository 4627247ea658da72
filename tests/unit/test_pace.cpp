#include "output/console/progress.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace isotherm {
namespace {

// A second a look.
void sweep_on(Pace& pace, std::int64_t& sweep, double& second, int looks, std::int64_t sweeps_a_look) {
  for (int i = 0; i < looks; ++i) pace.reached(sweep += sweeps_a_look, second += 1);
}

TEST(Pace, TellsTheEndOfARunOfDaysAtItsBeginning) {
  Pace pace;
  pace.reached(0, 3.0);
  EXPECT_FALSE(pace.sweeps_a_second());
  EXPECT_EQ(eta_text(pace.forecast(10'000'000, {})), "unknown");
  pace.reached(10, 3.1);
  EXPECT_EQ(eta_text(pace.forecast(10'000'000, {})), "unknown");  // too little was seen
  pace.reached(100, 4.0);
  EXPECT_DOUBLE_EQ(*pace.sweeps_a_second(), 100);
  EXPECT_EQ(eta_text(pace.forecast(10'000'000, {})), "1 d 03 h");
  EXPECT_EQ(eta_text(pace.forecast(100 + 3'723 * 100, {})), "1 h 02 min");
  EXPECT_EQ(eta_text(pace.forecast(100, {})), "0 s");
}

TEST(Pace, OfARestartedRunKnowsNothingOfThePartBefore) {
  Pace pace;
  pace.reached(900'000, 0);
  pace.reached(900'010, 1);
  EXPECT_EQ(eta_text(pace.forecast(1'000'000, {})), "2 h 46 min");
}

TEST(Pace, ForgetsInMinutes) {
  Pace pace;
  std::int64_t sweep = 0;
  double second = 0;
  pace.reached(sweep, second);
  sweep_on(pace, sweep, second, 36'000, 100);  // ten hours
  EXPECT_NEAR(*pace.sweeps_a_second(), 100, 1e-9);
  sweep_on(pace, sweep, second, 600, 50);  // since then beside another job
  EXPECT_NEAR(*pace.sweeps_a_second(), 50, 1);
  EXPECT_NEAR(*pace.forecast(sweep + 50'000, {}).seconds, 1000, 20);
}

// Of the slowest mode a factor a sweep is left; the modes before it were quicker.
TEST(Pace, SteadyRunEndsWhereItsResidualMeetsTheTolerance) {
  Pace pace;
  const auto residual = [](std::int64_t sweep) {
    return std::exp(-1e-3 * static_cast<double>(sweep)) + 50 * std::exp(-1e-1 * static_cast<double>(sweep));
  };
  pace.reached(0, 0);
  EXPECT_EQ(eta_text(pace.forecast(100'000, 1e-6)), "unknown");
  pace.checked(1, residual(1));
  pace.reached(100, 1);
  EXPECT_EQ(eta_text(pace.forecast(100'000, 1e-6)), "unknown, < 16 min 39 s");
  for (std::int64_t sweep = 100; sweep <= 4000; sweep += 100) {
    pace.checked(sweep, residual(sweep));
    pace.reached(sweep, static_cast<double>(sweep) / 100);
  }
  const double expected = (std::log(1e6) / 1e-3 - 4000) / 100;
  EXPECT_NEAR(*pace.forecast(100'000, 1e-6).seconds, expected, 0.05 * expected);
  EXPECT_FALSE(pace.forecast(100'000, 1e-6).misses_tolerance);
  EXPECT_EQ(eta_text(pace.forecast(10'000, 1e-6)), "1 min 00 s, unconverged");
  EXPECT_EQ(eta_text(pace.forecast(10'000, 0.0)), "unknown, < 1 min 00 s");
}

// A step at a boundary: the residual falls as one over the sweeps for long, and by its slowest mode in the
// end.
TEST(Pace, IsHonestFromItsFirstFigureWhereTheSlowestModeIsKnown) {
  const double slowest = 1e-5;
  const auto residual = [&](std::int64_t sweep) {
    const double n = static_cast<double>(sweep);
    return n * slowest < 1 ? 1 / n : slowest * std::exp(1 - slowest * n);
  };
  const double end = 1e5 * (1 + std::log(10.0));  // where it is 1e-6
  Pace pace(slowest), ignorant;
  pace.checked(1, residual(1));
  pace.reached(0, 0);
  pace.reached(100, 1);
  EXPECT_FALSE(pace.forecast(100'000'000, 1e-6).seconds);  // one residual tells no decay, but the most
  EXPECT_NEAR(*pace.forecast(100'000'000, 1e-6).most, std::log(1e6) / slowest / 100, 2);
  ignorant.checked(1, residual(1));
  ignorant.reached(0, 0);
  for (std::int64_t sweep = 100; sweep < 300'000; sweep += 100) {
    for (Pace* each : {&pace, &ignorant}) {
      each->checked(sweep, residual(sweep));
      each->reached(sweep, static_cast<double>(sweep) / 100);
    }
    const double left = (end - static_cast<double>(sweep)) / 100;
    const Forecast forecast = pace.forecast(100'000'000, 1e-6);
    ASSERT_GT(*forecast.seconds, 0.9 * left) << sweep;
    ASSERT_LT(*forecast.seconds, 1.1 * left) << sweep;
    if (sweep == 100) {
      EXPECT_LT(*ignorant.forecast(100'000'000, 1e-6).seconds, 0.01 * left);
    }
  }
}

TEST(Pace, ResidualThatDoesNotFallTellsNoEnd) {
  Pace pace;
  pace.reached(0, 0);
  for (const auto& [sweep, residual] : {std::pair{100, 1.0}, {200, 1.0}, {300, 1.5}, {300, 1e-9}})
    pace.checked(sweep, residual);  // the last once more, which is no news
  pace.reached(300, 3);
  EXPECT_EQ(eta_text(pace.forecast(600, 1e-6)), "unknown, < 3.00 s");
  pace.checked(400, 0);
  pace.checked(500, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(eta_text(pace.forecast(600, 1e-6)), "unknown, < 3.00 s");
}

TEST(Pace, AClockThatStandsStillDividesByNothing) {
  Pace pace;
  for (int sweep = 0; sweep < 5; ++sweep) pace.reached(sweep, 7);
  EXPECT_FALSE(pace.sweeps_a_second());
  EXPECT_EQ(eta_text(pace.forecast(10, {})), "unknown");
}

}  // namespace
}  // namespace isotherm
