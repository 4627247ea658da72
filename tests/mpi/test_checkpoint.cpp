// Promise: what goes on from a checkpoint has the bits of what never stopped, on any number of ranks and
// process grid, in every cell, residual and decision.
#include "output/field_files/snapshot.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <tuple>

#include "app/time_loop.hpp"
#include "backend_fixture.hpp"
#include "core/error.hpp"
#include "core/signals.hpp"
#include "output/run_directory.hpp"
#include "solver/schedule.hpp"
#include "support/decks.hpp"
#include "support/process_grid.hpp"

namespace isotherm {
namespace {

class Checkpoint : public BackendTest {
 protected:
  struct Part {  // of a run
    LoopOutcome outcome;
    std::uint64_t fingerprint = 0;
    std::int64_t sweeps = 0;
  };

  std::string file(std::int64_t sweep) const { return folder_ / checkpoint_name("test", sweep); }

  // From the checkpoint of `from`, or from the start. Checkpoints are written where the deck says so.
  template <class T>
  Part run(const Config& config, Int3 process_grid, const Communicator& ranks,
           std::optional<std::int64_t> from = {}) {
    std::optional<SnapshotHeader> header;
    std::optional<StoredField> stored;
    if (from) {
      header = read_checkpoint_header(file(*from));
      stored = {file(*from), temperature_dataset, header->meta.sweep};
    }
    Solver<T> solver(config, blocks_of(config, process_grid, ghost_layers(config)), ranks, device(),
                     rows_with_graphs<T>(config, device()), false, stored);
    if (from) {
      EXPECT_EQ(solver.fingerprint(), header->meta.fingerprint);
    }
    std::optional<CheckpointWriter> writer;
    if (config.output.checkpoint.has_interval())
      writer.emplace(config, ranks, folder_.path(), SnapshotProvenance{});
    Part part;
    part.outcome =
        run_time_loop<T>(config, solver, nullptr, {.checkpoints = writer ? &*writer : nullptr},
                         {.world = ranks, .started = {}, .resumed = from ? &*header->checkpoint : nullptr});
    part.fingerprint = solver.fingerprint();
    part.sweeps = solver.sweeps();
    return part;
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

  const FolderOfAll folder_;
};

ISOTHERM_ON_EACH_BACKEND(Checkpoint);

TEST_P(Checkpoint, TheExteriorHasTheSameBits) {
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
  for (const std::int64_t sweep : find_checkpoints(folder_.path(), "test")) {
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
  const Int3 grid = even_process_grid(world().size());
  Solver<double> early(config, blocks_of(config, grid, ghost_layers(config)), world(), device(),
                       rows_with_graphs<double>(config, device()));
  CheckpointState state;
  state.dt = time_plan(config).dt;
  CheckpointWriter(config, world(), folder_.path(), {})
      .write(early.host_field(), early.subdomain(),
             {static_cast<double>(there) * state.dt, there, early.fingerprint()}, state);
  EXPECT_EQ(find_checkpoints(folder_.path(), "test"), std::vector{there});
  const Part part = run<double>(config, grid, world(), there);
  EXPECT_EQ(part.sweeps, there + 10);
  EXPECT_EQ(part.outcome.residual.last_sweep, there + 10);
  const std::vector written{there + 10, there + 4};
  EXPECT_EQ(find_checkpoints(folder_.path(), "test"), written);  // of three, two stay
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
  Solver<double> solver(config, blocks_of(config, even_process_grid(world().size())), world(), device(),
                        choose_kernels<double>(config, device().backend()));
  CheckpointWriter writer(config, world(), folder_.path(), SnapshotProvenance{});
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
