#include "output/console/progress.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/communicator.hpp"
#include "core/error.hpp"
#include "output/console/console.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

TEST(Progress, KnowsItsWords) {
  EXPECT_EQ(parse_progress("auto"), ProgressChoice::automatic);
  EXPECT_EQ(parse_progress("bar"), ProgressChoice::bar);
  EXPECT_EQ(parse_progress("lines"), ProgressChoice::lines);
  EXPECT_EQ(parse_progress("off"), ProgressChoice::off);
  try {
    parse_progress("Bar\n");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::command_line);
    EXPECT_STREQ(e.what(),
                 "unknown --progress 'Bar\\n' (it is no style of progress); use auto, bar, lines or off");
  }
}

TEST(Progress, MovesOnlyInOneProcessWithoutLauncherOnATerminal) {
  const Terminal terminal{1, false, true, true, 80};
  const auto automatic = [](Terminal t) { return choose_style(ProgressChoice::automatic, t); };
  EXPECT_EQ(automatic(terminal), ProgressStyle::bar);
  Terminal two = terminal;
  two.processes = 2;
  EXPECT_EQ(automatic(two), ProgressStyle::lines);
  Terminal launched = terminal;
  launched.under_launcher = true;
  EXPECT_EQ(automatic(launched), ProgressStyle::lines);
  Terminal file = terminal;
  file.stderr_is_terminal = false;
  EXPECT_EQ(automatic(file), ProgressStyle::lines);

  EXPECT_EQ(choose_style(ProgressChoice::bar, file), ProgressStyle::bar);
  EXPECT_EQ(choose_style(ProgressChoice::lines, terminal), ProgressStyle::lines);
  EXPECT_EQ(choose_style(ProgressChoice::off, terminal), ProgressStyle::off);
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

// stderr of a test may be a terminal or not.
TEST(Progress, ColoursAreLeftToWhoReads) {
  for (const char* name : {"NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"}) unsetenv(name);
  const bool on_terminal = find_terminal(1).stderr_is_terminal;
  EXPECT_EQ(find_terminal(1).colour, on_terminal);
  setenv("CLICOLOR", "0", 1);
  EXPECT_FALSE(find_terminal(1).colour);
  setenv("CLICOLOR_FORCE", "1", 1);
  EXPECT_TRUE(find_terminal(1).colour);
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(find_terminal(1).colour);
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(find_terminal(1).colour);
  setenv("CLICOLOR_FORCE", "0", 1);
  EXPECT_FALSE(find_terminal(1).colour);
  for (const char* name : {"NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"}) unsetenv(name);
}

TEST(Progress, WithoutATerminalTheEnvironmentMaySayItsWidth) {
  if (stderr_columns()) GTEST_SKIP() << "stderr is a terminal";
  for (const auto& [text, columns] : {std::pair{"132", 132}, {"", 80}, {"wide", 80}, {"-5", 80}, {"0", 80}}) {
    setenv("COLUMNS", text, 1);
    EXPECT_EQ(find_terminal(1).columns, columns) << text;
  }
  unsetenv("COLUMNS");
  EXPECT_EQ(find_terminal(1).columns, 80);
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
            "step 1200/10000  12.0 %  t 0.12 s  residual 3.20e-05  1.234 GPts/s  ETA 1 min 12 s");
}

TEST(Progress, SteadyRunIsMeasuredOnTheWayDownToItsTolerance) {
  ProgressState s = transient();
  s.time.reset();
  s.first_residual = 1;
  s.residual = 1e-3;
  s.tolerance = 1e-6;
  s.left.seconds = 20;
  EXPECT_DOUBLE_EQ(fraction_done(s), 0.5);
  EXPECT_EQ(progress_line(s), "step 1200/10000  50.0 %  residual 1.00e-03  1.234 GPts/s  ETA 20.0 s");
  s.sweep = 9000;  // nearer to the end of its sweeps than to its tolerance
  EXPECT_DOUBLE_EQ(fraction_done(s), 0.9);
}

TEST(Progress, StrangeNumbersStayWithinBounds) {
  ProgressState s;
  EXPECT_DOUBLE_EQ(fraction_done(s), 1);  // nothing to do
  s.last_sweep = 10;
  EXPECT_EQ(progress_line(s), "step 0/10  0.0 %  0 kPts/s  ETA unknown");
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

TEST(Progress, BarFitsItsTerminal) {
  const ProgressState s = transient();
  const std::string line = progress_line(s);
  EXPECT_EQ(progress_bar(s, 200, false), "[###...........................]  " + line);
  EXPECT_EQ(progress_bar(s, 200, true), "[\033[32m###\033[0m...........................]  " + line);
  EXPECT_EQ(progress_bar(s, 100, false), "[#............]  " + line);
  const std::string without_step = line.substr(std::string("step 1200/10000  ").size());
  EXPECT_EQ(progress_bar(s, 80, false), "[#.........]  " + without_step);
  EXPECT_EQ(progress_bar(s, 60, false), "[##.................]  12.0 %  1.234 GPts/s  ETA 1 min 12 s");
  EXPECT_EQ(progress_bar(s, 40, false), "[#............]  12.0 %  ETA 1 min 12 s");
  EXPECT_EQ(progress_bar(s, 20, true), "12.0 %  ETA 1 min 1");
  for (int columns = 0; columns < 200; ++columns)
    EXPECT_LT(progress_bar(s, columns, false).size(), static_cast<std::size_t>(std::max(columns, 2)));
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
  Progress progress(style, {}, console);
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
    Progress bar(ProgressStyle::bar, {1, false, true, false, 100}, console);
    bar.update(transient());
    meanwhile(console);
  }
  const std::string text = testing::internal::GetCapturedStderr(),
                    bar = fmt::format("\r{}\033[K", progress_bar(transient(), 100, false));
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
