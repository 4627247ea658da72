// A method: how many sweeps make a cycle, after which the field means something, and the weight of each.
//
// A weight is what the method changes from sweep to sweep: of a steady problem the weight of a Jacobi sweep,
// of a transient one the time step. Nothing else knows methods by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace isotherm {

// A cycle of two runs of sweeps from one field: `share` of the second's field, the rest of the first's.
struct Combination {
  std::int64_t first = 0;  // sweeps
  double share = 1;
};

// Of an implicit step: a change of the field for which the equation is solved. From the field T that it finds
// comes T + d, where d = `scale` `implicit_dt` times the rate of T + d/scale, at `time` of the step, of 1.
struct ImplicitStage {
  double time = 1, scale = 1;
};

struct Method {
  std::string_view name;
  std::vector<double> weights;  // of the sweeps of a cycle: of 1 in a steady problem, else s
  double unit = 0;              // the weight of the sweep by which residuals are measured
  double decay = 0;  // -ln of the factor by which a sweep reduces the slowest error, the mean over a cycle
  bool has_coarse_grids = false;  // the correction from coarser grids comes in the middle of a cycle
  bool by_correction = false;     // sweeps are those of a grid of the same cells, for a change of the field
  std::int64_t in_a_row = 1;      // of a cycle that is taken whole: sweeps between which nothing else comes
  std::optional<Combination> combination = {};
  std::vector<ImplicitStage> stages = {};

  std::int64_t cycle() const { return std::ssize(weights); }  // sweeps
  // Is there more in a cycle than its sweeps?
  bool is_taken_whole() const { return in_a_row > 1; }
};

// jacobi: weighted Jacobi sweeps of one weight. euler: explicit Euler steps of time_plan(config).dt.
// chebyshev: cycles of Chebyshev weights for the spectrum that the grid and the boundaries have, in the order
// of Lebedev and Finogenov (USSR Comput. Math. Math. Phys. 11, 1971), in which no error grows beyond bounds
// in between; the fastest of all cycles of so many sweeps (Varga, Matrix Iterative Analysis, chapter 5).
// multigrid: V cycles, 4 sweeps before and 4 after the correction from coarser grids, with the weights that
// leave least of the errors that those grids do not see (Chebyshev polynomials of the fourth kind; Lottes,
// Numer. Linear Algebra Appl. 30, 2023), in Leja order.
// rkl: cycles of one time step of time_plan(config).dt. The stages of a Runge-Kutta-Legendre step of first
// order are Euler sweeps, as the roots of its polynomial are real; s of them take (s^2 + s)/2 stable steps
// (RKL1; Meyer, Balsara and Aslam, J. Comput. Phys. 257, 2014). A step from s1 stages and the same in two
// halves of s2 are combined such that the errors of first order cancel. In Leja order, in which little is
// lost to rounding.
// implicit: cycles of one time step too. Backward Euler, of first order, or SDIRK2 of second order, which
// damps fast modes as well (Alexander, SIAM J. Numer. Anal. 14, 1977). What a stage changes is solved for by
// multigrid, with a diagonal of 1/implicit_dt more: a full multigrid cycle, with three V cycles on the finest
// grid, whose sweeps are those of the cycle; of several materials eight V cycles in conjugate gradients.
// `dt`: of another length of step than the deck's, s.
Method make_method(const Config& config, std::optional<double> dt = {});
// Of sweeps that smooth, as multigrid's: of the errors up to the highest eigenvalue they take those that
// oscillate, whatever else there is.
std::vector<double> smoothing_weights(double highest, int sweeps);
// Of the coarsest grid of multigrid: a cycle of Chebyshev weights, long enough to solve it.
Method coarsest_method(const Config& config);

// Of implicit: stages of a step, and the share of it for which each solves.
std::vector<ImplicitStage> implicit_stages(Scheme scheme);
double implicit_share(const Config& config);

// Of a cycle of multigrid, with conjugate gradients several (solver/material_multigrid.cpp); of a stage of
// an implicit step.
int v_cycles(const Config& config);

// Sweeps of a cycle: 1 but for methods that have cycles.
std::int64_t sweeps_of_cycle(const Config& config);

}  // namespace isotherm
