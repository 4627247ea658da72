// Whose a directory is, which of its files are a run's, and what a run may change when it goes on.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <set>
#include <sstream>

#include "config/deck.hpp"
#include "core/error.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/run_directory.hpp"
#include "support/deck_text.hpp"
#include "support/error_text.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;
using test::read_file;
using test::write_file;

class RunDirectoryTest : public testing::Test {
 protected:
  RunDirectoryPlan plan(const fs::path& path, Existing existing = Existing::reject) const {
    return {path, "plate", existing, "the deck\r\n", "resolved\n"};
  }
  // The message of the refusal, with the folder of this test taken out.
  std::string refusal(const RunDirectoryPlan& asked) const {
    std::string text = isotherm::refusal([&] { prepare_run_directory(asked); }, ExitCode::cannot_create);
    for (auto at = text.find(here()); at != std::string::npos; at = text.find(here()))
      text.replace(at, here().size(), "T");
    return text;
  }
  std::set<std::string> names(const fs::path& folder) const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder)) found.insert(entry.path().filename().string());
    return found;
  }
  std::string here() const { return folder_.path().string(); }
  fs::path at(const std::string& name) const { return folder_.path() / name; }
  const fs::path& folder_path() const { return folder_.path(); }

 private:
  test::TemporaryFolder folder_;
};

// Parents, links to an earlier run and what goes on: faults/test_paths.py and test_restart.py.
TEST_F(RunDirectoryTest, HoldsBothDecks) {
  const RunDirectory run = prepare_run_directory(plan(at("a/b/c")));
  EXPECT_EQ(names(run.path), (std::set<std::string>{"deck.yaml", "deck.resolved.yaml"}));
  EXPECT_EQ(read_file(at("a/b/c/deck.yaml")), "the deck\r\n");
  EXPECT_EQ(read_file(at("a/b/c/deck.resolved.yaml")), "# run: \"plate\"\nresolved\n");
}

TEST_F(RunDirectoryTest, WhatCannotBeOneIsRejected) {
  EXPECT_EQ(refusal(plan("")),
            "cannot use '' as run directory (its name is empty); name one with output.directory=...");
  expect_start(refusal(plan("/proc/isotherm/run")),  // for root too
               "cannot use '/proc/isotherm/run' as run directory");
}

TEST_F(RunDirectoryTest, ReplacingRemovesOurFilesOnly) {
  prepare_run_directory(plan(at("run")));
  for (const char* ours : {"run.json", "history.csv", "run.log", "plate_000000.hdf", "plate_1234567.hdf",
                           "plate.hdf.series", "plate_000100.hdf.part", "run.json.part"})
    write_file(at("run") / ours, "old");
  const std::set<std::string> strangers{"notes.txt",     "plate_notes.hdf",  "plate.hdf",
                                        "plate_1.hdf5",  "other_000100.hdf", "run.json.saved",
                                        "myhistory.csv", "plate_.hdf",       "plate_1.part"};
  for (const std::string& name : strangers) write_file(at("run") / name, "mine");
  fs::create_directories(at("run/folder"));
  write_file(at("run/folder/run.json"), "mine");

  prepare_run_directory(plan(at("run"), Existing::replace));
  std::set<std::string> expected = strangers;
  expected.insert({"deck.yaml", "deck.resolved.yaml", "folder"});
  EXPECT_EQ(names(at("run")), expected);
  EXPECT_EQ(read_file(at("run/folder/run.json")), "mine");
}

TEST_F(RunDirectoryTest, LinkIsRemovedAndItsTargetStays) {
  prepare_run_directory(plan(at("run")));
  write_file(at("target"), "mine");
  fs::create_symlink(at("target"), at("run/run.json"));
  prepare_run_directory(plan(at("run"), Existing::replace));
  EXPECT_FALSE(fs::exists(fs::symlink_status(at("run/run.json"))));
  EXPECT_EQ(read_file(at("target")), "mine");
}

TEST_F(RunDirectoryTest, FilesOfOurNamesThatNoRunWroteStay) {
  write_file(at("deck.yaml"), "the user's deck");
  write_file(at("plate_00000010.checkpoint.hdf"), "cells");
  for (const Existing existing : {Existing::replace, Existing::resume})
    expect_start(refusal(plan(folder_path(), existing)), "cannot use 'T' as run directory (it holds");
  EXPECT_EQ(read_file(at("deck.yaml")), "the user's deck");
  EXPECT_EQ(names(folder_path()).size(), 2u);
}

TEST_F(RunDirectoryTest, FolderOfOurNameIsNotRemoved) {
  prepare_run_directory(plan(at("run")));
  fs::create_directories(at("run/run.json"));
  expect_start(refusal(plan(at("run"), Existing::replace)), "cannot use 'T/run' as run directory");
  EXPECT_EQ(read_file(at("run/deck.yaml")), "the deck\r\n");
}

TEST(RunFiles, NamesSayTheirSweep) {
  EXPECT_EQ(snapshot_name("plate", 20), "plate_00000020.hdf");
  EXPECT_EQ(checkpoint_name("plate", 123456789012), "plate_123456789012.checkpoint.hdf");
  EXPECT_EQ(sweep_of_file("plate_00000020.hdf", "plate", snapshot_suffix), 20);
  EXPECT_EQ(sweep_of_file("plate_00000020.checkpoint.hdf", "plate", checkpoint_suffix), 20);
  EXPECT_EQ(sweep_of_file("plate_00000020.checkpoint.hdf", "plate", snapshot_suffix), std::nullopt);
  EXPECT_EQ(sweep_of_file("plate_00000020.hdf", "plate", checkpoint_suffix), std::nullopt);
  for (const char* other : {"plate_00000020.checkpoint.hdf.part", "plate_-2.checkpoint.hdf",
                            "plate_.checkpoint.hdf", "plate_2x.checkpoint.hdf", "plate.checkpoint.hdf",
                            "plat_1.checkpoint.hdf", "plate_99999999999999999999.checkpoint.hdf"})
    EXPECT_EQ(sweep_of_file(other, "plate", checkpoint_suffix), std::nullopt) << other;
}

TEST(RunFiles, AreThoseOfTheNamesThatARunGives) {
  for (const char* ours :
       {"latest", "latest.part", "plate_00000001.checkpoint.hdf", "history.csv.aside",
        "plate_00000001.checkpoint.hdf.part", "plate_00000001.checkpoint.hdf.aside", "probes.csv.2.aside"})
    EXPECT_TRUE(is_run_file(ours, "plate")) << ours;
  for (const char* other :
       {"latest.aside", "plate_00000001.hdf.aside", "run.json.aside", "plate_1.checkpoint", "history.csv.2",
        "history.csv2.aside", ".2.aside", "2.aside", "", "plate", "plate_000001.hdf.series"})
    EXPECT_FALSE(is_run_file(other, "plate")) << other;
  EXPECT_TRUE(is_run_file("a.b_000001.hdf", "a.b"));  // which is no pattern
  EXPECT_FALSE(is_run_file("axb_000001.hdf", "a.b") || is_run_file("ab_000001.hdf", "a*"));
  EXPECT_TRUE(is_run_file("_000001.hdf", ""));
}

// Who may write to a run's directory.

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
  // The warning with which it is taken, or "rejected".
  std::string take(Force force = Force::no) const {
    std::string warning;
    const std::string said =
        error_text([&] { warning = RunLock(folder_.path(), force).warning(); }, ExitCode::cannot_create);
    return said == "no error" ? warning : "refused: " + said;
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
    expect_start(take(),
                 fmt::format("refused: cannot use '{}' as run", folder_.path().string(), getpid(), host()));
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
  expect_says(take(), "is gone from this host");
  waitpid(child, nullptr, 0);
}

// Numbers of processes come again: this one is alive and has begun at another time.
TEST_F(RunLockTest, OfAnEarlierProcessOfTheSameNumberIsTaken) {
  leave(fmt::format("{}\n{}\n1\n-\n", host(), getpid()));
  expect_says(take(), "is gone from this host");
}

TEST_F(RunLockTest, OfAnotherHostIsTakenWhenItIsSilent) {
  leave("elsewhere\n17\n5\n12\n", 60);
  EXPECT_EQ(take().find("refused: cannot use"), 0u);
  leave("elsewhere\n17\n5\n12\n", 500);
  EXPECT_EQ(take().find(taken("process 17 on elsewhere", "no sign of life for 500 s").substr(0, 40)), 0u);
  leave("");  // as one that says nothing
  EXPECT_EQ(take().find("refused"), 0u);
  leave("", 500);
  expect_says(take(), "no sign of life");
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

// Which checkpoints stay, and what a run may change when it goes on from one.

using Sweeps = std::vector<std::int64_t>;

// And the one that was just written: those that a run has gone back behind go.
TEST(Checkpoints, TheNewestStay) {
  EXPECT_EQ(superfluous({10, 20, 30, 40}, 40, 2), (Sweeps{20, 10}));
  EXPECT_EQ(superfluous({40, 10, 30, 20}, 40, 3), (Sweeps{10}));
  EXPECT_EQ(superfluous({30, 40}, 40, 2), Sweeps{});
  EXPECT_EQ(superfluous({}, 40, 2), Sweeps{});
  EXPECT_EQ(superfluous({10, 20, 30, 90, 100}, 30, 2), (Sweeps{100, 90, 10}));
}

// Found by their names, the newest first; later ones are set aside by a run that goes back behind them.
TEST(Checkpoints, AreFoundByTheirNamesAndSetAside) {
  const test::TemporaryFolder folder;
  for (const char* name : {"plate_00000020.checkpoint.hdf", "plate_00000100.checkpoint.hdf",
                           "plate_00000030.checkpoint.hdf.part", "plate_00000040.hdf", "latest",
                           "plate_00000050.checkpoint.hdf.aside", "late_00000060.checkpoint.hdf"})
    test::write_file(folder / name, "");
  EXPECT_EQ(find_checkpoints(folder.path(), "plate"), (Sweeps{100, 20}));
  EXPECT_EQ(find_checkpoints(folder / "nowhere", "plate"), Sweeps{});
  set_aside_later(folder.path(), "plate", 30);
  EXPECT_EQ(find_checkpoints(folder.path(), "plate"), Sweeps{20});
  EXPECT_EQ(std::ranges::count(folder.names(), "plate_00000100.checkpoint.hdf.aside"), 1);
}

std::vector<std::string> changed(const std::vector<std::string>& overrides, bool allowed) {
  std::vector<std::string> keys;
  for (const Change& change :
       changes(deck_text::parse(deck_text::base), deck_text::parse(deck_text::base, overrides)))
    if (change.allowed == allowed) keys.push_back(change.key + " " + change.before + " -> " + change.now);
  return keys;
}

using Keys = std::vector<std::string>;

TEST(Changes, WhereARunEndsAndHowItIsComputedMayChange) {
  EXPECT_EQ(
      changed({"problem.steps=20", "solver.kernel=openmp", "parallel.device=cpu", "output.checkpoint=false"},
              true),
      (Keys{"problem.steps 10 -> 20", "solver.kernel auto -> openmp", "parallel.device auto -> cpu",
            "output.checkpoint.write true -> false", "output.checkpoint.keep 2 -> nothing",
            "output.checkpoint.final auto -> nothing"}));
  EXPECT_EQ(changed({"problem.steps=20", "solver.kernel=openmp", "output.every_steps=2"}, false), Keys{});
}

// The other keys of the problem: faults/test_checkpoint_faults.py.
TEST(Changes, TheProblemMayNot) {
  EXPECT_EQ(changed({"initial.0.value=301"}, false),
            (Keys{"initial [{shape: constant, mode: set, value: 300}] -> [{shape: constant, mode: set, "
                  "value: 301}]"}));
}

TEST(Changes, AResolvedDeckReadsBackWithoutAny) {
  const Config config =
      deck_text::parse(deck_text::base, {"problem.dt=1.1e-4", "output.checkpoint.every_wall=0.3"});
  EXPECT_TRUE(changes(read_resolved_deck(to_yaml(config), "x"), config).empty());
  EXPECT_THROW(read_resolved_deck("grid: {cells: 3", "x"), Error);
  EXPECT_THROW(read_resolved_deck("grids: 3", "x"), Error);
}

}  // namespace
}  // namespace isotherm
