// A method: how many sweeps make a cycle, after which the field means something, and the weight of each.
//
// A weight is what the method changes from sweep to sweep: of a steady problem the weight of a Jacobi sweep,
// of a transient one the time step. Nothing else knows methods by name.
#pragma once

#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace isotherm {

struct Method {
  std::string_view name;
  std::vector<double> weights;  // of the sweeps of a cycle: of 1 in a steady problem, else s
};

// jacobi: weighted Jacobi sweeps of one weight. euler: explicit Euler steps of time_plan(config).dt.
inline Method make_method(const Config& config) {
  if (config.problem.kind == ProblemKind::transient) return {"euler", {time_plan(config).dt}};
  return {"jacobi", {config.problem.weight}};
}

}  // namespace isotherm
