// The coefficients of one sweep for the deck's problem.
#pragma once

#include "config/config.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// Transient: one explicit Euler step of `weight` seconds. Steady: one Jacobi sweep of that weight. The unit
// weight, for which sources are stored, is that of the deck.
Coefficients<double> sweep_coefficients(const Config& config, double weight);
// Of the weight of the deck: problem.weight, or the time step.
Coefficients<double> sweep_coefficients(const Config& config);
// What a source of 1 W/m^3 adds to a cell in one sweep of the weight of the deck, in kelvin.
double source_scale(const Config& config);

// Rounded to T such that c0 + 2 (cx + cy + cz) stays as near to 1 as T allows. Rounded one by one, fp32
// coefficients miss 1 by up to 1e-7, and an insulated body at 300 K would gain or lose 1 K in 30 000 sweeps.
// Of weights above 2, as methods have them, it is 1 exactly: at 1e5 fp32 would lose 0.5 K per sweep.
template <class T>
Coefficients<T> rounded_coefficients(const Coefficients<double>& c);

}  // namespace isotherm
