// Promise: what goes on from a checkpoint has the bits of what never stopped, on any number of ranks and
// process grid, in every cell, residual and decision.
#include "output/field_files/snapshot.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "app/time_loop.hpp"
#include "backend_fixture.hpp"
#include "core/error.hpp"
#include "core/signals.hpp"
#include "output/run_directory.hpp"
#include "solver/rows.hpp"
#include "solver/schedule.hpp"
#include "support/decks.hpp"
#include "support/process_grid.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

class Checkpoint : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (world().is_root()) mine_ = std::make_unique<test::TemporaryFolder>();
    folder_ = world().broadcast(mine_ ? mine_->path().string() : "");
  }
  void TearDown() override { world().barrier(); }  // nobody looks into the folder any more

  struct Part {  // of a run
    LoopOutcome outcome;
    std::uint64_t fingerprint = 0;
    std::int64_t sweeps = 0;
  };

  std::string file(std::int64_t sweep) const { return folder_ + "/" + checkpoint_name("test", sweep); }

  // From the checkpoint of `from`, or from the start. Checkpoints are written where the deck says so.
  template <class T>
  Part run(const Config& config, Int3 process_grid, const Communicator& ranks,
           std::optional<std::int64_t> from = {}) {
    const Decomposition decomposition(config.grid.cells, process_grid, periodic(config), halo_depth(config));
    std::optional<SnapshotHeader> header;
    std::optional<StoredField> stored;
    if (from) {
      header = read_checkpoint_header(file(*from));
      stored = {file(*from), temperature_dataset, header->meta.sweep};
    }
    SolverRows<T> rows = choose_rows<T>(config, device().backend());
    rows.graph = why_no_graph(config, device()).empty();
    Solver<T> solver(config, decomposition, ranks, device(), rows, false, stored);
    if (from) {
      EXPECT_EQ(solver.fingerprint(), header->meta.fingerprint);
    }
    std::optional<CheckpointWriter> writer;
    if (config.output.checkpoint.has_interval()) writer.emplace(config, ranks, folder_, SnapshotProvenance{});
    Part part;
    part.outcome =
        run_time_loop<T>(config, solver, nullptr, {.checkpoints = writer ? &*writer : nullptr},
                         {.world = ranks, .started = {}, .resumed = from ? &*header->checkpoint : nullptr});
    part.fingerprint = solver.fingerprint();
    part.sweeps = solver.sweeps();
    return part;
  }

  static void expect_same(const Part& a, const Part& b) {
    EXPECT_EQ(a.fingerprint, b.fingerprint);
    EXPECT_EQ(a.sweeps, b.sweeps);
    const Residual &x = a.outcome.residual, &y = b.outcome.residual;
    EXPECT_EQ(x.first, y.first);
    EXPECT_EQ(x.last, y.last);
    EXPECT_EQ(x.last_sweep, y.last_sweep);
    EXPECT_EQ(x.checks, y.checks);
    EXPECT_EQ(x.convergence, y.convergence);
    EXPECT_EQ(x.extra_sweeps, y.extra_sweeps);
  }

  template <class T>
  void expect_same_rest(Config config, const std::vector<std::int64_t>& stops) {
    config.output.checkpoint = {};
    config.solver.kernel = device().backend() == Backend::host ? "openmp" : "naive";
    config.solver.reduction = "reproducible";
    const int n = world().size();
    const Part whole = run<T>(config, even_process_grid(n), world());
    for (const std::int64_t stop : stops) {
      SCOPED_TRACE(fmt::format("stopped at sweep {}", stop));
      Config parted = config;
      parted.output.checkpoint.every_steps = stop;
      parted.output.checkpoint.keep = 100;
      expect_same(run<T>(parted, even_process_grid(n), world()), whole);
      expect_same(run<T>(config, {n, 1, 1}, world(), stop), whole);  // other ranks' cells
      expect_same(run<T>(config, {1, 1, 1}, Communicator::self(), stop), whole);
    }
  }

  std::unique_ptr<test::TemporaryFolder> mine_;
  std::string folder_;
};

ISOTHERM_ON_EACH_BACKEND(Checkpoint);

TEST_P(Checkpoint, TheRestHasTheSameBits) {
  for (Config config : {decks::every_wall({17, 11, 12}), decks::periodic({17, 11, 12})}) {
    config.problem.steps = 43;
    config.problem.check_interval = 10;
    expect_same_rest<double>(config, {1, 17, 20, 43});
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
  expect_same_rest<double>(config, {3, 8, 24});
  expect_same_rest<double>(decks::floating({10, 4, 4}), {50});
}

// Files at whatever sweep the clock asks for: where something is due, and between. A check that is under way
// when one is written has its turn after it.
TEST_P(Checkpoint, ByTheClockChangesNothing) {
  Config config = decks::steady({17, 11, 12});
  config.problem.tolerance = 0.02;
  config.problem.check_interval =
      6;  // the looks at sweeps 2, 6, 14, 30, ... meet what is due, and what is not
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
  for (const std::int64_t sweep : find_checkpoints(folder_, "test")) {
    SCOPED_TRACE(fmt::format("from sweep {}", sweep));
    const SnapshotHeader header = read_checkpoint_header(file(sweep));
    pending += header.checkpoint->pending_residual.has_value();
    expect_same(run<double>(config, {1, world().size(), 1}, world(), sweep), whole);
  }
  EXPECT_GT(pending, 0);
}

// No count of sweeps is one of 32 bits: not in names, nor in files, nor on the way.
TEST_P(Checkpoint, GoesOnBeyondTwoToThe31Sweeps) {
  constexpr std::int64_t there = (std::int64_t{1} << 33) - 4;
  Config config = decks::base({6, 5, 8});
  config.problem.steps = there + 10;
  config.problem.check_interval = 3;
  config.output.checkpoint.every_steps = 8;  // of which `there + 4` is a multiple
  const int n = world().size();
  const Decomposition decomposition(config.grid.cells, even_process_grid(n), periodic(config),
                                    halo_depth(config));
  SolverRows<double> rows = choose_rows<double>(config, device().backend());
  rows.graph = why_no_graph(config, device()).empty();
  Solver<double> early(config, decomposition, world(), device(), rows, false);
  CheckpointState state;
  state.dt = time_plan(config).dt;
  CheckpointWriter(config, world(), folder_, {})
      .write(early.host_field(), early.block(),
             {static_cast<double>(there) * state.dt, there, early.fingerprint()}, state);
  EXPECT_EQ(find_checkpoints(folder_, "test"), std::vector{there});
  const Part part = run<double>(config, even_process_grid(n), world(), there);
  EXPECT_EQ(part.sweeps, there + 10);
  EXPECT_EQ(part.outcome.residual.last_sweep, there + 10);
  const std::vector written{there + 10, there + 4};
  EXPECT_EQ(find_checkpoints(folder_, "test"), written);  // of three, two stay
}

TEST_P(Checkpoint, ASignalToOneRankStopsAllAtOneSweep) {
  Config config = decks::every_wall({17, 11, 12});
  config.problem.steps = 1000000000;
  config.output.checkpoint.every_time = 1e12;  // only for the writer
  note_stop_signals();
  if (world().rank() == world().size() - 1) std::raise(SIGUSR2);
  const Part stopped = run<double>(config, even_process_grid(world().size()), world());
  note_stop_signals();
  EXPECT_EQ(stopped.outcome.stopped_by, "SIGUSR2");
  EXPECT_EQ(stopped.sweeps, 0);
  EXPECT_EQ(stopped.outcome.checkpoints, std::vector<std::string>{file(0)});
}

// Where nothing is in between: the loop goes on until the time is just enough for a checkpoint.
TEST_P(Checkpoint, TheClockStopsAllAtOneSweep) {
  Config config = decks::every_wall({17, 11, 12});
  config.problem.steps = 1000000000;
  config.problem.check_interval = 1000000;
  const Decomposition decomposition(config.grid.cells, even_process_grid(world().size()), periodic(config));
  Solver<double> solver(config, decomposition, world(), device(),
                        choose_rows<double>(config, device().backend()));
  CheckpointWriter writer(config, world(), folder_, SnapshotProvenance{});
  const Timer timer;
  LoopOutcome outcome;
  // Where the machine is busy that time may be over before the first sweep: then with more.
  for (double seconds = 1.5; solver.sweeps() == 0 && seconds < 1000; seconds *= 4) {
    const double now = world().all_reduce(timer.seconds(), ReduceOp::max);
    outcome = run_time_loop<double>(config, solver, nullptr, {.checkpoints = &writer},
                                    {world(), timer, {.seconds = now + seconds}});
  }
  EXPECT_EQ(outcome.stopped_by, "the wall time");
  EXPECT_GT(solver.sweeps(), 0);
  EXPECT_EQ(outcome.checkpoints, std::vector<std::string>{file(solver.sweeps())});
  const std::int64_t last = world().all_reduce(solver.sweeps(), ReduceOp::max);
  EXPECT_EQ(solver.sweeps(), last);
}

}  // namespace
}  // namespace isotherm
