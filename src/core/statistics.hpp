// Statistics of samples.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.hpp"

namespace isotherm {

struct Quantiles {
  double p10 = 0, median = 0, p90 = 0;
  double spread() const { return (p90 - p10) / std::abs(median); }
};

// Interpolates linearly between neighbouring values. Needs at least one value.
inline Quantiles quantiles(std::vector<double> values) {
  if (values.empty()) throw Error(ExitCode::internal, "quantiles of no values; please report it");
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
  };
  return {at(0.1), at(0.5), at(0.9)};
}

inline double median(std::vector<double> values) { return quantiles(std::move(values)).median; }

}  // namespace isotherm
