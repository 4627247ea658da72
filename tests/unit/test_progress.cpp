#include "output/console/progress.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/communicator.hpp"
#include "output/console/console.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

TEST(Progress, ALineIsRewrittenWhereTheTerminalCanUnlessTheUserDecides) {
  EXPECT_EQ(choose_style(ProgressChoice::automatic, true), ProgressStyle::bar);
  EXPECT_EQ(choose_style(ProgressChoice::automatic, false), ProgressStyle::lines);
  EXPECT_EQ(choose_style(ProgressChoice::bar, false), ProgressStyle::bar);
  EXPECT_EQ(choose_style(ProgressChoice::lines, true), ProgressStyle::lines);
  EXPECT_EQ(choose_style(ProgressChoice::off, true), ProgressStyle::off);
  EXPECT_FALSE(can_rewrite_lines(2));
}

TEST(Progress, EachLauncherIsSeen) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "SLURM_STEP_ID"}) unsetenv(name);
  EXPECT_FALSE(environment_names_launcher());
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "SLURM_STEP_ID"}) {
    setenv(name, "0", 1);
    EXPECT_TRUE(environment_names_launcher()) << name;
    unsetenv(name);
  }
}

ProgressState transient() {
  ProgressState s;
  s.sweep = 1200;
  s.last_sweep = 10000;
  s.time = 0.12;
  s.residual = 3.2e-5;
  s.wall = 9.75;
  s.points_a_second = 1.2344e9;
  s.left.seconds = 71.5;
  return s;
}

TEST(Progress, LineOfATransientRun) {
  EXPECT_EQ(progress_line(transient()),
            "step 1200/10000  12.0 %  ETA 1 min 12 s  1.234 GPts/s  residual 3.20e-05  t 0.12 s");
}

TEST(Progress, SteadyRunIsMeasuredOnTheWayDownToItsTolerance) {
  ProgressState s = transient();
  s.time.reset();
  s.first_residual = 1;
  s.residual = 1e-3;
  s.tolerance = 1e-6;
  s.left.seconds = 20;
  EXPECT_DOUBLE_EQ(fraction_done(s), 0.5);
  EXPECT_EQ(progress_line(s), "step 1200/10000  50.0 %  ETA 20.0 s  1.234 GPts/s  residual 1.00e-03");
  s.sweep = 9000;  // nearer to the end of its sweeps than to its tolerance
  EXPECT_DOUBLE_EQ(fraction_done(s), 0.9);
}

TEST(Progress, StrangeNumbersStayWithinBounds) {
  ProgressState s;
  EXPECT_DOUBLE_EQ(fraction_done(s), 1);  // nothing to do
  s.last_sweep = 10;
  EXPECT_EQ(progress_line(s), "step 0/10  0.0 %  ETA unknown  0 kPts/s");
  s.residual = -1;
  s.first_residual = 0;
  s.tolerance = 0;
  EXPECT_DOUBLE_EQ(fraction_done(s), 0);
  s.sweep = 20;
  EXPECT_DOUBLE_EQ(fraction_done(s), 1);
  s.sweep = 5;
  s.first_residual = 1;
  s.tolerance = 1e-6;
  s.residual = std::strtod("nan", nullptr);
  EXPECT_DOUBLE_EQ(fraction_done(s), 0.5);
  s.residual = 1e9;  // growing
  EXPECT_DOUBLE_EQ(fraction_done(s), 0.5);
}

TEST(Progress, LinesBecomeRarer) {
  LineSchedule schedule;
  std::vector<int> printed;
  for (int second = 0; second <= 800; ++second)
    if (schedule.due(second)) printed.push_back(second);
  EXPECT_EQ(printed, (std::vector<int>{10,  20,  30,  40,  50,  60,  90,  120, 150, 180, 210, 240, 270, 300,
                                       330, 360, 390, 420, 450, 480, 510, 540, 570, 600, 660, 720, 780}));
}

TEST(Progress, LateLineIsNotMadeUpFor) {
  LineSchedule schedule;
  EXPECT_TRUE(schedule.due(45));
  EXPECT_FALSE(schedule.due(46));
  EXPECT_TRUE(schedule.due(50));
}

// What a run of this style writes to its log.
template <class Run>
std::string logged(ProgressStyle style, Run run) {
  const test::TemporaryFolder folder;
  Console console(0, Console::Echo::no);
  console.open_log(folder.path() / "run.log");
  Progress progress(style, console);
  run(progress);
  return test::read_file(folder.path() / "run.log");
}

ProgressState at(double wall) {
  ProgressState s = transient();
  s.wall = wall;
  return s;
}

TEST(Progress, LinesGoToTheLogAndOffIsSilent) {
  EXPECT_EQ(logged(ProgressStyle::off, [](Progress& off) { off.update(at(100)); }), "");
  const std::string lines = logged(ProgressStyle::lines, [](Progress& progress) {
    for (const double wall : {1, 12, 12}) progress.update(at(wall));
  });
  EXPECT_EQ(lines, progress_line(at(12)) + "\n");
}

TEST(Progress, GridsOfASeriesTellTheirProgressEach) {
  const std::string lines = logged(ProgressStyle::lines, [](Progress& progress) {
    progress.update(at(700));
    progress.finish();
    progress.update(at(12));  // of the next
  });
  EXPECT_EQ(lines, progress_line(at(700)) + "\n" + progress_line(at(12)) + "\n");
}

// What is on stderr after a bar was shown and, while it stood there, `meanwhile`.
template <class Meanwhile>
std::string behind_bar(Meanwhile meanwhile) {
  testing::internal::CaptureStderr();
  {
    Console console(0);
    Progress bar(ProgressStyle::bar, console);
    bar.update(transient());
    meanwhile(console);
  }
  const std::string text = testing::internal::GetCapturedStderr(),
                    bar = fmt::format("\r\033[?7l{}\033[K\033[?7h", progress_line(transient()));
  EXPECT_TRUE(text.starts_with(bar)) << text;
  return text.substr(std::min(bar.size(), text.size()));
}

TEST(Progress, WhatIsSaidTakesTheBarAwayAndSoDoesItsEnd) {
  testing::internal::CaptureStdout();
  const std::string text = behind_bar([](Console& console) {
    console.warn("hot");
    console.say("said");  // nothing is left to take away
  });
  EXPECT_EQ(text, "\r\033[Kwarning: hot\n");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "said\n");
  EXPECT_EQ(behind_bar([](Console&) {}), "\r\033[K");
}

}  // namespace
}  // namespace isotherm
