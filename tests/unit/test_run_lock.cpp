// Who may write to a run's directory.
#include "output/run_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <sstream>

#include "core/error.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

class RunLockTest : public testing::Test {
 protected:
  RunLockTest() { unsetenv("SLURM_JOB_ID"); }
  ~RunLockTest() override { unsetenv("SLURM_JOB_ID"); }

  std::string file() const { return folder_ / "run.lock"; }
  static std::string host() {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
  }
  // What stands there before, and for how long nobody has touched it.
  void leave(const std::string& text, int seconds = 0) const {
    test::write_file(file(), text);
    timespec times[2]{};
    times[0].tv_sec = times[1].tv_sec = std::time(nullptr) - seconds;
    utimensat(AT_FDCWD, file().c_str(), times, 0);
  }
  // The warning with which it is taken, or "refused".
  std::string take(Force force = Force::no) const {
    try {
      return RunLock(folder_.path(), force).warning();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::cannot_create);
      return std::string("refused: ") + e.what();
    }
  }
  std::string taken(const std::string& owner, const std::string& why) const {
    return fmt::format("'{}' of {} was taken ({})", file(), owner, why);
  }

  test::TemporaryFolder folder_;
};

TEST_F(RunLockTest, StandsWhileItLives) {
  {
    const RunLock lock(folder_.path(), Force::no);
    EXPECT_EQ(lock.warning(), "");
    EXPECT_EQ(folder_.names(), std::vector<std::string>{"run.lock"});
    EXPECT_EQ(
        take(),
        fmt::format("refused: cannot use '{}' as run directory (process {} on {} writes to it); wait for "
                    "its end, or take the directory with --force where that run is gone",
                    folder_.path().string(), getpid(), host()));
  }
  EXPECT_TRUE(folder_.names().empty());
  EXPECT_EQ(take(), "");
}

TEST_F(RunLockTest, OfAProcessThatIsGoneIsTaken) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  leave(fmt::format("{}\n{}\n1\n-\n", host(), child));
  EXPECT_EQ(take(), taken(fmt::format("process {} on {}", child, host()),
                          fmt::format("process {} is gone from this host", child)));
  EXPECT_TRUE(folder_.names().empty());
}

// As a rank that was killed is, until its launcher asks for it.
TEST_F(RunLockTest, OfAProcessThatIsOnlyAnEntryIsTaken) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t ended{};
  waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  const std::string stat = test::read_file(fmt::format("/proc/{}/stat", child));
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string started;
  for (int n = 3; n <= 22; ++n) fields >> started;
  leave(fmt::format("{}\n{}\n{}\n-\n", host(), child, started));
  EXPECT_NE(take().find("is gone from this host"), std::string::npos);
  waitpid(child, nullptr, 0);
}

// Numbers of processes come again: this one is alive and has begun at another time.
TEST_F(RunLockTest, OfAnEarlierProcessOfTheSameNumberIsTaken) {
  leave(fmt::format("{}\n{}\n1\n-\n", host(), getpid()));
  EXPECT_NE(take().find("is gone from this host"), std::string::npos);
}

TEST_F(RunLockTest, OfAnotherHostIsTakenWhenItIsSilent) {
  leave("elsewhere\n17\n5\n12\n", 60);
  EXPECT_EQ(take().find("refused: cannot use"), 0u);
  leave("elsewhere\n17\n5\n12\n", 500);
  EXPECT_EQ(take().find(taken("process 17 on elsewhere", "no sign of life for 500 s").substr(0, 40)), 0u);
  leave("elsewhere\n17\n5\n12\n", 500);
  EXPECT_NE(take().find("no sign of life for 50"), std::string::npos);
}

TEST_F(RunLockTest, OfTheSameJobOnAnotherHostIsTaken) {
  setenv("SLURM_JOB_ID", "12", 1);
  leave("elsewhere\n17\n5\n13\n");
  EXPECT_EQ(take().find("refused"), 0u);
  leave("elsewhere\n17\n5\n12\n");
  EXPECT_EQ(take(), taken("process 17 on elsewhere", "job 12 was started again"));
}

TEST_F(RunLockTest, IsTakenByForce) {
  leave("elsewhere\n17\n5\n12\n");
  EXPECT_EQ(take(Force::yes), taken("process 17 on elsewhere", "--force"));
}

TEST_F(RunLockTest, ThatSaysNothingIsOneOfAnotherHost) {
  leave("");
  EXPECT_EQ(take().find("refused"), 0u);
  leave("", 500);
  EXPECT_NE(take().find("no sign of life"), std::string::npos);
}

// Whoever has lost it by force leaves that of the other alone.
TEST_F(RunLockTest, OfAnotherIsNotRemoved) {
  {
    const RunLock lock(folder_.path(), Force::no);
    leave("elsewhere\n17\n5\n12\n");
  }
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"run.lock"});
}

TEST_F(RunLockTest, NeedsAFolderToWriteTo) {
  EXPECT_THROW(RunLock(folder_ / "nowhere", Force::no), Error);
}

}  // namespace
}  // namespace isotherm
