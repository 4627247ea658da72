// isotherm run: one run of a deck, from its solver to its record. src/main.cpp tells it in order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "app/session.hpp"
#include "core/communicator.hpp"
#include "core/error.hpp"
#include "core/timer.hpp"
#include "output/field_files/snapshot_file.hpp"
#include "output/run_directory.hpp"

namespace isotherm {

// `isotherm run DECK --restart FILE|FOLDER|latest`: from which state a run resumes, and whether it may.
struct Restart {
  std::string file{};  // the checkpoint, whose header and cells are sound
  SnapshotHeader header{};
  double wall = 0;                      // s, of the runs before in this directory, as rank 0 knows it
  bool same_directory = true;           // the run goes on in the directory of `file`
  std::shared_ptr<RunLock> lock{};      // of rank 0, on that directory
  std::vector<std::string> warnings{};  // of checkpoints that were passed over
  std::vector<std::string> changes{};   // of the deck, allowed ones: "problem.steps 100 -> 200"

  std::int64_t sweep() const { return header.meta.sweep; }
  const CheckpointState& state() const { return *header.checkpoint; }
  // Up to which lines of history.csv stay: that of a check whose turn is still to come is written then.
  std::int64_t last_line() const { return state().pending_residual ? state().pending_sweep - 1 : sweep(); }
};

// Collective; nothing without --restart. The session takes from the checkpoint what the deck leaves open:
// directory, step, range of the histogram. Locks the run's own directory before it looks there. Throws
// CollectiveError: file_missing without a checkpoint, deck where none is sound or the problem is another,
// cannot_create where another run has the lock.
std::optional<Restart> plan_restart(const std::string& asked, Force force, Session& session,
                                    const Communicator& world);

// Of a run that has nothing left to do: says so on rank 0, and returns its exit code.
std::optional<ExitCode> nothing_to_do(const Restart& restart, const Config& config,
                                      const Communicator& world);

// What is settled before the first field is allocated.
struct RunPlan {
  const CommandLine& command;
  const Communicator& world;
  const Session& session;
  const std::optional<Restart>& restart;
  Device& device;
  double copy_bandwidth;  // bytes per second, of all devices
  Timer started;          // when the deck was opened
};

// Collective: bytes per second that all devices of the run copy together, measured at once on all.
double measure_copy_bandwidth(const Session& session, Device& device, const Communicator& world);

// Against verify.tolerance and, in a series, verify.expected_order; `reported` where the deck sets neither.
Verdict verdict(const Config& config, const Verification& verification);

// Collective: directory, banner, the solution of the deck or of each grid of its series, table and run.json.
// Returns done, not_converged or diverged (a failed verification). Throws what stops a run early, and the
// error of a run that did not end, once its record is written.
int solve_and_report(const RunPlan& plan);

}  // namespace isotherm
