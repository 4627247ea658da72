// isotherm run: one run of a deck, from its solver to its record. src/main.cpp calls the steps in order.
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

// `isotherm run DECK --restart FILE|FOLDER|latest`: the checkpoint from which a run resumes. The header and
// the cells of `file` are verified. Only rank 0 has the time and the sweeps of the earlier runs.
struct Restart : Continuation::Restarted {
  SnapshotHeader header{};
  bool same_directory = true;           // the run resumes in the directory of `file`
  std::shared_ptr<RunLock> lock{};      // on that directory; rank 0 only
  std::vector<std::string> warnings{};  // about checkpoints that were skipped
  std::vector<std::string> changes{};   // allowed changes of the deck: "problem.steps 100 -> 200"

  const CheckpointState& state() const { return *header.checkpoint; }
  // The last sweep whose line of history.csv is kept. A pending check writes its line when it is completed.
  std::int64_t last_line() const { return state().pending_residual ? state().pending_sweep - 1 : sweep; }
};

// Collective; returns nothing without --restart. Sets keys that the session's deck omits to values of the
// checkpoint: directory, step, range of the histogram. Locks the run's own directory before searching it.
// Throws CollectiveError: file_missing if there is no checkpoint, deck if none is sound or the problem
// differs, cannot_create if another run holds the lock.
std::optional<Restart> plan_restart(const std::string& asked, Force force, Session& session,
                                    const Communicator& world);

// If the run has nothing left to do, prints this on rank 0 and returns the exit code; else returns nothing.
std::optional<ExitCode> nothing_to_do(const Restart& restart, const Config& config,
                                      const Communicator& world);

// The inputs of a run, all known before its first field is allocated.
struct RunPlan {
  const CommandLine& command;
  const Communicator& world;
  const Session& session;
  const std::optional<Restart>& restart;
  Device& device;
  double copy_bandwidth;  // bytes per second, of all devices
  Timer started;          // when the deck was opened
};

// Collective: bytes per second that all devices of the run copy together, measured on all at the same time.
double measure_copy_bandwidth(const Session& session, Device& device, const Communicator& world);

// Judges by verify.tolerance and, in a series, verify.expected_order; `reported` if the deck sets neither.
Verdict verdict(const Verification& verification);

// Collective. Creates the directory, prints the banner, solves the deck or each grid of its series, prints
// the table and writes run.json. Returns done, not_converged or diverged (a failed verification). If a run is
// stopped early or fails on all ranks, throws CollectiveError after the record is written.
int solve_and_report(const RunPlan& plan);

}  // namespace isotherm
