// What a run writes of its field beside whole snapshots: slices, the region.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/parts.hpp"
#include "core/communicator.hpp"
#include "output/snapshot.hpp"
#include "solver/schedule.hpp"
#include "solver/solver.hpp"

namespace isotherm {

template <class T>
class FieldOutputs {
 public:
  // Collective, as everything here. The folder must exist.
  FieldOutputs(const Config& config, const Communicator& communicator, const std::string& folder,
               const SnapshotProvenance& provenance);

  // All that is due after so many sweeps of the solver; at the end of a run, everything once more that this
  // state is not in yet. Returns the paths of new files, the same on all ranks.
  std::vector<std::string> write_due(Solver<T>& solver);
  std::vector<std::string> write_last(Solver<T>& solver);

  std::vector<std::string> remarks() const;  // of all writers, as SnapshotWriter has them

 private:
  struct Part {
    FieldPart what;
    SnapshotWriter writer;
    std::int64_t written = -1;  // the sweep of the last file
  };
  std::string write(Part& part, Solver<T>& solver);

  Schedule schedule_;
  std::vector<Part> parts_;
};

}  // namespace isotherm
