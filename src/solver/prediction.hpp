// Predicts the cycles of a steady problem of several materials by solving it with at most 64 cells along an
// axis. The cycles depend on jumps, thin layers and the ratio of spacings, hardly on the number of cells.
#pragma once

#include <cstdint>
#include <optional>

#include "config/config.hpp"
#include "solver/solver.hpp"

namespace isotherm {

struct Solution {
  std::int64_t sweeps = 0;
  double relative_residual = 0;  // at the end
};

// Runs cycles from the current field until the residual is `tolerance` times the first. Stops earlier after
// the sweeps of `most_cycles`, or after several cycles in a row that do not lower the residual. Collective.
template <class T>
Solution solve(Solver<T>& solver, double tolerance, std::int64_t most_cycles) {
  const double first = solver.residual();
  double last = first, lowest = first;
  Solution found{.relative_residual = first > 0 ? 1.0 : 0.0};
  const std::int64_t cycle = solver.level().method().cycle(), before = solver.counts().sweeps;
  const int most_worse = least_checks(solver.level().config());
  int worse = 0;
  while (last > tolerance * first && worse < most_worse && found.sweeps < most_cycles * cycle) {
    solver.sweep(cycle);
    last = solver.residual();
    worse = last < lowest ? 0 : worse + 1;
    lowest = std::min(lowest, last);
    found = {solver.counts().sweeps - before, last / first};
  }
  return found;
}

struct PredictedCycles {
  Int3 cells;             // of the small problem
  std::int64_t cycles;    // to the tolerance of the deck: sweeps over sweeps per cycle
  bool is_more;           // so many cycles do not suffice
  bool omits_thin_parts;  // the small problem lacks thin parts of the body whose conductivities jump
};

// Runs on this process alone, for tenths of a second, or for seconds where cycles are slow. No value without
// multigrid of several materials, where no boundary removes the heat of a source, or where the small problem
// cannot represent the domain: small patches may vanish. Only a sample of datasets is read.
std::optional<PredictedCycles> predicted_cycles(const Config& config);

}  // namespace isotherm
