// Predicts the cycles of a steady problem of several materials by solving it with few cells: they depend on
// jumps, thin layers and the ratio of spacings, hardly on the number of cells.
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

// Takes cycles from the current field until the residual is `tolerance` times the first; at most
// `most_cycles`, and until two in a row have not lowered it. Collective.
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
  Int3 cells;           // of the small problem
  std::int64_t cycles;  // to the tolerance of the deck
  bool is_more;         // that many did not suffice
};

// By this process alone, in some tenths of a second. None without multigrid of several materials, where no
// boundary removes the heat of a source, and where few cells cannot represent the domain: datasets of regions
// have the cells of the deck, and small parts may vanish.
std::optional<PredictedCycles> predicted_cycles(const Config& config);

}  // namespace isotherm
