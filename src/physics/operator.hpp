// The sweep of the deck's problem: its coefficients, how fast it reduces errors, and the limits of its time
// step.
#pragma once

#include "config/config.hpp"
#include "config/materials.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// Transient: one explicit Euler step of `weight` seconds. Steady: one Jacobi sweep of that weight; on grids
// that solve an implicit step, problem.implicit_dt reduces the coefficients of the neighbours. The unit
// weight, for which sources are stored, is that of the deck.
Coefficients<double> sweep_coefficients(const Config& config, double weight);
// 1/m^2. A sweep of weight 1 divides div(k grad T) + q by 2 k times this: the sum of 1/h^2 over axes plus the
// share of problem.implicit_dt. Transient: a step of euler_dt() counts as a sweep of problem.weight.
double half_diagonal(const Config& config);
// The temperature, K, that a source of 1 W/m^3 adds to a cell in one sweep of the weight of the deck.
double source_scale(const Config& config);

// Rounded to T such that c0 + 2 (cx + cy + cz) stays as near to 1 as T allows. Rounded one by one, fp32
// coefficients miss 1 by up to 1e-7, and an insulated body at 300 K would gain or lose 1 K in 30 000 sweeps.
// For weights above 2, which some methods use, it is exactly 1: at 1e5 fp32 would lose 0.5 K per sweep.
// `kept`: the sum instead of 1, as near as rounding the neighbours one by one allows.
template <class T>
Coefficients<T> rounded_coefficients(const Coefficients<double>& c, double kept = 1);
template <class T>
Coefficients<T> rounded_sweep(const Config& config, double weight);
// For cells among their own class. Sources are stored as for the first class; `scale`: source_scale().
template <class T>
Coefficients<T> rounded_sweep(const Config& config, const MaterialClass& own, double scale, double weight);

// The slowest mode of a steady problem is known from the grid and the boundaries alone.
//
// A sweep multiplies the error by 1 - sum over axes of c L, where L = -(T[-1] - 2 T + T[+1]) with ghosts
// a T. On each axis the eigenvectors are cos(theta (i + 1/2) - phi), the eigenvalues 2 - 2 cos(theta), and
// both ends must fit:
//
//     theta n = phi(a_min) + phi(a_max) + k pi, k = 0 ... n - 1,   tan(phi(a)) = (1 - a)/(1 + a) cot(theta/2)
//
// so phi is 0 where the boundary is insulated (a = 1) and pi/2 where it holds the temperature (a = -1).

// Eigenvalues of the update of a steady sweep of weight 1 (sum over axes of c L): an error is multiplied by 1
// - w lambda in a sweep of weight w. If no boundary fixes the mean, the constant mode does not count. lowest
// = 0: a mode never decays, as in a single cell without a fixed temperature. With several materials it is
// Config::lowest_eigenvalue; with one it is an estimate if coefficients vary over a face.
struct Spectrum {
  double lowest = 0, highest = 0;
};
Spectrum sweep_spectrum(const Config& config);

// -ln of the factor by which a sweep reduces the slowest mode and, asymptotically, the residual. The constant
// mode does not count if no boundary fixes the mean. 0: a mode never decays, as the checkerboard at weight 1.
double slowest_decay(const Config& config);

// For several materials, computed from the cells: inclusions, shells, contacts and patches count. Both throw
// as RegionMaterials.

// The lowest eigenvalue of the update of a steady sweep of weight 1; 0 if nothing fixes the mean. Exact up to
// 32^3 cells, else from at most 32^3 samples. The same on every rank.
double lowest_eigenvalue(const Config& config);
// The limits of the time step for these cells of the domain, whole rows along x. The minimum over all parts
// of the domain has the same bits for any division.
StepLimits step_limits_of(const Config& config, Box cells);

}  // namespace isotherm
