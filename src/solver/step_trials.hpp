// What a run finds out by its own steps before the first sweep: whether they are best made beside the
// exchanges, by which of some kernels and tiles, and as graphs, and what of the halos the sweeps hide.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "halo/hiding.hpp"
#include "solver/step.hpp"

namespace isotherm {

// Seconds of a sweep with its share of an exchange, on the slowest rank.
struct GraphTrial {
  double launches, graph;
};
struct StepTrial {
  std::string_view kernel, policy;
  int fused;  // sweeps of a launch
  Overlap overlap;
  double seconds;
};

// All are collective, and every rank decides by the same figures.

// The step uses the fastest of the ways that `rows` leaves open; none was tried where there is but one.
// Leaves a field that nobody initialised.
template <class T>
std::vector<StepTrial> try_steps(Level<T>& level, Step<T>& step, const SolverRows<T>& rows);

// The step uses graphs where they are faster. None where sweeps are too long for graphs to matter. Leaves
// what try_steps() leaves.
template <class T>
std::optional<GraphTrial> try_graph(Level<T>& level, Step<T>& step);

// Leaves the current field as it is, but for ghosts, and in the other what the first sweep will put there.
template <class T>
HaloCost measure_halo_cost(Level<T>& level, Step<T>& step);

}  // namespace isotherm
