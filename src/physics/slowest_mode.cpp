#include "physics/slowest_mode.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "physics/boundaries.hpp"
#include "physics/diagnostics.hpp"
#include "physics/operator.hpp"

namespace isotherm {
namespace {

using std::numbers::pi;

double phase(double a, double theta) {
  return std::atan2((1 - a) * std::cos(theta / 2), (1 + a) * std::sin(theta / 2));
}

// The k-th eigenvalue of L on an axis of n cells, by bisection: theta n - phi - phi rises with theta.
double eigenvalue(double n, double a_min, double a_max, double k) {
  double low = 0, high = pi;
  for (int halving = 0; halving < 200 && low < high; ++halving) {
    const double theta = (low + high) / 2;
    if (theta == low || theta == high) break;
    (theta * n < phase(a_min, theta) + phase(a_max, theta) + k * pi ? low : high) = theta;
  }
  const double s = std::sin(high / 2);
  return 4 * s * s;  // 2 - 2 cos(theta) loses its digits where theta is small
}

struct AxisSpectrum {
  double lowest = 0, second = std::numeric_limits<double>::infinity(), highest = 0;
};

AxisSpectrum spectrum_of(const Config& config, int axis) {
  const std::int64_t cells = config.grid.cells[axis];
  const auto n = static_cast<double>(cells);
  const Face first = face(axis, false), last = face(axis, true);
  AxisSpectrum found;
  if (config.boundaries[static_cast<int>(first)].kind == BoundaryKind::periodic) {
    const auto of = [&](std::int64_t k) {
      const double s = std::sin(pi * static_cast<double>(k) / n);
      return 4 * s * s;
    };
    found.highest = of(cells / 2);
    if (cells > 1) found.second = of(1);
    return found;
  }
  const double a_min = boundary_law(config, first).a, a_max = boundary_law(config, last).a;
  const bool insulated = a_min == 1 && a_max == 1;
  if (!insulated) found.lowest = eigenvalue(n, a_min, a_max, 0);
  if (cells > 1) found.second = eigenvalue(n, a_min, a_max, 1);
  found.highest = insulated && cells == 1 ? 0 : eigenvalue(n, a_min, a_max, n - 1);
  return found;
}

// Of a sweep with these coefficients.
Spectrum spectrum_of(const Config& config, const Coefficients<double>& c) {
  const double weights[] = {c.cx, c.cy, c.cz};
  double lowest = 0, highest = 0, step = std::numeric_limits<double>::infinity();
  for (int axis = 0; axis < 3; ++axis) {
    const AxisSpectrum on_axis = spectrum_of(config, axis);
    const double weight = weights[axis];
    lowest += weight * on_axis.lowest;
    highest += weight * on_axis.highest;
    step = std::min(step, weight * (on_axis.second - on_axis.lowest));
  }
  const double slow = mean_is_free(config) ? lowest + step : lowest;
  return {std::isfinite(slow) ? slow : 0, highest};  // infinite: a single cell, of which nothing is fixed
}

}  // namespace

Spectrum sweep_spectrum(const Config& config) {
  return spectrum_of(config, sweep_coefficients(config, 1));
}

double slowest_decay(const Config& config) {
  const Spectrum of_sweep = spectrum_of(config, sweep_coefficients(config));
  if (of_sweep.lowest == 0) return 0;
  // Modes beyond 1 change their sign from sweep to sweep; the last of them is as slow as 2 - highest says.
  const double slower = std::min(of_sweep.lowest, 2 - of_sweep.highest);
  return slower > 0 ? -std::log1p(-std::min(slower, 1.0)) : 0;
}

}  // namespace isotherm
