// Who looks at the clock: the watchdog of files, ranks that look up from their sweeps, limits and signals.
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

#include "app/loop_progress.hpp"
#include "core/error.hpp"
#include "core/signals.hpp"
#include "core/watchdog.hpp"
#include "solver/schedule.hpp"
#include "support/error_text.hpp"
#include "support/moved_clock.hpp"

namespace isotherm {
namespace {

using Seconds = Watchdog::Seconds;

void stall(Seconds limit, Seconds time) {
  Watchdog watchdog(limit, "run/T.hdf.part", 3);
  watchdog.phase("writing cells");
  std::this_thread::sleep_for(time);
}

TEST(WatchdogDeathTest, AStallEndsTheProcessWithItsPhaseAndPlace) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(stall(Seconds(0.1), Seconds(10000)), testing::ExitedWithCode(74),
              "^rank 3: run/T.hdf.part: writing cells did not finish within 0.1 s");
}

TEST(Watchdog, EachPhaseHasTheWholeTime) {
  Watchdog watchdog(Seconds(1000), "file", 0);
  for (int i = 0; i < 8; ++i) {
    watchdog.phase("a part");
    move_clock(600);
    std::this_thread::sleep_for(Seconds(0.03));  // in which it would find out
  }
}

TEST(Watchdog, NoLimitNoWatch) {
  stall(Seconds(0), Seconds(0.05));
}

TEST(Watchdog, EndsWithItsScope) {
  stall(Seconds(100000), Seconds(0));
}

class IoTimeout : public testing::Test {
 protected:
  ~IoTimeout() override { ::unsetenv("ISOTHERM_IO_TIMEOUT"); }
  static double with(const char* text) {
    ::setenv("ISOTHERM_IO_TIMEOUT", text, 1);
    return io_timeout().count();
  }
};

TEST_F(IoTimeout, IsReadFromTheEnvironment) {
  ::unsetenv("ISOTHERM_IO_TIMEOUT");
  EXPECT_EQ(io_timeout().count(), 300);
  EXPECT_EQ(with("2.5"), 2.5);
  EXPECT_EQ(with("0"), 0);
}

TEST_F(IoTimeout, RefusesWhatIsNoTime) {
  for (const char* text : {"", "soon", "5s", "-1", "nan", "inf", "1e9", " 5"}) {
    refusal([&] { with(text); }, ExitCode::command_line);
  }
}

// When ranks look up from their sweeps, when the clock stops them, and what a signal leaves.

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
