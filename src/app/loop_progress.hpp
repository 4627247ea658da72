// How long a loop may take.
#pragma once

#include <limits>
#include <string>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/timer.hpp"

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

}  // namespace isotherm
