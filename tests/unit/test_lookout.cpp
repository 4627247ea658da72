// When ranks look up from their sweeps, when the clock stops them, and what a signal leaves.
#include "solver/schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <vector>

#include "app/wall_limit.hpp"
#include "core/signals.hpp"

namespace isotherm {
namespace {

// Sweeps of `seconds` each, in parts of `unit`: the ways between the first looks.
std::vector<std::int64_t> ways(double seconds, std::int64_t unit, int looks) {
  Lookout lookout(100, unit);
  std::vector<std::int64_t> all;
  for (std::int64_t at = 100; std::ssize(all) < looks;) {
    all.push_back(lookout.next() - at);
    at = lookout.next();
    lookout.looked(at, seconds * static_cast<double>(all.back()));
  }
  return all;
}

TEST(Lookout, DoublesItsWayUntilItTakesAQuarterOfASecond) {
  EXPECT_EQ(ways(0.01, 1, 8), (std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 32, 32}));
  EXPECT_EQ(ways(0.01, 6, 5), (std::vector<std::int64_t>{6, 12, 24, 48, 48}));
}

TEST(Lookout, NeverPartsAUnit) {
  EXPECT_EQ(ways(30, 16, 4), (std::vector<std::int64_t>{16, 16, 16, 16}));
}

TEST(Lookout, FindsBackWhereSweepsGetSlower) {
  Lookout lookout(0, 1);
  for (int i = 0; i < 20; ++i) lookout.looked(0, 0.001);
  EXPECT_EQ(lookout.next(), 1 << 20);
  for (int i = 0; i < 18; ++i) lookout.looked(0, 5);
  EXPECT_EQ(lookout.next(), 4);
}

TEST(WallLimit, LeavesTimeForTwoWritesAndSomeMore) {
  EXPECT_EQ(WallLimit{.seconds = 50}.latest_stop(0), 49);
  EXPECT_EQ(WallLimit{.seconds = 3600}.latest_stop(10), 3600 - 20 - 36);
  EXPECT_EQ(WallLimit{.seconds = 86400}.latest_stop(100), 86400 - 200 - 60);
  EXPECT_TRUE(std::isinf(WallLimit{}.latest_stop(100)));
  EXPECT_EQ((WallLimit{.seconds = 50, .source = "a"}.time_to_judge()), 5);
  EXPECT_EQ((WallLimit{.seconds = 86400, .source = "a"}.time_to_judge()), 60);
  EXPECT_TRUE(std::isinf(WallLimit{}.time_to_judge()));
  EXPECT_LT(WallLimit{.seconds = 10}.latest_stop(10), 0);  // no time at all
}

TEST(Signals, HaveNames) {
  EXPECT_EQ(signal_name(SIGUSR1), "SIGUSR1");
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
}

TEST(Signals, TheFirstIsNotedAndForgottenAtTheNextStart) {
  note_stop_signals();
  EXPECT_EQ(noted_stop_signal(), 0);
  std::raise(SIGUSR2);
  EXPECT_EQ(noted_stop_signal(), SIGUSR2);
  std::raise(SIGUSR1);  // the same request
  EXPECT_EQ(noted_stop_signal(), SIGUSR2);
  note_stop_signals();
  EXPECT_EQ(noted_stop_signal(), 0);
}

}  // namespace
}  // namespace isotherm
