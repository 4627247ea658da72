#include "solver/method.hpp"

namespace isotherm {

Method make_method(const Config& config) {
  if (config.problem.kind == ProblemKind::transient) return {"euler", {time_plan(config).dt}};
  return {"jacobi", {config.problem.weight}};
}

}  // namespace isotherm
