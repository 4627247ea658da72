// When a steady problem has come to rest.
#pragma once

#include "config/config.hpp"

namespace isotherm {

// Over the first residual; 0 where that is 0.
inline double relative_residual(double first, double value) {
  return first > 0 ? value / first : 0;
}

// K. Never in a transient problem, nor with a tolerance of 0.
inline bool has_converged(const ProblemConfig& problem, double first, double value) {
  const double measure = problem.criterion == Criterion::relative ? relative_residual(first, value) : value;
  return problem.kind == ProblemKind::steady && problem.tolerance > 0 && measure <= problem.tolerance;
}

}  // namespace isotherm
