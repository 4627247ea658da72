// How long a steady body of several materials takes, found out by solving it with few cells: jumps, thin
// layers and the ratio of spacings say it, hardly their number.
#pragma once

#include <cstdint>
#include <optional>

#include "config/config.hpp"
#include "solver/solver.hpp"

namespace isotherm {

struct Solution {
  std::int64_t cycles = 0;
  double relative_residual = 0;  // at the end
};

// Cycles from the field as it is until the residual is `tolerance` of the first; or so many, or until two of
// them have not lowered it. Collective.
template <class T>
Solution solve(Solver<T>& solver, double tolerance, std::int64_t most_cycles) {
  const double first = solver.residual();
  double last = first, lowest = first;
  Solution found{0, first > 0 ? 1.0 : 0.0};
  for (int worse = 0; last > tolerance * first && worse < 2 && found.cycles < most_cycles; ++found.cycles) {
    solver.sweep(solver.level().method().cycle());
    last = solver.residual();
    worse = last < lowest ? 0 : worse + 1;
    lowest = std::min(lowest, last);
    found.relative_residual = last / first;
  }
  return found;
}

struct PredictedCycles {
  Int3 cells;           // of those that were solved
  std::int64_t cycles;  // to the tolerance of the deck
  bool is_more;         // that many did not suffice
};

// By this process alone, in some tenths of a second. None where it is no multigrid of several materials,
// where no boundary takes the heat of a source, and where few cells are not this body: datasets of regions
// have its own, and parts of it may get lost.
std::optional<PredictedCycles> predicted_cycles(const Config& config);

}  // namespace isotherm
