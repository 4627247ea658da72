// The loop of a run: sweeps until something is due, then do what is due.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/field_outputs.hpp"
#include "app/loop_progress.hpp"
#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/timer.hpp"
#include "output/console/progress.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/records/history.hpp"
#include "output/records/run_record.hpp"
#include "solver/solver.hpp"
#include "tune/autotuner.hpp"

namespace isotherm {

// Where a loop reports; each may be null. History and progress are rank 0's; the writers are collective.
template <class T>
struct LoopOutputs {
  History* history = nullptr;
  Progress* progress = nullptr;
  SnapshotWriter* snapshots = nullptr;
  FieldOutputs<T>* fields = nullptr;
  CheckpointWriter* checkpoints = nullptr;
  Console* console = nullptr;   // hears of files that the run goes on without
  FileThread* files = nullptr;  // of these writers; null: they write in step
};

// What a loop must know of the run around it. All ranks have the same, but for the timer's start.
struct LoopFrame {
  const Communicator& world;
  Timer started;  // of the run
  WallLimit limit{};
  const CheckpointState* resumed = nullptr;       // of the sweeps before; null at the initial state
  std::optional<std::int64_t> last_checkpoint{};  // the sweep of the newest in the run's directory
};

struct LoopOutcome {
  Residual residual;
  std::vector<std::string> files;        // snapshots
  std::vector<std::string> checkpoints;  // of which only the newest stay
  double output_seconds = 0;             // of this rank
  double copy_seconds = 0;               // of this rank, to take what is written beside the sweeps
  double end_seconds = 0;                // of this rank, for files after the last sweep
  double wall = 0;                       // s, the whole loop
  double largest_temperature = 0;        // K, magnitude; of a steady run that ended above its tolerance
  std::string divergence;                // why the loop stopped early; empty when it did not
  std::string stopped_by;                // "SIGUSR1", "the wall time"; empty where the run came to its end
  std::int64_t untimed_sweeps = 0;       // of the autotuner and before: the solver has no times of them
  double tuning_seconds = 0;             // of this rank
  std::optional<HaloCost> halo_cost;     // of the steps that the autotuner chose; one rank has none
};

// Collective. The first steps are the autotuner's, unless that is null. Stops where the field is no longer
// finite or changes beyond all heat; the field is left as it was found. All files are there on return, and
// where it throws none is under way any more. Stops after a signal, and when a checkpoint just fits into the
// time that is left; then the last of the checkpoints is of the sweep that was reached, unless `outputs` has
// none or that sweep is the first.
template <class T>
LoopOutcome run_time_loop(const Config& config, Solver<T>& solver, Autotuner<T>* autotuner,
                          const LoopOutputs<T>& outputs, const LoopFrame& frame);

}  // namespace isotherm
