// A method: how many sweeps make a cycle, after which the field means something, and the weight of each.
//
// A weight is what the method changes from sweep to sweep: of a steady problem the weight of a Jacobi sweep,
// of a transient one the time step. Nothing else knows methods by name.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace isotherm {

struct Method {
  std::string_view name;
  std::vector<double> weights;  // of the sweeps of a cycle: of 1 in a steady problem, else s
  double unit = 0;              // the weight for which sources are stored and by which residuals are measured
  double decay = 0;  // -ln of the factor by which a sweep reduces the slowest error, the mean over a cycle
  bool has_coarse_grids = false;  // the correction from coarser grids comes in the middle of a cycle

  std::int64_t cycle() const { return std::ssize(weights); }  // sweeps
};

// jacobi: weighted Jacobi sweeps of one weight. euler: explicit Euler steps of time_plan(config).dt.
// chebyshev: cycles of Chebyshev weights for the spectrum that the grid and the boundaries have, in the order
// of Lebedev and Finogenov (USSR Comput. Math. Math. Phys. 11, 1971), in which no error grows beyond bounds
// in between; the fastest of all cycles of so many sweeps (Varga, Matrix Iterative Analysis, chapter 5).
// multigrid: V cycles, 4 sweeps before and 4 after the correction from coarser grids, with the weights that
// leave least of the errors that those grids do not see (Chebyshev polynomials of the fourth kind; Lottes,
// Numer. Linear Algebra Appl. 30, 2023), in Leja order.
Method make_method(const Config& config);
// Of the coarsest grid of multigrid: a cycle of Chebyshev weights, long enough to solve it.
Method coarsest_method(const Config& config);

// Sweeps of a cycle: 1 but for methods that have cycles.
std::int64_t sweeps_of_cycle(const Config& config);

}  // namespace isotherm
