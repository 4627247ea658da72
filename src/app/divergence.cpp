#include "app/divergence.hpp"

#include <fmt/format.h>

#include <cmath>

namespace isotherm {

template <class T>
std::string divergence(const Config& config, Solver<T>& solver, std::int64_t checked) {
  const ExtremeCell extreme = solver.most_extreme_cell();
  const std::string state = std::isinf(extreme.magnitude)
                                ? std::string("is not finite")
                                : fmt::format("has reached {:.3g} K", extreme.magnitude);
  const std::string what =
      fmt::format("cell ({}, {}, {}) {}", extreme.cell.x, extreme.cell.y, extreme.cell.z, state);
  const std::string remedy =
      config.problem.kind == ProblemKind::steady
          ? "look at walls and sources"
          : fmt::format("keep problem.dt below the stability limit {:.6g} s and look at walls and sources",
                        stable_dt(config));
  const std::int64_t here = solver.sweeps();
  return fmt::format("diverged: {} after sweep {} (residuals are checked every {} sweeps{}); {}", what, here,
                     config.problem.check_interval,
                     checked < here ? fmt::format(" and looked at late: that of sweep {} told", checked) : "",
                     remedy);
}

template std::string divergence(const Config&, Solver<float>&, std::int64_t);
template std::string divergence(const Config&, Solver<double>&, std::int64_t);

}  // namespace isotherm
