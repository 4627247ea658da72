// How files are written: room, names, the thread beside the sweeps, slabs and chunks, what ParaView is told.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <future>
#include <stdexcept>
#include <vector>

#include "core/error.hpp"
#include "output/field_files/cell_boxes.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/field_files/snapshot_file.hpp"
#include "output/file_thread.hpp"
#include "output/safe_file.hpp"
#include "support/error_text.hpp"
#include "support/repeat.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

struct stat status_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status;
}

// Sparse files, as a truncation leaves them, are filled too.
TEST(ReserveSpace, TheBlocksAreTheFiles) {
  for (const std::int64_t length : {0, 200000}) {
    const test::TemporaryFolder folder;
    const std::string path = folder / "file";
    create_empty_file(path);
    ASSERT_EQ(::truncate(path.c_str(), length), 0);
    if (reserve_space(path, 100000) != Reserved::on_disk)
      GTEST_SKIP() << "the temporary folder cannot reserve";
    const struct stat status = status_of(path);
    EXPECT_EQ(status.st_size, std::max<std::int64_t>(length, 100000));
    EXPECT_GE(status.st_blocks * 512, status.st_size);
  }
}

TEST(ReserveSpace, BehindTheEndOfAFileItIsGivenBack) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "file";
  create_empty_file(path);
  if (reserve_space(path, 1 << 20, FileSize::stays) != Reserved::on_disk)
    GTEST_SKIP() << "the temporary folder cannot reserve";
  EXPECT_EQ(status_of(path).st_size, 0);
  EXPECT_GE(status_of(path).st_blocks * 512, 1 << 20);
  ASSERT_EQ(::truncate(path.c_str(), 5000), 0);
  ASSERT_EQ(reserve_space(path, 1 << 20, FileSize::stays), Reserved::on_disk);
  release_space(path);
  EXPECT_EQ(status_of(path).st_size, 5000);
  EXPECT_LT(status_of(path).st_blocks * 512, 1 << 17);
}

TEST(ReserveSpace, RefusesWithPathAndBytes) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "file";
  create_empty_file(path);
  const std::string text = refusal([&] { reserve_space(path, std::int64_t{1} << 60); }, ExitCode::io);
  EXPECT_EQ(text.find(path + ": no room for the file ("), 0u) << text;
  expect_says(text, ": 1152921504606846976 bytes wanted, ");
}

// ramfs knows no fallocate and does not say what is free.
TEST(ReserveSpace, WhereTheFileSystemCannotReserveItIsAnEstimate) {
  const test::TemporaryFolder folder;
  if (::mount("ramfs", folder.path().c_str(), "ramfs", 0, "") != 0)
    GTEST_SKIP() << "no right to mount a ramfs: " << std::strerror(errno);
  const std::string path = folder / "file";
  create_empty_file(path);
  EXPECT_EQ(reserve_space(path, 100000), Reserved::estimated);
  EXPECT_EQ(::umount(folder.path().c_str()), 0);
}

using test::TemporaryFolder;

TEST(SafeFile, ReplacesTheWholeFileAndLeavesNoPart) {
  const TemporaryFolder folder;
  const std::string name = "a%s{}\n..b";  // no format
  for (const std::string& text : {std::string(1 << 20, 'a'), std::string("b\0c", 3)}) {
    write_file_atomically(folder / name, text);
    EXPECT_EQ(test::read_file(folder / name), text);
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{name});
}

TEST(SafeFile, AMissingFolderIsCannotCreate) {
  const TemporaryFolder folder;
  refusal([&] { write_file_atomically(folder / "{}%s/file", "x"); }, ExitCode::cannot_create);
  refusal([&] { create_empty_file(folder / std::string(300, 'n')); }, ExitCode::cannot_create);
}

// The old file stays when the new one cannot take its name: here, because the name is a folder's.
TEST(SafeFile, AFailedRenameIsIoAndLeavesNothingBehind) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkdir((folder / "taken").c_str(), 0777), 0);
  refusal([&] { write_file_atomically(folder / "taken", "x"); }, ExitCode::io);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"taken"});
}

TEST(SafeFile, AFullDiskIsIoAndKeepsTheOldFile) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "old");
  ASSERT_EQ(::symlink("/dev/full", (folder / "file.part").c_str()), 0);
  refusal([&] { write_file_atomically(folder / "file", "new"); }, ExitCode::io);
  EXPECT_EQ(test::read_file(folder / "file"), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"file"});
}

// Who writes files beside the sweeps, and what happens to what it throws.

void fail() {
  throw std::runtime_error("the disk is full");
}

TEST(FileThread, WritesInOrderBesideItsCaller) {
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

TEST(FileThread, WithAReasonItWritesInStep) {
  FileThread files("no threads here");
  std::thread::id by;
  files.start([&] { by = std::this_thread::get_id(); });
  EXPECT_TRUE(files.in_step());
  EXPECT_EQ(files.why_in_step(), "no threads here");
  EXPECT_EQ(by, std::this_thread::get_id());
  EXPECT_GT(files.waited(), 0);
  EXPECT_THROW(files.start(fail), std::runtime_error);
}

// Not by who waits for an earlier file, whenever the later one has failed: ranks would part there.
TEST(FileThread, AnErrorMeetsWhoWaitsForItsFileOrALaterOne) {
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

TEST(FileThread, EndsWhatWasStartedBeforeItEnds) {
  std::atomic<int> written = 0;
  {
    FileThread files("");
    for (int i = 0; i < 20; ++i) files.start([&] { ++written; });
  }
  EXPECT_EQ(written, 20);
  {
    FileThread files("");
    files.start(fail);  // nobody asks any more
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

// In the order of memory, without gap or overlap: each slab starts at the cell behind the last of the one
// before. Slabs of whole planes or rows make that a statement about linear indices.
void expect_cover(Int3 extent, Index max_cells) {
  Index next = 0;
  for (const Box slab : cut_into_slabs(extent, max_cells)) {
    EXPECT_FALSE(slab.empty());
    EXPECT_LE(slab.cells(), max_cells);
    EXPECT_EQ(slab.lo.x + extent.x * (slab.lo.y + extent.y * slab.lo.z), next);
    if (slab.extent().z > 1) {
      EXPECT_EQ(slab.extent().x * slab.extent().y, extent.x * extent.y);
    }
    if (slab.extent().y > 1) {
      EXPECT_EQ(slab.extent().x, extent.x);
    }
    next += slab.cells();
  }
  EXPECT_EQ(next, extent.product());
}

TEST(Slabs, CoverRandomBoxesInOrder) {
  Random random;
  for (int i = 0; i < 300; ++i) {
    const auto draw = [&](Index most) { return random.between<Index>(1, most); };
    expect_cover({draw(9), draw(9), draw(9)}, draw(120));
  }
}

TEST(Slabs, StayBelowTwoGigabytes) {
  const Index most = (Index{1} << 30) / 8;
  expect_cover({2048, 2048, 2048}, most);      // 64 GiB: planes
  expect_cover({1 << 16, 1 << 16, 2}, most);   // planes of 32 GiB: rows
  expect_cover({Index{1} << 32, 2, 3}, most);  // rows of 32 GiB: parts of them
}

// Each cell is in one slab, and each chunk too, unless the box itself ends within it.
TEST(Slabs, CutNoChunk) {
  Random random;
  for (int i = 0; i < 300; ++i) {
    const auto draw = [&](Index least, Index most) { return random.between(least, most); };
    const Int3 lo{draw(0, 9), draw(0, 9), draw(0, 9)}, chunk{draw(1, 4), draw(1, 4), draw(1, 4)};
    const Box box{lo, lo + Int3{draw(1, 9), draw(1, 9), draw(1, 9)}};
    const Index most = draw(1, 120);
    Index cells = 0;
    for (const Box slab : cut_into_slabs(box, chunk, most)) {
      ASSERT_FALSE(slab.empty());
      EXPECT_EQ(intersect(slab, box), slab);
      EXPECT_LE(slab.cells(), std::max(most, chunk.product()));
      for (int axis = 0; axis < 3; ++axis) {
        EXPECT_TRUE(slab.lo[axis] == box.lo[axis] || slab.lo[axis] % chunk[axis] == 0);
        EXPECT_TRUE(slab.hi[axis] == box.hi[axis] || slab.hi[axis] % chunk[axis] == 0);
      }
      cells += slab.cells();
    }
    EXPECT_EQ(cells, box.cells());
  }
  EXPECT_TRUE(cut_into_slabs(Box{}, {2, 2, 2}, 100).empty());
}

FileGrid grid_of(Int3 cells, Precision precision, int level = 1) {
  FileGrid grid;
  grid.cells = cells;
  grid.precision = precision;
  grid.compression = level;
  return grid;
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

TEST(Compression, WithoutThereAreNoChunks) {
  const FileGrid grid = grid_of({512, 256, 128}, Precision::fp32, 0);
  EXPECT_EQ(chunk_of(grid), (Int3{1, 1, 1}));
  EXPECT_EQ(most_bytes_of_cells(grid), 512 * 256 * 128 * 4);
}

TEST(Compression, WhatDoesNotCompressHasItsRoom) {
  for (const Int3 cells : {Int3{512, 512, 512}, {1000, 999, 7}, {1, 1, 1}}) {
    const FileGrid grid = grid_of(cells, Precision::fp64);
    const Int3 chunk = chunk_of(grid);
    EXPECT_GE(most_bytes_of_cells(grid), up(cells, chunk).product() * (chunk.product() * 8 + 12));
    EXPECT_LE(static_cast<double>(most_bytes_of_cells(grid)),
              1.1 * 8 * static_cast<double>(cells.product()) + 512);
  }
}

// An ulp of single precision beyond the corners, so that points on the surface are within when they are
// rounded.
TEST(XdmfSeries, CountsZFirstAndGivesCornersNotCentres) {
  FileGrid grid;
  grid.stem = "a&b";
  grid.cells = {3, 4, 5};
  grid.origin = {-1, 0.5, 2};
  grid.spacing = {0.1, 0.2, 0.3};
  const std::string text = xdmf_text(grid, {{"a&b_00000007.hdf", 0.25, "/temperature", Precision::fp32}});
  for (const char* part :
       {"Dimensions=\"6 5 4\"", "Dimensions=\"5 4 3\"", ">a&amp;b_00000007.hdf:/temperature<",
        ">1.999999761581421 0.4999999403953552 -1.0000001192092896<",
        ">0.30000013113021884 0.20000005364418055 0.10000006755193087<"})
    expect_says(text, part);
}

TEST(XdmfSeries, ACornerAtZeroStaysThereAndFarOnesMoveLessThanACell) {
  FileGrid grid;
  grid.cells = {4, 1, 1};
  grid.origin = {0, 1e9, -1e9};
  grid.spacing = {0.25, 0.25, 0.25};
  const std::string text = xdmf_text(grid, {{"a_00000007.hdf", 0, "/temperature", Precision::fp64}});
  expect_says(text, ">-1000000000.00025 999999999.99975 0</DataItem>");
}

}  // namespace
}  // namespace isotherm
