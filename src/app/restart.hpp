// `isotherm run DECK --restart FILE|FOLDER|latest`: from which state a run resumes, and whether it may.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session.hpp"
#include "core/error.hpp"
#include "output/field_files/snapshot_file.hpp"
#include "output/run_directory.hpp"

namespace isotherm {

struct Restart {
  std::string file{};  // the checkpoint, whose header and cells are sound
  SnapshotHeader header{};
  bool same_directory = true;           // the run goes on in the directory of `file`
  std::shared_ptr<RunLock> lock{};      // of rank 0, on that directory
  std::vector<std::string> warnings{};  // of checkpoints that were passed over
  std::vector<std::string> changes{};   // of the deck, allowed ones: "problem.steps 100 -> 200"

  std::int64_t sweep() const { return header.meta.sweep; }
  const CheckpointState& state() const { return *header.checkpoint; }
  // Up to which lines of history.csv stay: that of a check whose turn is still to come is written then.
  std::int64_t last_line() const { return state().pending_residual ? state().pending_sweep - 1 : sweep(); }
};

// Collective; nothing without --restart. The session takes over what the deck leaves open and the checkpoint
// knows: directory, step, range of the histogram. Throws CollectiveError: file_missing where there is no
// checkpoint, deck where none is sound or the deck asks for another problem.
// Before it looks for one in the run's own directory it locks that: a run that writes there deletes the older
// ones. Throws CollectiveError(cannot_create) where there is such a run.
std::optional<Restart> plan_restart(const std::string& asked, Force force, Session& session,
                                    const Communicator& world);

// Of a run that has nothing left to do: says so on rank 0, and returns its exit code.
std::optional<ExitCode> nothing_to_do(const Restart& restart, const Config& config,
                                      const Communicator& world);

}  // namespace isotherm
