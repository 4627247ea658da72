// Files of a part of the field hold the same cells for every process grid, known from their indices alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "config/parts.hpp"
#include "grid/decomposition.hpp"
#include "output/field_files/slabs.hpp"
#include "output/field_files/snapshot.hpp"
#include "physics/dataset_reader.hpp"
#include "support/decks.hpp"
#include "support/field_by_index.hpp"
#include "support/process_grid.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

class PartFiles : public testing::Test {
 protected:
  PartFiles() {
    if (world_.is_root()) mine_ = std::make_unique<test::TemporaryFolder>();
    folder_ = world_.broadcast(mine_ ? mine_->path().string() : "");
  }
  ~PartFiles() override { world_.barrier(); }

  double value_at(Int3 cell, Int3 cells) const { return test::value_at<double>(cell, cells) / divisor_; }

  template <class T>
  Field<T> field_of(Box block, Int3 cells) const {
    Field<T> field = test::field_by_index<T>(*device_, block, cells);
    const FieldView<T> view = field.view();
    for (Index z = 0; z < view.extent.z; ++z)
      for (Index y = 0; y < view.extent.y; ++y)
        for (Index x = 0; x < view.extent.x; ++x)
          view(x, y, z) = static_cast<T>(value_at(Int3{x, y, z} + block.lo, cells));
    return field;
  }

  template <class T>
  SnapshotHeader write(const Config& config, const FieldPart& part, Int3 process_grid) {
    const Int3 cells = config.grid.cells;
    const Box block = Decomposition(cells, process_grid, {}).block(world_.rank());
    const Field<T> field = field_of<T>(block, cells);
    SnapshotWriter writer(config, grid_of(config, part), world_, folder_, {}, nullptr, slab_bytes_);
    const PartCells<T> mine = cut<T>(field.view(), block, part.box);
    path_ = writer.write(mine.cells, mine.in_file, {0.5, 7, writer.fingerprint(mine.cells, mine.in_file)});
    return read_snapshot_header(path_);
  }

  template <class Stored>
  void expect_cells(const Config& config, const FieldPart& part) {
    const DatasetReader reader(path_, temperature_dataset);
    EXPECT_EQ(reader.type(), sizeof(Stored) == 4 ? StoredType::fp32 : StoredType::fp64);
    ASSERT_EQ(reader.cells(), part.cells());
    std::vector<Stored> values(static_cast<std::size_t>(part.cells().product()));
    reader.read({{0, 0, 0}, part.cells()}, values.data());
    std::size_t wrong = 0, i = 0;
    for (Index z = part.box.lo.z; z < part.box.hi.z; ++z)
      for (Index y = part.box.lo.y; y < part.box.hi.y; ++y)
        for (Index x = part.box.lo.x; x < part.box.hi.x; ++x)
          wrong += values[i++] != static_cast<Stored>(value_at({x, y, z}, config.grid.cells));
    EXPECT_EQ(wrong, 0u);
  }

  // A file for every process grid, all with the same fingerprint.
  template <class T, class Stored = T>
  void expect_one_answer(Config config) {
    if (!std::is_same_v<T, Stored>) config.output.precision = OutputPrecision::fp32;
    for (const FieldPart& part : field_parts(config)) {
      std::vector<std::uint64_t> fingerprints;
      for (const Int3 grid : process_grids(world_.size(), config.grid.cells)) {
        const SnapshotHeader header = write<T>(config, part, grid);
        EXPECT_EQ(header.kind, std::string("isotherm ").append(word(part.kind)));
        EXPECT_EQ(header.cells, part.cells());
        EXPECT_EQ(header.grid_cells, config.grid.cells);
        EXPECT_EQ(header.first_cell, part.box.lo);
        EXPECT_EQ(header.origin, grid_of(config, part).origin);
        expect_cells<Stored>(config, part);
        fingerprints.push_back(header.meta.fingerprint);
        EXPECT_EQ(fingerprints.back(), fingerprints.front());
        world_.barrier();  // the next file has the same name
      }
    }
  }

  // A plane across each axis, at both ends and within, and a box that no face of a block meets.
  static Config config_of(Int3 cells) {
    Config config = decks::base(cells);
    for (int axis = 0; axis < 3; ++axis) {
      for (const Index cell : std::set<Index>{0, cells[axis] / 2, cells[axis] - 1}) {
        SliceConfig slice;
        slice.axis = axis;
        slice.cell = cell;
        config.output.slices.push_back(slice);
      }
    }
    config.output.region.first_cell = Int3{cells.x / 4, cells.y / 3, cells.z / 5};
    config.output.region.last_cell = Int3{cells.x - 1 - cells.x / 3, cells.y - 1, cells.z - 1 - cells.z / 4};
    return config;
  }

  const Communicator world_ = Communicator::world();
  const std::unique_ptr<Device> device_ = make_host_device();
  std::unique_ptr<test::TemporaryFolder> mine_;
  std::string folder_, path_;
  double divisor_ = 1;  // 3: values that have no exact fp32
  Index slab_bytes_ = SnapshotWriter::default_slab_bytes;
};

TEST_F(PartFiles, HoldTheSameCellsForEveryProcessGrid) {
  expect_one_answer<double>(config_of({11, 7, 13}));
}

TEST_F(PartFiles, AreSinglePrecisionLikeTheirField) {
  expect_one_answer<float>(config_of({5, 6, 7}));
}

TEST_F(PartFiles, OfAGridOneCellThick) {
  expect_one_answer<double>(config_of({9, 1, 10}));
}

TEST_F(PartFiles, InSlabsOfAFewCells) {
  slab_bytes_ = 40;
  expect_one_answer<double>(config_of({5, 6, 7}));
}

TEST_F(PartFiles, AreRoundedWhereTheDeckWantsIt) {
  divisor_ = 3;
  expect_one_answer<double, float>(config_of({11, 7, 13}));
  slab_bytes_ = 40;
  expect_one_answer<double, float>(config_of({5, 6, 7}));
}

}  // namespace
}  // namespace isotherm
