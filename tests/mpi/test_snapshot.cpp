// Snapshots and files of parts of the field, on every number of ranks and process grid; intact and damaged on
// purpose.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <set>
#include <tuple>

#include "app/time_loop.hpp"
#include "backend_fixture.hpp"
#include "config/parts.hpp"
#include "core/error.hpp"
#include "kernels/fingerprint.hpp"
#include "output/field_files/cell_boxes.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/field_files/snapshot_file.hpp"
#include "output/run_directory.hpp"
#include "physics/dataset_reader.hpp"
#include "solver/schedule.hpp"
#include "support/decks.hpp"
#include "support/error_text.hpp"
#include "support/field_by_index.hpp"

namespace isotherm {
namespace {

// Without a working MPI-IO, rank 0 gathers the cells and reports it; the same tests must pass.
std::vector<std::string> warnings_here() {
  const std::string warning = choose_way_to_write(Communicator::world(), "/tmp").warning;
  return warning.empty() ? std::vector<std::string>{} : std::vector<std::string>{warning};
}

class FilesOfAll : public testing::Test {
 protected:
  explicit FilesOfAll(Int3 cells = {17, 23, 31}) : cells_(cells), config_(decks::base(cells)) {}

  static Int3 even_grid() { return even_process_grid(Communicator::world().size()); }
  Box subdomain(Int3 grid = even_grid()) const {
    return Decomposition(cells_, grid, {}).subdomain(world_.rank());
  }

  template <class T>
  std::string write(SnapshotWriter& to, std::int64_t sweep, Int3 grid = even_grid()) {
    const Field<T> field = test::field_by_index<T>(*device_, subdomain(grid), cells_);
    return to.start([&] { return field.view(); }, subdomain(grid), 0, sweep);
  }

  // `at`: the value of a cell of the grid.
  template <class T, class At>
  void expect_stored(const std::string& path, Box box, At at) const {
    const DatasetReader reader(path, temperature_dataset);
    EXPECT_EQ(reader.type(), sizeof(T) == 4 ? StoredType::fp32 : StoredType::fp64);
    ASSERT_EQ(reader.cells(), box.extent());
    std::vector<T> values(static_cast<std::size_t>(box.cells()));
    reader.read({{0, 0, 0}, box.extent()}, values.data());
    std::size_t wrong = 0, i = 0;
    for_each_cell(box, [&](Int3 cell) { wrong += values[i++] != static_cast<T>(at(cell)); });
    EXPECT_EQ(wrong, 0u);
  }
  template <class T>
  void expect_cells(const std::string& path) const {
    expect_stored<T>(path, {{0, 0, 0}, cells_}, [&](Int3 c) { return test::value_at<T>(c, cells_); });
  }
  // A file written twice has the same bytes: no uninitialised memory, no layout that depends on timing.
  void expect_same_bytes(SnapshotWriter& to) {
    const std::string first = test::read_file(write<double>(to, 3));
    world_.barrier();
    EXPECT_TRUE(first == test::read_file(write<double>(to, 3)));
  }

  const Communicator world_ = Communicator::world();
  const std::unique_ptr<Device> device_ = make_host_device();
  const FolderOfAll folder_;
  const Int3 cells_;
  Config config_;
  mutable FileThread in_step_{"tests wait for their files"};
};

class Snapshot : public FilesOfAll {
 protected:
  Snapshot() {
    config_.grid.origin = {-1, 2, 0.5};
    config_.grid.lengths = Vector3{0.17, 0.46, 0.93};
  }

  // With long texts: after short ones, HDF5 leaves a gap of undefined bytes on many ranks.
  SnapshotWriter writer() const {
    return {config_,
            grid_of_snapshots(config_),
            world_,
            folder_.path(),
            {"grid: {cells: [17, 23, 31]}  # °C\n", std::string(200000, 'r'), "0.1.0", "abc", "two words",
             "naive", "an MPI", "an HDF5"},
            in_step_};
  }
};

TEST_F(Snapshot, HoldsEveryCellAtItsPlace) {
  SnapshotWriter to = writer();
  const std::string path = write<double>(to, 12);
  EXPECT_EQ(path, folder_ / "test_00000012.hdf");
  expect_cells<double>(path);
  const Field<double> field = test::field_by_index<double>(*device_, subdomain(), cells_);
  EXPECT_EQ(fingerprint_on_disk(path, subdomain(), cells_, Precision::fp64, 100),
            fingerprint(field.view(), subdomain().lo, cells_));
  folder_.expect_names({"test.hdf.series", "test.xmf", "test_00000012.hdf"});
  EXPECT_EQ(in_step_.warnings(), warnings_here());  // space is reserved, writes are collective
  expect_same_bytes(to);
}

TEST_F(Snapshot, AMissingFolderGivesTheCodeCannotCreate) {
  SnapshotWriter to(config_, grid_of_snapshots(config_), world_, folder_ / "none", {}, in_step_);
  expect_start(refusal<CollectiveError>([&] { write<float>(to, 0); }, ExitCode::cannot_create),
               folder_ / "none/test_00000000.hdf.part: creating failed (No such file or directory); check ");
}

TEST_F(Snapshot, AFolderOfTheSameNameGivesTheCodeIo) {
  if (world_.is_root()) std::filesystem::create_directory(folder_ / "test_00000000.hdf");
  SnapshotWriter to = writer();
  refusal<CollectiveError>([&] { write<float>(to, 0); }, ExitCode::io);
  folder_.expect_names({"test_00000000.hdf"});
  expect_cells<float>(write<float>(to, 1));  // the run can continue
}

// Simulates a file system that loses data: the cells on the disk differ from those of the field.
TEST_F(Snapshot, AFileThatReadsBackWrongNeverGetsItsFinalName) {
  SnapshotWriter to = writer();
  const Field<float> field = test::field_by_index<float>(*device_, subdomain(), cells_);
  const SnapshotMeta of_another{.fingerprint = 1};
  const auto write = [&] {
    to.write_file("test_00000000.hdf", field.view(), subdomain(), of_another, std::nullopt);
  };
  expect_says(refusal<CollectiveError>(write, ExitCode::io), "does not hold what was written");
  folder_.expect_names({});
}

// Files of a part of the field hold the same cells for every process grid, known from their indices alone.

class PartFiles : public FilesOfAll {
 protected:
  // Writes a file for every process grid; all have the same fingerprint.
  template <class T, class Stored = T>
  void expect_one_answer(Config config) {
    if (!std::is_same_v<T, Stored>) config.output.precision = OutputPrecision::fp32;
    const Int3 cells = config.grid.cells;
    for (const FieldPart& part : field_parts(config)) {
      std::set<std::uint64_t> fingerprints;
      for (const Int3 process_grid : process_grids(world_.size(), cells)) {
        const Box subdomain = Decomposition(cells, process_grid, {}).subdomain(world_.rank());
        const Field<T> field = test::field_by_index<T>(*device_, subdomain, cells, 1, divisor_);
        SnapshotWriter to(config, grid_of(config, part), world_, folder_.path(), {}, in_step_, slab_bytes_);
        const Box common = subdomain.within(part.box);
        FieldView<const T> mine;
        if (!common.empty()) mine = field.view().part(common.shifted(Int3{} - subdomain.lo));
        const std::string path = to.start([&] { return mine; }, common.shifted(Int3{} - part.box.lo), 0.5, 7);
        const SnapshotHeader header = read_snapshot_header(path);
        EXPECT_EQ(header.kind, std::string("isotherm ").append(word(part.kind)));
        EXPECT_EQ(header.cells, part.cells());
        EXPECT_EQ(header.grid_cells, cells);
        EXPECT_EQ(header.first_cell, part.box.lo);
        EXPECT_EQ(header.origin, grid_of(config, part).origin);
        expect_stored<Stored>(path, part.box,
                              [&](Int3 c) { return test::value_at<double>(c, cells, divisor_); });
        fingerprints.insert(header.meta.fingerprint);
        world_.barrier();  // the next file has the same name
      }
      EXPECT_EQ(fingerprints.size(), 1u);
    }
  }

  // A plane across each axis, at both ends and within (with `few`, at one end), and a box that touches no
  // face of a subdomain.
  static Config config_of(Int3 cells, bool few = true) {
    Config config = decks::base(cells);
    for (int axis = 0; axis < 3; ++axis) {
      for (const Index cell : std::set<Index>{0, cells[axis] / 2, cells[axis] - 1}) {
        if (few && cell != (axis == 1 ? 0 : cells[axis] - 1)) continue;
        config.output.slices.push_back({.axis = axis, .cell = cell});
      }
    }
    config.output.region.first_cell = Int3{cells.x / 4, cells.y / 3, cells.z / 5};
    config.output.region.last_cell = Int3{cells.x - 1 - cells.x / 3, cells.y - 1, cells.z - 1 - cells.z / 4};
    return config;
  }

  double divisor_ = 1;  // 3: values that are not exact in fp32
  Index slab_bytes_ = SnapshotWriter::default_slab_bytes;
};

// Of thin grids too, in small slabs, in single precision, and rounded to it.
TEST_F(PartFiles, HoldTheSameCellsForEveryProcessGrid) {
  expect_one_answer<double>(config_of({11, 7, 13}, false));
  expect_one_answer<double>(config_of({9, 1, 10}));
  slab_bytes_ = 40;
  expect_one_answer<float>(config_of({5, 6, 7}));
  divisor_ = 3;
  expect_one_answer<double, float>(config_of({5, 6, 7}));
  slab_bytes_ = SnapshotWriter::default_slab_bytes;
  expect_one_answer<double, float>(config_of({11, 7, 13}));
}

// Compressed files hold the same cells wherever subdomains cut the chunks.

class SnapshotCompressed : public FilesOfAll {
 protected:
  SnapshotCompressed() : FilesOfAll({131, 70, 66}) {  // two chunks along x and y, one a column smaller
    config_.output.compression = 1;
  }
};

// Chunks that span several subdomains, subdomains without a chunk of their own, one call per chunk.
TEST_F(SnapshotCompressed, HoldsEveryCellForEveryProcessGrid) {
  std::int64_t sweep = 0;
  for (const Int3 grid : process_grids(world_.size(), cells_)) {
    SCOPED_TRACE(fmt::format("process grid {}", text(grid)));
    for (const Index slab_bytes : {SnapshotWriter::default_slab_bytes, Index{8}}) {
      SnapshotWriter to(config_, grid_of_snapshots(config_), world_, folder_.path(), {}, in_step_,
                        slab_bytes);
      const std::string path = write<double>(to, ++sweep, grid);
      expect_cells<double>(path);
      EXPECT_EQ(in_step_.warnings(), warnings_here());  // collective
    }
  }
}

TEST_F(SnapshotCompressed, ReleasesTheReservedSpace) {
  SnapshotWriter to(config_, grid_of_snapshots(config_), world_, folder_.path(), {}, in_step_);
  const std::string path = write<double>(to, 0);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_LT(status.st_size, cells_.product() * 8 / 4);
  EXPECT_LT(status.st_blocks * 512, status.st_size + (256 << 10));
  expect_same_bytes(to);
}

// Promise: a run that resumes from a checkpoint has the bits of an uninterrupted run, on any number of ranks
// and process grid, in every cell, residual and decision.

class Checkpoint : public BackendTest {
 protected:
  struct Part {  // of a run
    LoopOutcome outcome;
    std::uint64_t fingerprint = 0;
    std::int64_t sweeps = 0;
  };

  std::string file(std::int64_t sweep) const { return folder_ / checkpoint_name("test", sweep); }

  // Runs from the checkpoint of sweep `from`, or from the start. Writes checkpoints as the deck requests.
  template <class T>
  Part run(const Config& config, Int3 process_grid, const Communicator& ranks,
           std::optional<std::int64_t> from = {}) {
    std::optional<SnapshotHeader> header;
    std::optional<StoredField> stored;
    if (from) {
      header = read_checkpoint_header(file(*from));
      stored = {file(*from), temperature_dataset, header->meta.sweep};
    }
    Solver<T> solver = solver_of<T>(config, blocks_of(config, process_grid, ghost_layers(config)), ranks,
                                    device(), true, false, stored);
    if (from) {
      EXPECT_EQ(solver.fingerprint(), header->meta.fingerprint);
    }
    LoopOutputs<T> outputs{FileThread("in step")};
    if (config.output.checkpoint.has_interval())
      outputs.checkpoints.emplace(config, ranks, folder_.path(), SnapshotProvenance{}, in_step_);
    const LoopOutcome outcome =
        run_time_loop<T>(config, solver, nullptr, outputs,
                         {.world = ranks, .started = {}, .resumed = from ? &*header->checkpoint : nullptr});
    return {outcome, solver.fingerprint(), solver.sweeps()};
  }

  static void expect_same(const Part& a, const Part& b) {
    const auto all_of = [](const Part& p) {
      const Residual& r = p.outcome.residual;
      return std::tuple(p.fingerprint, p.sweeps, r.first, r.last, r.last_sweep, r.checks, r.convergence,
                        r.extra_sweeps);
    };
    EXPECT_EQ(all_of(a), all_of(b));
  }

  template <class T>
  void expect_same_rest(Config config, const std::vector<std::int64_t>& stops) {
    config.output.checkpoint = {};
    config.solver.kernel = device().backend() == Backend::host ? "openmp" : "naive";
    config.solver.reduction = "reproducible";
    config.parallel.transport = "host";  // measuring transports takes longer than the sweeps
    const int n = world().size();
    const Part whole = run<T>(config, even_process_grid(n), world());
    for (const std::int64_t stop : stops) {
      if (left_out(device(), 3)) continue;
      SCOPED_TRACE(fmt::format("stopped at sweep {}", stop));
      Config parted = config;
      parted.output.checkpoint.every_steps = stop;
      parted.output.checkpoint.keep = 100;
      expect_same(run<T>(parted, even_process_grid(n), world()), whole);
      expect_same(run<T>(config, {n, 1, 1}, world(), stop), whole);  // other ranks read these cells
      expect_same(run<T>(config, {1, 1, 1}, Communicator::self(), stop), whole);
    }
  }

  const FolderOfAll folder_;
  FileThread in_step_{"tests wait for their files"};
};

ISOTHERM_ON_EACH_BACKEND(Checkpoint);

TEST_P(Checkpoint, TheExteriorHasTheSameBits) {
  for (Config config : {decks::every_boundary({17, 11, 12}), decks::periodic({17, 11, 12})}) {
    config.problem.steps = 43;
    config.problem.check_interval = 10;
    expect_same_rest<double>(config, {17, 1, 20, 43});
    expect_same_rest<float>(config, {29});
    config.solver.halo_width = 2;
    expect_same_rest<double>(config, {17});
  }
}

TEST_P(Checkpoint, ASteadyRunEndsAtTheSameSweep) {
  Config config = decks::steady({17, 11, 12});
  config.problem.tolerance = 0.02;
  config.problem.check_interval = 8;
  config.problem.norm = Norm::l2;
  expect_same_rest<double>(config, {24, 3, 8});
  expect_same_rest<double>(decks::floating({10, 4, 4}), {50});
}

// Checkpoints by the clock, at sweeps where something is due and between them. If a check is pending when a
// checkpoint is written, its result follows afterwards.
TEST_P(Checkpoint, ByTheClockChangesNothing) {
  Config config = decks::steady({17, 11, 12});
  config.problem.tolerance = 0.02;
  config.problem.check_interval =
      6;  // polls at sweeps 2, 6, 14, 30, ... coincide with checks or fall between them
  config.problem.check = Check::asynchronous;
  config.solver.reduction = "reproducible";
  const Int3 grid = even_process_grid(world().size());
  const Part whole = run<double>(config, grid, world());
  EXPECT_GT(whole.outcome.residual.extra_sweeps, 0);
  Config parted = config;
  parted.output.checkpoint.every_wall = 1e-9;
  parted.output.checkpoint.keep = 100;
  expect_same(run<double>(parted, grid, world()), whole);
  world().barrier();
  int pending = 0;
  for (const std::int64_t sweep : find_checkpoints(folder_.path(), "test")) {
    SCOPED_TRACE(fmt::format("from sweep {}", sweep));
    const SnapshotHeader header = read_checkpoint_header(file(sweep));
    pending += header.checkpoint->pending_residual.has_value();
    expect_same(run<double>(config, {1, world().size(), 1}, world(), sweep), whole);
  }
  EXPECT_GT(pending, 0);
}

// No count of sweeps has only 32 bits: in names, in files, or in computations.
TEST_P(Checkpoint, ResumesBeyondTwoToThe31Sweeps) {
  constexpr std::int64_t there = (std::int64_t{1} << 33) - 4;
  Config config = decks::base({6, 5, 8});
  config.problem.steps = there + 10;
  config.problem.check_interval = 3;
  config.output.checkpoint.every_steps = 8;  // divides `there + 4`
  const Int3 grid = even_process_grid(world().size());
  Solver<double> early =
      solver_of<double>(config, blocks_of(config, grid, ghost_layers(config)), world(), device());
  CheckpointState state;
  state.dt = time_plan(config).dt;
  CheckpointWriter(config, world(), folder_.path(), {}, in_step_)
      .write(early.host_field(), early.subdomain(),
             {static_cast<double>(there) * state.dt, there, early.fingerprint()}, state);
  EXPECT_EQ(find_checkpoints(folder_.path(), "test"), std::vector{there});
  const Part part = run<double>(config, grid, world(), there);
  EXPECT_EQ(part.sweeps, there + 10);
  EXPECT_EQ(part.outcome.residual.last_sweep, there + 10);
  const std::vector written{there + 10, there + 4};
  EXPECT_EQ(find_checkpoints(folder_.path(), "test"), written);  // two of three are kept
}

}  // namespace
}  // namespace isotherm
