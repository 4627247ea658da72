// Compressed files: the same cells wherever blocks cut the chunks.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>

#include "grid/decomposition.hpp"
#include "kernels/fingerprint.hpp"
#include "output/field_files/cell_writer.hpp"
#include "output/field_files/compression.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/field_files/snapshot_file.hpp"
#include "physics/dataset_reader.hpp"
#include "support/decks.hpp"
#include "support/field_by_index.hpp"
#include "support/process_grid.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

class SnapshotCompressed : public testing::Test {
 protected:
  SnapshotCompressed() {
    if (world_.is_root()) mine_ = std::make_unique<test::TemporaryFolder>();
    folder_ = world_.broadcast(mine_ ? mine_->path().string() : "");
    config_ = decks::base(cells_);
    config_.output.compression = 1;
  }
  ~SnapshotCompressed() override { world_.barrier(); }

  Box block(Int3 grid) const { return Decomposition(cells_, grid, {}).block(world_.rank()); }

  // With the fingerprint of what the writer was given.
  template <class T>
  std::string write(SnapshotWriter& to, Int3 grid, std::int64_t sweep) {
    const Field<T> field = test::field_by_index<T>(*device_, block(grid), cells_);
    const std::uint64_t whole =
        world_.all_reduce(fingerprint(field.view(), block(grid).lo, cells_), ReduceOp::sum);
    return to.write(field.view(), block(grid), {0, sweep, whole});
  }

  template <class T>
  void expect_cells(const std::string& path) const {
    const DatasetReader reader(path, temperature_dataset);
    ASSERT_EQ(reader.cells(), cells_);
    std::vector<T> values(static_cast<std::size_t>(cells_.product()));
    reader.read({{0, 0, 0}, cells_}, values.data());
    std::size_t wrong = 0, i = 0;
    for (Index z = 0; z < cells_.z; ++z)
      for (Index y = 0; y < cells_.y; ++y)
        for (Index x = 0; x < cells_.x; ++x) wrong += values[i++] != test::value_at<T>({x, y, z}, cells_);
    EXPECT_EQ(wrong, 0u);
  }

  const Communicator world_ = Communicator::world();
  const std::unique_ptr<Device> device_ = make_host_device();
  const Int3 cells_{131, 70, 66};  // two chunks along x and y, one of a column less
  std::unique_ptr<test::TemporaryFolder> mine_;
  std::string folder_;
  Config config_;
};

// Chunks that lie in several blocks, blocks without a chunk of their own, a call a chunk.
TEST_F(SnapshotCompressed, HoldsEveryCellForEveryProcessGrid) {
  const std::string remark = choose_cell_writer(world_, folder_).remark;
  std::int64_t sweep = 0;
  for (const Int3 grid : process_grids(world_.size(), cells_)) {
    SCOPED_TRACE(fmt::format("process grid {} x {} x {}", grid.x, grid.y, grid.z));
    for (const Index slab_bytes : {SnapshotWriter::default_slab_bytes, Index{8}}) {
      SnapshotWriter to(config_, world_, folder_, {}, nullptr, slab_bytes);
      const std::string path = write<double>(to, grid, ++sweep);
      expect_cells<double>(path);
      EXPECT_EQ(to.remarks(),
                remark.empty() ? std::vector<std::string>{} : std::vector{remark});  // collective
      const DatasetReader reader(path, temperature_dataset);
      EXPECT_EQ(reader.chunk(), (Int3{66, 35, 66}));
      EXPECT_LT(reader.stored_bytes(), cells_.product() * 8 / 4);
    }
  }
}

TEST_F(SnapshotCompressed, HoldsSinglePrecision) {
  config_.output.precision = OutputPrecision::fp32;
  SnapshotWriter to(config_, world_, folder_, {});
  const Int3 grid = even_process_grid(world_.size());
  expect_cells<float>(write<float>(to, grid, 0));
}

// No byte of memory that nobody wrote, and no place that depends on who was first.
TEST_F(SnapshotCompressed, TheSameFieldGivesTheSameBytes) {
  SnapshotWriter to(config_, world_, folder_, {});
  const Int3 grid = even_process_grid(world_.size());
  const std::string first = test::read_file(write<double>(to, grid, 3));
  world_.barrier();
  EXPECT_TRUE(first == test::read_file(write<double>(to, grid, 3)));
}

TEST_F(SnapshotCompressed, TheSpaceThatWasReservedIsGivenBack) {
  SnapshotWriter to(config_, world_, folder_, {});
  const std::string path = write<double>(to, even_process_grid(world_.size()), 0);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(to.bytes_written(), status.st_size);
  EXPECT_LT(status.st_size, cells_.product() * 8 / 4);
  EXPECT_LT(status.st_blocks * 512, status.st_size + (256 << 10));
  WritingRecord record;
  to.add_to(record);
  EXPECT_EQ(record.cell_bytes, cells_.product() * 8);
  EXPECT_EQ(record.bytes, status.st_size);
}

}  // namespace
}  // namespace isotherm
