// Snapshots by every number of ranks, whole and on purpose not.
#include "output/field_files/cell_writer.hpp"
#include "output/field_files/snapshot.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "core/error.hpp"
#include "grid/decomposition.hpp"
#include "kernels/fingerprint.hpp"
#include "output/field_files/snapshot_file.hpp"
#include "physics/dataset_reader.hpp"
#include "support/decks.hpp"
#include "support/field_by_index.hpp"
#include "support/process_grid.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

// Without a working MPI-IO rank 0 gathers, and says so; the same tests hold.
std::vector<std::string> remarks_here() {
  const std::string remark = choose_cell_writer(Communicator::world(), "/tmp").remark;
  return remark.empty() ? std::vector<std::string>{} : std::vector<std::string>{remark};
}

constexpr Index slab = SnapshotWriter::default_slab_bytes;

class Snapshot : public testing::Test {
 protected:
  Snapshot() {
    if (world_.is_root()) mine_ = std::make_unique<test::TemporaryFolder>();
    folder_ = world_.broadcast(mine_ ? mine_->path().string() : "");
    config_ = decks::base(cells_);
    config_.grid.origin = {-1, 2, 0.5};
    config_.grid.lengths = Vector3{0.17, 0.46, 0.93};
  }
  ~Snapshot() override { world_.barrier(); }  // nobody looks into the folder any more

  Box block() const {
    const Int3 grid = even_process_grid(world_.size());
    return Decomposition(cells_, grid, {}).block(world_.rank());
  }
  SnapshotWriter::Provenance provenance() const {
    return {"grid: {cells: [17, 23, 31]}  # °C\n",
            std::string(200000, 'r'),
            "0.1.0",
            "abc",
            "two words",
            "naive",
            "an MPI",
            "an HDF5"};
  }
  SnapshotWriter writer(Index slab_bytes = slab) const {
    return {config_, world_, folder_, provenance(), nullptr, slab_bytes};
  }

  template <class T>
  std::uint64_t whole_fingerprint() {
    const Field<T> field = test::field_by_index<T>(*device_, block(), cells_);
    return world_.all_reduce(fingerprint(field.view(), block().lo, cells_), ReduceOp::sum);
  }
  template <class T>
  std::string write(SnapshotWriter& to, std::int64_t sweep, double time, std::uint64_t spoil = 0) {
    const Field<T> field = test::field_by_index<T>(*device_, block(), cells_);
    return to.write(field.view(), block(), {time, sweep, whole_fingerprint<T>() ^ spoil});
  }
  template <class T>
  void expect_cells(const std::string& path) const {
    const DatasetReader reader(path, temperature_dataset);
    EXPECT_EQ(reader.type(), sizeof(T) == 4 ? StoredType::fp32 : StoredType::fp64);
    ASSERT_EQ(reader.cells(), cells_);
    std::vector<T> values(static_cast<std::size_t>(cells_.product()));
    reader.read({{0, 0, 0}, cells_}, values.data());
    std::size_t wrong = 0;
    for (Index z = 0; z < cells_.z; ++z)
      for (Index y = 0; y < cells_.y; ++y)
        for (Index x = 0; x < cells_.x; ++x)
          wrong += values[static_cast<std::size_t>(x + cells_.x * (y + cells_.y * z))] !=
                   test::value_at<T>({x, y, z}, cells_);
    EXPECT_EQ(wrong, 0u);
  }
  void expect_names(std::vector<std::string> names) const {
    if (mine_) {
      EXPECT_EQ(mine_->names(), names);
    }
    world_.barrier();
  }
  // All ranks must throw the same.
  template <class Work>
  std::string expect_refused(ExitCode code, Work&& work) {
    try {
      work();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const CollectiveError& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      return e.what();
    }
    return {};
  }

  const Communicator world_ = Communicator::world();
  const std::unique_ptr<Device> device_ = make_host_device();
  const Int3 cells_{17, 23, 31};
  std::unique_ptr<test::TemporaryFolder> mine_;
  std::string folder_;
  Config config_;
};

TEST_F(Snapshot, HoldsEveryCellAtItsPlace) {
  SnapshotWriter to = writer();
  const std::string path = write<double>(to, 12, 0.25);
  EXPECT_EQ(path, folder_ + "/test_00000012.hdf");
  expect_cells<double>(path);
  EXPECT_EQ(world_.all_reduce(fingerprint_on_disk<double>(path, block(), cells_, 100), ReduceOp::sum),
            whole_fingerprint<double>());
  const auto size = [](const std::string& name) {
    struct stat status {};
    return ::stat(name.c_str(), &status) == 0 ? status.st_size : -1;
  };
  EXPECT_EQ(to.bytes_written(), size(path));
  expect_names({"test.hdf.series", "test.xmf", "test_00000012.hdf"});
  EXPECT_EQ(to.remarks(), remarks_here());  // reserved, and collective
}

TEST_F(Snapshot, HoldsSinglePrecision) {
  SnapshotWriter to = writer();
  expect_cells<float>(write<float>(to, 0, 0));
}

// Ranks with one slab less, and slabs of a few rows, or of one cell.
TEST_F(Snapshot, AnySlabGivesTheSameCells) {
  for (const Index slab_bytes : {3000, 500, 8}) {
    SnapshotWriter to = writer(slab_bytes);
    const std::string path = write<double>(to, slab_bytes, 0);
    expect_cells<double>(path);
    EXPECT_EQ(to.remarks(), remarks_here());
  }
}

TEST_F(Snapshot, KnowsWhereItComesFrom) {
  SnapshotWriter to = writer();
  const SnapshotHeader header = read_snapshot_header(write<float>(to, 7, 1.5));
  EXPECT_EQ(header.format, 2);
  EXPECT_EQ(header.cells, cells_);
  EXPECT_EQ(header.origin, config_.grid.origin);
  EXPECT_EQ(header.spacing, spacing(config_));
  EXPECT_EQ(header.precision, Precision::fp32);
  EXPECT_EQ(header.meta.time, 1.5);
  EXPECT_EQ(header.meta.sweep, 7);
  EXPECT_EQ(header.meta.fingerprint, whole_fingerprint<float>());
  const SnapshotProvenance &from = header.provenance, wanted = provenance();
  EXPECT_EQ(from.deck, wanted.deck);
  EXPECT_EQ(from.resolved_deck, wanted.resolved_deck);
  EXPECT_EQ(from.version, wanted.version);
  EXPECT_EQ(from.git_revision, wanted.git_revision);
  EXPECT_EQ(from.device, wanted.device);
  EXPECT_EQ(from.kernel, wanted.kernel);
  EXPECT_EQ(from.mpi, wanted.mpi);
  EXPECT_EQ(from.hdf5, wanted.hdf5);
}

TEST_F(Snapshot, TheSeriesNamesThemAllOnce) {
  SnapshotWriter to = writer();
  write<float>(to, 0, 0);
  write<float>(to, 100, 0.1);
  write<float>(to, 100, 0.1);
  to.publish_series();
  world_.barrier();
  EXPECT_EQ(test::read_file(folder_ + "/test.hdf.series"), R"({
  "file-series-version": "1.0",
  "files": [
    {
      "name": "test_00000000.hdf",
      "time": 0.0
    },
    {
      "name": "test_00000100.hdf",
      "time": 0.1
    }
  ]
}
)");
}

TEST_F(Snapshot, TheSameFieldGivesTheSameBytes) {
  SnapshotWriter to = writer();
  const std::string first = test::read_file(write<double>(to, 3, 0));
  world_.barrier();
  EXPECT_TRUE(first == test::read_file(write<double>(to, 3, 0)));
}

TEST_F(Snapshot, AFolderThatIsMissingIsCannotCreate) {
  SnapshotWriter to(config_, world_, folder_ + "/none", provenance());
  const std::string text = expect_refused(ExitCode::cannot_create, [&] { write<float>(to, 0, 0); });
  EXPECT_EQ(text, folder_ +
                      "/none/test_00000000.hdf.part: creating failed (No such file or directory); check the "
                      "folder, its permissions and its free space");
}

TEST_F(Snapshot, ANameThatIsTakenByAFolderIsIo) {
  if (mine_) ::mkdir((folder_ + "/test_00000000.hdf").c_str(), 0777);
  SnapshotWriter to = writer();
  expect_refused(ExitCode::io, [&] { write<float>(to, 0, 0); });
  expect_names({"test_00000000.hdf"});
  expect_cells<float>(write<float>(to, 1, 0));  // and the run can go on
}

// What a file system that loses data looks like from here: the cells on the disk are not those of the field.
TEST_F(Snapshot, WhatReadsBackWrongNeverGetsItsName) {
  SnapshotWriter to = writer();
  const std::string text = expect_refused(ExitCode::io, [&] { write<float>(to, 0, 0, 1); });
  EXPECT_NE(text.find("does not hold what was written"), std::string::npos) << text;
  expect_names({});
}

TEST_F(Snapshot, AFlippedBitChangesTheFingerprintOnDisk) {
  SnapshotWriter to = writer();
  const std::string path = write<double>(to, 0, 0);
  const auto on_disk = [&] {
    return world_.all_reduce(fingerprint_on_disk<double>(path, block(), cells_, slab), ReduceOp::sum);
  };
  EXPECT_EQ(on_disk(), whole_fingerprint<double>());
  world_.barrier();
  if (mine_) {
    const double last = test::value_at<double>({16, 22, 30}, cells_);
    std::string bytes = test::read_file(path);
    const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&last), sizeof last));
    ASSERT_NE(at, std::string::npos);
    bytes[at] ^= 1;
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  world_.barrier();
  EXPECT_NE(on_disk(), whole_fingerprint<double>());
}

TEST_F(Snapshot, ATruncatedFileIsIo) {
  SnapshotWriter to = writer();
  const std::string path = write<double>(to, 0, 0);
  world_.barrier();
  if (mine_) {
    EXPECT_EQ(::truncate(path.c_str(), to.bytes_written() - 8), 0);
  }
  world_.barrier();
  try {
    fingerprint_on_disk<double>(path, block(), cells_, slab);
    ADD_FAILURE() << "read";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::io);
  }
}

TEST_F(Snapshot, AFileSizeLimitIsARefusalAndNotASignal) {
  SnapshotWriter to = writer();
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 40000;  // more than the header, less than the cells
  ::setrlimit(RLIMIT_FSIZE, &small);
  config_.name = "limited";
  const std::string text = expect_refused(ExitCode::io, [&] { write<double>(to, 0, 0); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(text.find("no room for the file (File too large: "), std::string::npos) << text;
  expect_names({});
  expect_cells<double>(write<double>(to, 0, 0));
}

TEST_F(Snapshot, AFullDiskIsRefusedAndTheFormerFilesStay) {
  std::string problem;
  if (mine_ && ::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=400k") != 0)
    problem = std::strerror(errno);
  problem = world_.broadcast(problem);
  if (!problem.empty()) GTEST_SKIP() << "no right to mount a small tmpfs: " << problem;
  SnapshotWriter to = writer(2000);
  const std::string first = write<double>(to, 0, 0);
  const std::string text = expect_refused(ExitCode::io, [&] { write<double>(to, 1, 1); });
  EXPECT_NE(text.find("test_00000001.hdf.part: no room for the file (No space left on device: "),
            std::string::npos)
      << text;
  expect_names({"test.hdf.series", "test.xmf", "test_00000000.hdf"});
  EXPECT_EQ(world_.all_reduce(fingerprint_on_disk<double>(first, block(), cells_, slab), ReduceOp::sum),
            whole_fingerprint<double>());
  world_.barrier();
  if (mine_) {
    EXPECT_EQ(::umount(folder_.c_str()), 0);
  }
}

}  // namespace
}  // namespace isotherm
