#include "core/watchdog.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "core/error.hpp"
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
    try {
      with(text);
      ADD_FAILURE() << "accepted '" << text << "'";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::command_line);
    }
  }
}

}  // namespace
}  // namespace isotherm
