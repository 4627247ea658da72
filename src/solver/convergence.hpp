// When a steady problem has reached its tolerance, and when its residual stagnates.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

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

// Whether a residual still falls. A sweep is a symmetric operator: while the slowest mode falls to a tenth,
// any residual falls below half, whatever modes it holds. One that does not is what rounding leaves. Only
// values of residuals decide, so that all ranks, kernels and restarts decide alike.
class Stagnation {
 public:
  struct Lowest {
    double residual;  // K
    std::int64_t sweep;
  };

  // `decay`: of the slowest mode (physics/slowest_mode.hpp). 0: never.
  Stagnation(const ProblemConfig& problem, double decay)
      : patience_(
            problem.kind == ProblemKind::steady && problem.tolerance > 0 && decay > 0
                ? std::max(std::log(10.0) / decay, least_checks * static_cast<double>(problem.check_interval))
                : std::numeric_limits<double>::infinity()) {}

  void go_on_from(Lowest lowest) { lowest_ = lowest; }
  // A residual that is hardly lower is no progress: noise has new minima for ever.
  void checked(std::int64_t sweep, double residual) {
    if (residual <= 0.75 * lowest_.residual) lowest_ = {residual, sweep};
  }
  bool reached(std::int64_t sweep) const {
    return static_cast<double>(sweep - lowest_.sweep) >= patience_ && std::isfinite(lowest_.residual);
  }
  std::optional<Lowest> lowest() const {  // none before the first check
    return std::isfinite(lowest_.residual) ? std::optional(lowest_) : std::nullopt;
  }

 private:
  static constexpr double least_checks = 3;
  double patience_;  // sweeps
  Lowest lowest_{std::numeric_limits<double>::infinity(), 0};
};

// The largest residual that rounding may leave, K: some units in the last place of the temperatures. Measured
// are up to 3 (limit cycles of coupled cells).
template <class T>
double rounding_level(double largest_temperature) {
  return 64 * static_cast<double>(std::numeric_limits<T>::epsilon()) * largest_temperature;
}

}  // namespace isotherm
