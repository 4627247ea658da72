// `auto`: which row, which of its policies, how many sweeps a launch and which reduction are fastest on this
// device, for this precision and this local shape. Found by a short timed trial, because no table of ours
// knows the reader's machine.
#pragma once

#include <string>
#include <vector>

#include "core/communicator.hpp"
#include "core/device.hpp"
#include "grid/decomposition.hpp"
#include "solver/rows.hpp"

namespace isotherm {

struct Trial {
  std::string row, policy;  // policy empty: a reduction
  double seconds = 0;       // a sweep with the ghosts of its boundaries, or a norm; the best of some samples
  int depth = 1;            // sweeps fused: seconds are of one of them
};

struct TuningReport {
  Int3 cells;                 // of the block that was tried: the local shape, planes cut to fit the trial
  std::vector<Trial> sweeps;  // in the order of the trial
  std::vector<Trial> reductions;
  std::vector<Trial> graphs;  // a sweep of the fastest row, queued one by one and as a graph
  double seconds = 0;         // that the trial took
  std::string why_single;     // launches that fuse sweeps were not tried; empty: they were, or there are none
};

// Is a run long enough, with single sweeps that take so long, for what the trial of others costs? The same
// on all ranks where the seconds are.
bool worth_trying_fused(const Config& config, double sweep_seconds);

// Collective: all ranks try at the same time, as they will run, and agree on the choice by their slowest.
// Allocates two fields of at most the local shape, and lets go of them. Stops trying after about a second.
template <class T>
SolverRows<T> tune(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
                   Device& device, const RowChoices<T>& choices, TuningReport& report);

// Collective: what one more cell costs a sweep, on the slowest rank, without what every launch costs.
// Allocates as tune() does, and takes some milliseconds.
template <class T>
double seconds_a_cell(const Config& config, const Decomposition& decomposition,
                      const Communicator& communicator, Device& device, const SweepChoice<T>& choice);

}  // namespace isotherm
