// The loop of a run: sweeps until something is due, then do what is due.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/field_outputs.hpp"
#include "config/config.hpp"
#include "output/history.hpp"
#include "output/progress.hpp"
#include "output/run_record.hpp"
#include "output/snapshot.hpp"
#include "solver/solver.hpp"

namespace isotherm {

// Where a loop reports; each may be null. History and progress are rank 0's; the others are collective.
template <class T>
struct LoopOutputs {
  History* history = nullptr;
  Progress* progress = nullptr;
  SnapshotWriter* snapshots = nullptr;
  FieldOutputs<T>* fields = nullptr;
};

struct LoopOutcome {
  Residual residual;
  std::vector<std::string> files;
  double output_seconds = 0;  // of this rank
  double wall = 0;            // s, the whole loop
  std::string divergence;     // why the loop stopped early; empty when it did not
};

// Collective. Stops where the field is no longer finite or changes beyond all heat; the field is left as it
// was found.
template <class T>
LoopOutcome run_time_loop(const Config& config, Solver<T>& solver, const LoopOutputs<T>& outputs);

}  // namespace isotherm
