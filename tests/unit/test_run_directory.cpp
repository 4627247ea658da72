// Owners of run directories, the files of a run in them, and how files are written.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "output/field_files/cell_boxes.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/field_files/snapshot_file.hpp"
#include "output/file_thread.hpp"
#include "output/run_directory.hpp"
#include "output/safe_file.hpp"
#include "support/error_text.hpp"
#include "support/field_by_index.hpp"
#include "support/repeat.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;
using test::read_file;
using test::write_file;

// Owners of directories; faults/test_paths.py tests most of this.
class RunDirectoryTest : public testing::Test {
 protected:
  static void prepare(const fs::path& path, bool overwrite = false, bool resumes = false) {
    const Config config{.name = "plate", .output = {.directory = path, .overwrite = overwrite}};
    prepare_run_directory(config, "the deck\r\n", resumes, Force::no, nullptr);
  }
  static void expect_refused(const fs::path& path, const std::string& why, bool overwrite = false,
                             bool resumes = false) {
    expect_start(refusal([&] { prepare(path, overwrite, resumes); }, ExitCode::cannot_create),
                 "cannot use '" + path.string() + "' as run directory" + why);
  }
  fs::path at(const std::string& name) const { return folder_.path() / name; }

  test::TemporaryFolder folder_;
};

TEST_F(RunDirectoryTest, RejectsPathsThatCannotBeOne) {
  expect_refused("", " (its name is empty); name one with output.directory=...");
  expect_refused("/proc/isotherm/run", "");  // even for root
}

TEST_F(RunDirectoryTest, RemovesLinksButNotTheirTargetsOrFolders) {
  prepare(at("run"));
  fs::create_directories(at("run/folder"));
  for (const char* mine : {"target", "run/folder/run.json"}) write_file(at(mine), "mine");
  fs::create_symlink(at("target"), at("run/run.json"));
  prepare(at("run"), true);
  EXPECT_FALSE(fs::exists(fs::symlink_status(at("run/run.json"))));
  for (const char* mine : {"target", "run/folder/run.json"}) EXPECT_EQ(read_file(at(mine)), "mine");
}

TEST_F(RunDirectoryTest, FilesNamedLikeThoseOfARunAreKept) {
  write_file(at("deck.yaml"), "the user's deck");
  write_file(at("plate_00000010.checkpoint.hdf"), "cells");
  for (const bool resumes : {false, true}) expect_refused(folder_.path(), " (it holds", true, resumes);
  EXPECT_EQ(read_file(at("deck.yaml")), "the user's deck");
  EXPECT_EQ(folder_.names().size(), 2u);
}

TEST_F(RunDirectoryTest, AFolderNamedLikeAFileOfARunIsNotRemoved) {
  prepare(at("run"));
  fs::create_directories(at("run/run.json"));
  expect_refused(at("run"), "", true);
  EXPECT_EQ(read_file(at("run/deck.yaml")), "the deck\r\n");
}

TEST(RunFiles, NamesSayTheirSweep) {
  EXPECT_EQ(file_of_sweep("plate", 20, snapshot_suffix), "plate_00000020.hdf");
  EXPECT_EQ(checkpoint_name("plate", 123456789012), "plate_123456789012.checkpoint.hdf");
  EXPECT_EQ(sweep_of_file("plate_00000020.hdf", "plate", snapshot_suffix), 20);
  EXPECT_EQ(sweep_of_file("plate_00000020.checkpoint.hdf", "plate", checkpoint_suffix), 20);
  EXPECT_EQ(sweep_of_file("plate_00000020.checkpoint.hdf", "plate", snapshot_suffix), std::nullopt);
  for (const char* other :
       {"plate_00000020.hdf", "plate_00000020.checkpoint.hdf.part", "plate_-2.checkpoint.hdf",
        "plate_.checkpoint.hdf", "plate_2x.checkpoint.hdf", "plate.checkpoint.hdf", "plat_1.checkpoint.hdf",
        "plate_99999999999999999999.checkpoint.hdf"})
    EXPECT_EQ(sweep_of_file(other, "plate", checkpoint_suffix), std::nullopt) << other;
}

TEST(RunFiles, AreRecognisedByTheirNames) {
  const char* const ours =
      "latest latest.part run.json run.log run.json.part history.csv.aside probes.csv.2.aside "
      "p_00000001.checkpoint.hdf p_00000001.checkpoint.hdf.part p_00000001.checkpoint.hdf.aside "
      "p_material.h5 p_material.h5.part p.xmf p_00000100.diverged.hdf p_slice_z3_00000010.hdf "
      "p_slice_z3.hdf.series p_slice_a_b-7_00000010.hdf.part p_slice_a.xmf p_slice_a_b.hdf.series "
      "p_region_00000000.hdf p_region.hdf.series p_coarse_1.hdf p_coarse.xmf p_00000001.hdf.aside "
      "p_slice_a_b-7_00000010.hdf.aside";
  const char* const others =
      "latest.aside p_00000001.diverged.hdf.aside run.json.aside p_1.checkpoint history.csv.2 "
      "history.csv2.aside "
      ".2.aside 2.aside p p_000001.hdf.series p.hdf p_notes.hdf p_.hdf p_1.hdf5 p_1.part other_000100.hdf "
      "run.json.saved myhistory.csv p_slice_00000010.hdf p_slice__.hdf p_slice.hdf.series p_regions_1.hdf "
      "p_region_.hdf p_.diverged.hdf p_coarse.hdf else_region_1.hdf";
  for (const auto& [names, is_ours] : {std::pair{ours, true}, {others, false}}) {
    std::istringstream words(names);
    for (std::string name; words >> name;) EXPECT_EQ(is_run_file(name, "p"), is_ours) << name;
  }
  for (const char* other : {"", "p_slice_a b_1.hdf"}) EXPECT_FALSE(is_run_file(other, "p")) << other;
  EXPECT_TRUE(is_run_file("a.b_000001.hdf", "a.b"));  // not a regular expression
  EXPECT_FALSE(is_run_file("axb_000001.hdf", "a.b") || is_run_file("ab_000001.hdf", "a*"));
  EXPECT_TRUE(is_run_file("_000001.hdf", ""));
}

// Who may write to a run's directory. faults/test_signals.py tests a live lock and that of a killed run.

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
  // Writes a lock that was last touched `seconds` ago.
  void leave(const std::string& text, int seconds = 0) const {
    test::write_file(file(), text);
    fs::last_write_time(file(), fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
  }
  // Takes the lock; returns its warning, or "refused: " and the message.
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

// A killed rank is in this state until its launcher waits for it.
TEST_F(RunLockTest, OfAZombieProcessIsTaken) {
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

// A process number may be reused, but with another start time. A lock of another host is judged by its age,
// unless it belongs to the same job, started again.
TEST_F(RunLockTest, IsTakenOrRefusedByItsOwner) {
  const std::string earlier = fmt::format("{}\n{}\n1\n-\n", host(), getpid()),
                    elsewhere = "elsewhere\n17\n5\n12\n", other_job = "elsewhere\n17\n5\n13\n",
                    theirs = "process 17 on elsewhere";
  const struct {
    std::string text;
    int seconds;
    const char* job;
    Force force;
    std::string start, part;
  } cases[] = {
      {earlier, 0, nullptr, Force::no, "", "is gone from this host"},
      {elsewhere, 60, nullptr, Force::no, "refused: cannot use", ""},
      {elsewhere, 500, nullptr, Force::no, taken(theirs, "no sign of life for 500 s").substr(0, 40), ""},
      {"", 0, nullptr, Force::no, "refused", ""},  // an empty lock
      {"", 500, nullptr, Force::no, "", "no sign of life"},
      {other_job, 0, "12", Force::no, "refused", ""},
      {elsewhere, 0, "12", Force::no, taken(theirs, "job 12 was started again"), ""},
      {elsewhere, 0, nullptr, Force::yes, taken(theirs, "--force"), ""},
  };
  for (const auto& c : cases) {
    c.job ? setenv("SLURM_JOB_ID", c.job, 1) : unsetenv("SLURM_JOB_ID");
    leave(c.text, c.seconds);
    const std::string said = take(c.force);
    expect_start(said, c.start);
    expect_says(said, c.part);
  }
}

// A run that lost its lock by force does not remove that of the other run.
TEST_F(RunLockTest, OfAnotherRunIsNotRemoved) {
  {
    const RunLock lock(folder_.path(), Force::no);
    leave("elsewhere\n17\n5\n12\n");
  }
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"run.lock"});
}

// Checkpoints that are kept. faults/test_checkpoint_faults.py tests changes to a run that resumes from one.

using Sweeps = std::vector<std::int64_t>;

// The checkpoint just written is kept; later ones, written before a restart from an earlier one, are not.
TEST(Checkpoints, TheNewestStay) {
  EXPECT_EQ(superfluous({10, 20, 30, 40}, 40, 2), (Sweeps{20, 10}));
  EXPECT_EQ(superfluous({40, 10, 30, 20}, 40, 3), (Sweeps{10}));
  EXPECT_EQ(superfluous({30, 40}, 40, 2), Sweeps{});
  EXPECT_EQ(superfluous({}, 40, 2), Sweeps{});
  EXPECT_EQ(superfluous({10, 20, 30, 90, 100}, 30, 2), (Sweeps{100, 90, 10}));
}

TEST(Checkpoints, LaterFilesAreBackedUpNotRemoved) {
  const test::TemporaryFolder folder;
  for (const char* name : {"plate_00000020.hdf", "plate_00000100.checkpoint.hdf", "plate_00000100.hdf"})
    test::write_file(folder / name, name);
  back_up_later(folder.path(), "plate", 30);
  EXPECT_EQ(folder.names(),
            (std::vector<std::string>{"plate_00000020.hdf", "plate_00000100.checkpoint.hdf.aside",
                                      "plate_00000100.hdf.aside"}));
  EXPECT_EQ(test::read_file(folder / "plate_00000100.hdf.aside"), "plate_00000100.hdf");
}

// How files are written: space, names, the writer thread, slabs and chunks, the files for ParaView.

// Blocks of sparse files, which a truncation creates, are allocated too.
TEST(ReserveSpace, AllocatesTheBlocksOfTheFile) {
  for (const std::int64_t length : {0, 200000}) {
    const test::TemporaryFolder folder;
    const std::string path = folder / "file";
    create_empty_file(path);
    ASSERT_EQ(::truncate(path.c_str(), length), 0);
    if (reserve_space(path, 100000) != Reserved::on_disk)
      GTEST_SKIP() << "the temporary folder cannot reserve";
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_size, std::max<std::int64_t>(length, 100000));
    EXPECT_GE(status.st_blocks * 512, status.st_size);
  }
}

// ramfs has no fallocate and does not report free space.
TEST(ReserveSpace, WhereTheFileSystemCannotReserveItIsAnEstimate) {
  const test::TemporaryFolder folder;
  if (::mount("ramfs", folder.path().c_str(), "ramfs", 0, "") != 0)
    GTEST_SKIP() << "no right to mount a ramfs: " << std::strerror(errno);
  const std::string path = folder / "file";
  create_empty_file(path);
  EXPECT_EQ(reserve_space(path, 100000), Reserved::estimated);
  EXPECT_EQ(::umount(folder.path().c_str()), 0);
}

TEST(SafeFile, AFullDiskGivesTheCodeIoAndKeepsTheOldFile) {
  const test::TemporaryFolder folder;
  write_file_atomically(folder / "file", "old");
  ASSERT_EQ(::symlink("/dev/full", (folder / "file.part").c_str()), 0);
  refusal([&] { write_file_atomically(folder / "file", "new"); }, ExitCode::io);
  EXPECT_EQ(test::read_file(folder / "file"), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"file"});
}

void fail() { throw std::runtime_error("the disk is full"); }

TEST(FileThread, WritesInOrderConcurrentlyWithItsCaller) {
  FileThread files("");
  std::promise<void> go;
  std::vector<int> written;
  std::thread::id by;
  files.start([&] {
    go.get_future().wait();  // so start() has not waited for it
    by = std::this_thread::get_id();
    written.push_back(1);
  });
  const FileThread::Ticket second = files.start([&] { written.push_back(2); });
  EXPECT_FALSE(files.in_step());
  EXPECT_TRUE(written.empty());
  go.set_value();
  files.wait(second);
  EXPECT_EQ(written, (std::vector<int>{1, 2}));
  EXPECT_NE(by, std::this_thread::get_id());
  EXPECT_EQ(files.backlog(), 0);
}

// A wait for an earlier file does not throw, even if a later one has failed: otherwise ranks would diverge.
TEST(FileThread, AnErrorIsThrownByTheWaitForItsFileOrALaterOne) {
  FileThread files("");
  bool written = false;
  const FileThread::Ticket good = files.start([] {}), bad = files.start(fail),
                           after = files.start([&] { written = true; });
  files.settle();
  EXPECT_TRUE(files.failed());
  EXPECT_NO_THROW(files.wait(good));
  EXPECT_THROW(files.wait(bad), std::runtime_error);
  EXPECT_THROW(files.wait(after), std::runtime_error);
  EXPECT_THROW(files.finish(), std::runtime_error);
  EXPECT_FALSE(written);
}

TEST(FileThread, FinishesStartedFilesBeforeItEnds) {
  std::atomic<int> written = 0;
  {
    FileThread files("");
    for (int i = 0; i < 20; ++i) files.start([&] { ++written; });
  }
  EXPECT_EQ(written, 20);
  {
    FileThread files("");
    files.start(fail);  // no call asks for the error
  }
}

TEST(FileThread, LeavesSignalsToTheMainThread) {
  FileThread files("");
  sigset_t theirs, ours;
  sigemptyset(&theirs);
  files.start([&] { pthread_sigmask(SIG_SETMASK, nullptr, &theirs); });
  files.finish();
  pthread_sigmask(SIG_SETMASK, nullptr, &ours);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2}) {
    EXPECT_EQ(sigismember(&theirs, signal), 1);
    EXPECT_EQ(sigismember(&ours, signal), 0);
  }
}

// Each cell is in one slab, and each chunk too, unless the box itself ends within it. With chunks of one
// cell, slabs are in memory order without gap: for slabs of whole planes or rows a statement on linear
// indices.
void expect_cover(Box box, Int3 chunk, Index most) {
  const Int3 extent = box.extent();
  Index cells = 0;
  for (const Box slab : cut_into_slabs(box, chunk, most)) {
    ASSERT_FALSE(slab.empty());
    EXPECT_EQ(slab.within(box), slab);
    EXPECT_LE(slab.cells(), std::max(most, chunk.product()));
    for (int axis = 0; axis < 3; ++axis) {
      EXPECT_TRUE(slab.lo[axis] == box.lo[axis] || slab.lo[axis] % chunk[axis] == 0);
      EXPECT_TRUE(slab.hi[axis] == box.hi[axis] || slab.hi[axis] % chunk[axis] == 0);
    }
    if (chunk.product() == 1) {
      EXPECT_EQ(static_cast<Index>(index_of(slab.lo - box.lo, extent)), cells);
      EXPECT_TRUE(slab.extent().y == 1 || slab.extent().x == extent.x);
      EXPECT_TRUE(slab.extent().z == 1 || slab.extent().x * slab.extent().y == extent.x * extent.y);
    }
    cells += slab.cells();
  }
  EXPECT_EQ(cells, box.cells());
}

TEST(Slabs, CoverRandomBoxesInOrderAndCutNoChunk) {
  Random random;
  for (int i = 0; i < 300; ++i) {
    const auto draw = [&](Index least, Index most) { return random.between(least, most); };
    const Int3 lo{draw(0, 9), draw(0, 9), draw(0, 9)}, chunk{draw(1, 4), draw(1, 4), draw(1, 4)};
    const Box box{lo, lo + Int3{draw(1, 9), draw(1, 9), draw(1, 9)}};
    expect_cover(box, {1, 1, 1}, draw(1, 120));
    expect_cover(box, chunk, draw(1, 120));
  }
  EXPECT_TRUE(cut_into_slabs(Box{}, {2, 2, 2}, 100).empty());
}

TEST(Slabs, StayBelowTwoGigabytes) {
  const Index most = (Index{1} << 30) / 8;
  for (const Int3 cells : {Int3{2048, 2048, 2048},   // 64 GiB: planes
                           {1 << 16, 1 << 16, 2},    // planes of 32 GiB: rows
                           {Index{1} << 32, 2, 3}})  // rows of 32 GiB: parts of them
    expect_cover({{0, 0, 0}, cells}, {1, 1, 1}, most);
}

FileGrid grid_of(Int3 cells, Precision precision, int level = 1) {
  return {.cells = cells, .precision = precision, .compression = level};
}

TEST(Compression, ChunksAreTheGridHalvedUntilTheyAreSmallEnough) {
  EXPECT_EQ(chunk_of(grid_of({512, 512, 512}, Precision::fp64)), (Int3{64, 64, 64}));
  EXPECT_EQ(chunk_of(grid_of({512, 512, 512}, Precision::fp32)), (Int3{128, 64, 64}));
  EXPECT_EQ(chunk_of(grid_of({1000, 1000, 1000}, Precision::fp64)), (Int3{63, 63, 63}));
  EXPECT_EQ(chunk_of(grid_of({4096, 1, 4096}, Precision::fp64)), (Int3{512, 1, 512}));
  EXPECT_EQ(chunk_of(grid_of({17, 23, 31}, Precision::fp64)), (Int3{17, 23, 31}));
  const Index huge = Index{1} << 40;
  EXPECT_EQ(chunk_of(grid_of({huge, 1, 1}, Precision::fp64)), (Int3{1 << 18, 1, 1}));
}

TEST(Compression, NoCompressionHasNoChunks) {
  const FileGrid grid = grid_of({512, 256, 128}, Precision::fp32, 0);
  EXPECT_EQ(chunk_of(grid), (Int3{1, 1, 1}));
  EXPECT_EQ(most_bytes_of_cells(grid), 512 * 256 * 128 * 4);
}

TEST(Compression, IncompressibleCellsFitIntoTheReservedSpace) {
  for (const Int3 cells : {Int3{512, 512, 512}, {1000, 999, 7}, {1, 1, 1}}) {
    const FileGrid grid = grid_of(cells, Precision::fp64);
    const Int3 chunk = chunk_of(grid);
    EXPECT_GE(most_bytes_of_cells(grid),
              first_begun_from(cells, chunk).product() * (chunk.product() * 8 + 12));
    EXPECT_LE(static_cast<double>(most_bytes_of_cells(grid)),
              1.1 * 8 * static_cast<double>(cells.product()) + 512);
  }
}

// Corners are moved out by an ulp of single precision, so that points on the surface stay inside after
// rounding; a corner at zero is not moved. faults/test_outputs.py tests the rest.
TEST(XdmfSeries, CornersHoldPointsOfTheSurface) {
  const FileGrid grid{.cells = {3, 4, 5}, .origin = {0, 1e9, -1e9}, .spacing = {0.1, 0.25, 0.25}};
  const std::string text = xdmf_text(grid, {{"a&b_00000007.hdf", 0.25, "/temperature", Precision::fp32}});
  for (const char* part :
       {">a&amp;b_00000007.hdf:/temperature<", ">-1000000000.00025 999999999.99975 0</DataItem>"})
    expect_says(text, part);
}

}  // namespace
}  // namespace isotherm
