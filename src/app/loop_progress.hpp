// How far a loop is, when it will end, and how long it may take.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/timer.hpp"
#include "output/console/console.hpp"
#include "output/console/progress.hpp"
#include "output/records/run_record.hpp"

namespace isotherm {

struct WallLimit {
  double seconds =
      std::numeric_limits<double>::infinity();  // from the start of the run; the same on all ranks
  std::string source{};                         // "solver.walltime 3600 s"; empty without a limit
  std::string warning{};                        // of a SLURM_JOB_END_TIME that is no time

  // The last moment to begin with a checkpoint that takes `write` seconds: twice that, and something for what
  // comes after it, are left.
  double latest_stop(double write) const;
  // How long a run is looked at before it is told that it will not end in time: infinite without a limit.
  double time_to_judge() const;
};

// The sooner of solver.walltime and the end of the Slurm job (SLURM_JOB_END_TIME, seconds since 1970).
// Collective.
WallLimit find_wall_limit(const Config& config, const Communicator& world, const Timer& started);

// Reports progress, and warns once where the time limit is too short. Of rank 0; progress and console may be
// null.
class LoopProgress {
 public:
  LoopProgress(const Config& config, Progress* progress, Console* console, const WallLimit& limit);

  // `time`: s of the problem; none in a steady one. `elapsed`: s since the start of the run.
  void tell(std::int64_t sweep, std::optional<double> time, const Residual& residual, double elapsed);

 private:
  ProgressState state_at(std::int64_t sweep, std::optional<double> time, const Residual& residual);
  void warn_of_limit(const ProgressState& state, double elapsed);

  const Config& config_;
  Progress* progress_;
  Console* console_;
  WallLimit limit_;
  std::int64_t last_sweep_;
  double cells_;
  bool writes_checkpoints_;
  Pace pace_;  // of this part of the run
  bool warned_of_limit_ = false;
  Timer wall_;
};

}  // namespace isotherm
