// The loop of a run: sweeps until something is due, then do what is due. How long it may take.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "app/field_outputs.hpp"
#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/timer.hpp"
#include "output/console/console.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/records/history.hpp"
#include "output/records/run_record.hpp"
#include "solver/solver.hpp"
#include "tune/autotuner.hpp"

namespace isotherm {

struct WallLimit {
  double seconds =
      std::numeric_limits<double>::infinity();  // from the start of the run; the same on all ranks
  std::string source{};                         // "solver.walltime 3600 s"; empty without a limit
  std::string warning{};                        // of a SLURM_JOB_END_TIME that is no time

  // The last moment to begin with a checkpoint that takes `write` seconds: twice that, and something for what
  // comes after it, are left.
  double latest_stop(double write) const;
  // How long the pace of a run is measured before a warning that it will not end in time; infinite: no limit.
  double time_to_judge() const;
};

// The sooner of solver.walltime and the end of the Slurm job (SLURM_JOB_END_TIME, seconds since 1970).
// Collective.
WallLimit find_wall_limit(const Config& config, const Communicator& world, const Timer& started);

// The files of one case, each where the deck asks for it, and where its loop reports. History and progress
// are rank 0's; the writers are collective.
template <class T>
struct LoopOutputs {
  FileThread files;  // outlives the writers that queue work for it
  std::optional<FieldOutputs<T>> fields{};
  std::optional<CheckpointWriter> checkpoints{};
  std::optional<History> history{};
  Progress* progress = nullptr;
  Console* console = nullptr;
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
  double end_seconds = 0;                // of this rank, for files after the last sweep
  double wall = 0;                       // s, the whole loop
  double largest_temperature = 0;        // K, magnitude; of a steady run that ended above its tolerance
  std::string divergence;                // why the loop stopped early; empty when it did not
  std::string stopped_by;                // "SIGUSR1", "the wall time"; empty where the run came to its end
  std::int64_t untimed_sweeps = 0;       // of the autotuner and before: the solver has no times of them
  double tuning_seconds = 0;             // of this rank
  std::optional<HaloCost> halo_cost;     // of the steps that the autotuner chose; one rank has none
};

// How steps are made, by the autotuner or (null) otherwise.
template <class T>
void describe_steps(const Solver<T>& solver, const Autotuner<T>* autotuner, MethodRecord& method);

// Collective. The first steps are the autotuner's, unless that is null. Stops where the field is no longer
// finite or changes beyond all heat; the field is left as it was found. All files are there on return, and
// where it throws none is under way any more. Stops after a signal, and when a checkpoint just fits into the
// time that is left; then the last of the checkpoints is of the sweep that was reached, unless `outputs` has
// none or that sweep is the first.
template <class T>
LoopOutcome run_time_loop(const Config& config, Solver<T>& solver, Autotuner<T>* autotuner,
                          LoopOutputs<T>& outputs, const LoopFrame& frame);

}  // namespace isotherm
