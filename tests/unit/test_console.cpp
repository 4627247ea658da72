#include "output/console/console.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>

#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

using test::read_file;

TEST(Console, SaysToStdoutAndLogAndKeepsWhatWasSaidBefore) {
  const test::TemporaryFolder folder;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    Console console(0);
    console.say("before %s {} %v\n");
    console.warn("look out");
    console.open_log(folder.path() / "run.log");
    console.say("two\nlines");
    console.log_only("quiet");
    EXPECT_EQ(console.warnings(), std::vector<std::string>{"look out"});
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "before %s {} %v\ntwo\nlines\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "warning: look out\n");
  EXPECT_EQ(read_file(folder.path() / "run.log"), "before %s {} %v\nwarning: look out\ntwo\nlines\nquiet\n");
}

TEST(Console, EveryLineIsInTheLogAtOnce) {
  const test::TemporaryFolder folder;
  Console console(0, Console::Echo::no);
  console.open_log(folder.path() / "run.log");
  console.say("a");
  EXPECT_EQ(read_file(folder.path() / "run.log"), "a\n");
}

TEST(Console, OtherRanksOnlyWarn) {
  const test::TemporaryFolder folder;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    Console console(3);
    console.open_log(folder.path() / "run.log");
    console.say("hello");
    console.warn("odd");
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "warning: rank 3: odd\n");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "run.log"));
}

TEST(Console, LogThatCannotBeOpenedIsAWarning) {
  Console console(0, Console::Echo::no);
  console.open_log("/dev/null/run.log");
  console.say("goes on");
  ASSERT_EQ(console.warnings().size(), 1u);
  EXPECT_TRUE(console.warnings()[0].starts_with("run.log cannot be written (")) << console.warnings()[0];
}

TEST(Console, LogOnAFullDiskIsOneWarning) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  Console console(0, Console::Echo::no);
  console.open_log("/dev/full");
  for (int i = 0; i < 10; ++i) console.say("goes on");
  ASSERT_EQ(console.warnings().size(), 1u);
  EXPECT_NE(console.warnings()[0].find("No space left on device"), std::string::npos)
      << console.warnings()[0];
}

// In a child, for it closes the standard streams of its process.
TEST(ConsoleDeathTest, ClosedStreamsAndABrokenPipeDoNotEndAProcess) {
  EXPECT_EXIT(
      {
        prepare_standard_streams();
        int ends[2];
        if (pipe(ends) != 0) _exit(1);
        close(ends[0]);
        dup2(ends[1], STDOUT_FILENO);
        Console console(0);
        console.say("into a pipe that nobody reads");
        close(STDOUT_FILENO);
        console.say("into a closed stream");
        prepare_standard_streams();
        _exit(open("/dev/null", O_WRONLY) > STDERR_FILENO ? 17 : 2);
      },
      testing::ExitedWithCode(17), "");
}

}  // namespace
}  // namespace isotherm
