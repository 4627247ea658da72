#include "app/swallowed_heat_text.hpp"

#include <fmt/format.h>

namespace isotherm {

std::string swallowed_heat_text(const Config& config, const SwallowedHeat& heat) {
  constexpr double least_share = 0.01;  // the rims of a gaussian are always lost
  if (!(heat.lost > least_share * heat.all)) return {};
  const bool transient = config.problem.kind == ProblemKind::transient;
  const std::string longer =
      transient && time_plan(config).dt < 0.99 * stable_dt(config)
          ? fmt::format(", or a larger problem.dt (the stability limit is {:.6g} s)", stable_dt(config))
          : "";
  return fmt::format(
      "fp32 loses {:.3g} % of the heat of sources and flux boundaries: what a {} adds to these cells is less "
      "than half "
      "the last digit of their temperature, which stays as it is; use precision: fp64{}",
      100 * heat.lost / heat.all, transient ? "step" : "sweep", longer);
}

}  // namespace isotherm
