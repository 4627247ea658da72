// What to say of a run whose residual is not finite, or beyond all heat.
#pragma once

#include <cstdint>
#include <string>

#include "config/config.hpp"
#include "solver/solver.hpp"

namespace isotherm {

// Collective. `checked`: the sweep whose `residual` (K) told; where checks lag it is an earlier one than that
// of the field that is left to look at.
template <class T>
std::string divergence(const Config& config, Solver<T>& solver, std::int64_t checked, double residual);

}  // namespace isotherm
