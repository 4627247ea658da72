// A method: how many sweeps form a cycle, and the weight of each. The field is valid at the end of a cycle.
//
// The weight is the only parameter that varies from sweep to sweep: the weight of a Jacobi sweep in a steady
// problem, the time step in a transient one. Level and Step do not depend on the name of a method.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace isotherm {

// A cycle of two runs of sweeps from the same field: its result is a weighted sum of both.
struct Combination {
  std::int64_t first = 0;  // sweeps
  double share = 1;        // weight of the second run; the first has 1 - share
};

// A stage of an implicit step. It replaces the field T by T + d, where the change d equals `scale`
// `implicit_dt` times the rate of T + d/scale, at `time`, a fraction of the step.
struct ImplicitStage {
  double time = 1, scale = 1;
};

struct Method {
  std::string_view name;
  std::vector<double> weights;  // of the sweeps of a cycle; s in a transient problem, else without unit
  double unit = 0;              // the weight of the sweep by which residuals are measured
  double decay = 0;  // -ln of the factor by which a sweep reduces the slowest error; mean over a cycle
  bool has_coarse_grids = false;  // a cycle has a correction from coarser grids in its middle
  bool by_correction = false;     // sweeps solve for a change of the field, on a grid of the same cells
  std::int64_t in_a_row = 1;      // consecutive sweeps, where a cycle is not only sweeps
  std::optional<Combination> combination = {};
  std::vector<ImplicitStage> stages = {};

  std::int64_t cycle() const { return std::ssize(weights); }  // sweeps
  // Does a cycle contain more than sweeps (corrections, combinations)? Then it is executed as a whole.
  bool is_taken_whole() const { return in_a_row > 1; }
};

// jacobi: weighted Jacobi sweeps of one weight. euler: explicit Euler steps of time_plan(config).dt.
// chebyshev: cycles of Chebyshev weights for the spectrum given by grid and boundaries. No cycle of as many
// sweeps reduces errors faster (Varga, Matrix Iterative Analysis, chapter 5). The order of the weights bounds
// the growth of errors within a cycle (Lebedev and Finogenov, USSR Comput. Math. Math. Phys. 11, 1971).
// multigrid: V cycles, 4 sweeps before and 4 after the correction from coarser grids. Their weights minimise
// the errors that those grids cannot represent (Chebyshev polynomials of the fourth kind; Lottes, Numer.
// Linear Algebra Appl. 30, 2023), in Leja order.
// rkl: a cycle is one time step of time_plan(config).dt. The stages of a first-order Runge-Kutta-Legendre
// step are Euler sweeps, as the roots of its polynomial are real; s stages cover (s^2 + s)/2 stable steps
// (RKL1; Meyer, Balsara and Aslam, J. Comput. Phys. 257, 2014). A step of s1 stages and two half steps of s2
// stages are combined so that errors of first order cancel. Leja order keeps rounding errors small.
// implicit: a cycle is one time step too, by backward Euler (first order) or SDIRK2 (second order), which
// damps fast modes as well (Alexander, SIAM J. Numer. Anal. 14, 1977). Multigrid solves for the change of
// each stage, with 1/implicit_dt added to the diagonal: a full multigrid cycle with three V cycles on the
// finest grid, whose sweeps are those of the cycle; with several materials eight V cycles in conjugate
// gradients.
// `dt`: a step length other than the deck's, s.
Method make_method(const Config& config, std::optional<double> dt = {});
// Weights of smoothing sweeps, as in multigrid: they reduce the oscillating errors, up to the highest
// eigenvalue, whatever the rest of the spectrum is.
std::vector<double> smoothing_weights(double highest, int sweeps);
// For the coarsest grid of multigrid: a cycle of Chebyshev weights, long enough to solve it.
Method coarsest_method(const Config& config);
// Does coarsest_method() solve the problem of this grid? In an implicit method: for steps of any length.
bool sweeps_solve(Config config);

// The implicit method: the stages of a step, and implicit_dt of each stage as a share of the step.
std::vector<ImplicitStage> implicit_stages(Scheme scheme);
double implicit_share(const Config& config);

// V cycles in a cycle of multigrid (several with conjugate gradients, solver/material_multigrid.cpp), or in a
// stage of an implicit step.
int v_cycles(const Config& config);

// Sweeps of a cycle; 1 for methods without cycles.
std::int64_t sweeps_of_cycle(const Config& config);

}  // namespace isotherm
