// How fast the slowest mode of a steady problem decays: known from the grid and the boundaries alone.
//
// A sweep multiplies the error by 1 - sum over axes of c L, where L = -(T[-1] - 2 T + T[+1]) with ghosts
// a T. On each axis the eigenvectors are cos(theta (i + 1/2) - phi), the eigenvalues 2 - 2 cos(theta), and
// both ends must fit:
//
//     theta n = phi(a_min) + phi(a_max) + k pi, k = 0 ... n - 1,   tan(phi(a)) = (1 - a)/(1 + a) cot(theta/2)
//
// so phi is 0 where the boundary is insulated (a = 1) and pi/2 where it holds the temperature (a = -1).
#pragma once

#include "config/config.hpp"

namespace isotherm {

// Eigenvalues of the update of a steady sweep of weight 1 (sum over axes of c L): an error is multiplied by 1
// - w lambda in a sweep of weight w. Where no boundary fixes the mean, the constant does not count. lowest =
// 0: a mode never decays, as in a single cell of which nothing is fixed.
struct Spectrum {
  double lowest = 0, highest = 0;
};
Spectrum sweep_spectrum(const Config& config);

// -ln of the factor by which a sweep reduces the slowest mode: in the end the residual falls so, and no error
// falls more slowly. The constant does not count where no boundary fixes the mean. 0 where a mode never
// decays, as the checkerboard does with weight 1.
double slowest_decay(const Config& config);

}  // namespace isotherm
