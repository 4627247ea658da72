#include "physics/operator.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "config/boundary_laws.hpp"
#include "physics/cells.hpp"

namespace isotherm {
namespace {

using std::numbers::pi;

// 1/hx^2, 1/hy^2, 1/hz^2 in 1/m^2
Vector3 inverse_squares(const Config& config) {
  Vector3 inverse = spacing(config);
  for (double& h : inverse) h = 1 / (h * h);
  return inverse;
}

// The share of problem.implicit_dt in half_diagonal(), in 1/m^2.
double share_of_time(const Config& config) {
  const auto& dt = config.problem.implicit_dt;
  return dt ? 1 / (2 * diffusivity(config) * *dt) : 0;
}

// The factor of the sum over axes of (T[-1] - 2 T + T[+1]) / h^2 in one sweep, in m^2.
double sweep_length_squared(const Config& config, double weight) {
  if (config.problem.kind == ProblemKind::transient) return diffusivity(config) * weight;
  return weight / (2 * half_diagonal(config));
}

double deck_weight(const Config& config) {
  return config.problem.kind == ProblemKind::transient ? time_plan(config).dt : config.problem.weight;
}

template <class T>
double neighbours_of(const Coefficients<T>& c) {
  return 2 * (static_cast<double>(c.cx) + static_cast<double>(c.cy) + static_cast<double>(c.cz));
}

// Rounds neighbours to multiples of half of (or all of) the spacing at 1 - c0: c0 + 2 (cx + cy + cz) is 1.
template <class T>
Coefficients<T> coarsened(const Coefficients<double>& c) {
  const T size = static_cast<T>(1 - c.c0);
  double half = (static_cast<double>(std::nextafter(size, std::numeric_limits<T>::infinity())) - size) / 2;
  for (;; half *= 2) {
    const auto multiple = [&](double weight) { return static_cast<T>(std::nearbyint(weight / half) * half); };
    Coefficients<T> rounded{0, multiple(c.cx), multiple(c.cy), multiple(c.cz), static_cast<T>(c.sigma)};
    rounded.c0 = static_cast<T>(1 - neighbours_of(rounded));
    if (static_cast<double>(rounded.c0) + neighbours_of(rounded) == 1) return rounded;
  }
}

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

AxisSpectrum spectrum_along(const Config& config, int axis) {
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
  const double k = conductivity(config);
  if (!insulated) found.lowest = eigenvalue(n, mean_a(config, first, k), mean_a(config, last, k), 0);
  if (cells > 1) found.second = eigenvalue(n, a_min, a_max, 1);
  found.highest = insulated && cells == 1 ? 0 : eigenvalue(n, a_min, a_max, n - 1);
  return found;
}

// The spectrum of a steady sweep of this weight.
Spectrum spectrum_of(const Config& config, double weight_of_sweep) {
  // Eigenvalues are below 2 (Gershgorin): magnitudes in a row sum to at most twice the divisor of a sweep.
  if (has_several_materials(config))
    return {weight_of_sweep * config.lowest_eigenvalue.value_or(0), weight_of_sweep * 2};
  const Coefficients<double> c = sweep_coefficients(config, weight_of_sweep);
  const double weights[] = {c.cx, c.cy, c.cz};
  const double of_time = (1 - c.c0) * share_of_time(config) / half_diagonal(config);
  double lowest = of_time, highest = of_time, step = std::numeric_limits<double>::infinity();
  for (int axis = 0; axis < 3; ++axis) {
    const AxisSpectrum on_axis = spectrum_along(config, axis);
    const double weight = weights[axis];
    lowest += weight * on_axis.lowest;
    highest += weight * on_axis.highest;
    step = std::min(step, weight * (on_axis.second - on_axis.lowest));
  }
  const double slow = mean_is_free(config) ? lowest + step : lowest;
  return {std::isfinite(slow) ? slow : 0, highest};  // infinite: a single cell, of which nothing is fixed
}

}  // namespace

double half_diagonal(const Config& config) {
  if (config.problem.kind == ProblemKind::transient)
    return config.problem.weight / (2 * diffusivity(config) * euler_dt(config));
  const Vector3 inverse = inverse_squares(config);
  return inverse[0] + inverse[1] + inverse[2] + share_of_time(config);
}

Coefficients<double> sweep_coefficients(const Config& config, double weight) {
  const double scale = sweep_length_squared(config, weight);
  const Vector3 inverse = inverse_squares(config);
  const double cx = scale * inverse[0], cy = scale * inverse[1], cz = scale * inverse[2];
  // Steady: by construction the six neighbours sum to the weight, less the share of implicit_dt.
  const double c0 = config.problem.kind == ProblemKind::transient ? 1 - 2 * (cx + cy + cz) : 1 - weight;
  return {c0, cx, cy, cz, weight / deck_weight(config)};
}

double source_scale(const Config& config) {
  if (config.problem.kind == ProblemKind::transient)
    return time_plan(config).dt / volumetric_heat_capacity(config);
  return sweep_length_squared(config, deck_weight(config)) / conductivity(config);
}

template <class T>
Coefficients<T> rounded_coefficients(const Coefficients<double>& c, double kept) {
  if (kept == 1 && c.sigma != 1 && c.c0 < -1) return coarsened<T>(c);
  Coefficients<T> rounded{0, static_cast<T>(c.cx), static_cast<T>(c.cy), static_cast<T>(c.cz),
                          static_cast<T>(c.sigma)};
  rounded.c0 = static_cast<T>(kept - neighbours_of(rounded));
  // If c0 has the coarser spacing, its rounding error is added to the largest neighbour.
  T& largest = std::max({std::ref(rounded.cx), std::ref(rounded.cy), std::ref(rounded.cz)}, [](T a, T b) {
                 return a < b;
               }).get();
  const double left = kept - static_cast<double>(rounded.c0) - neighbours_of(rounded);
  largest = static_cast<T>(static_cast<double>(largest) + left / 2);
  return rounded;
}

template <class T>
Coefficients<T> rounded_sweep(const Config& config, double weight) {
  const double lost = share_of_time(config) / half_diagonal(config);  // by a constant field, at a weight of 1
  return rounded_coefficients<T>(sweep_coefficients(config, weight), 1 - weight * lost);
}

template <class T>
Coefficients<T> rounded_sweep(const Config& config, const MaterialClass& own, double scale, double weight) {
  const bool transient = config.problem.kind == ProblemKind::transient;
  const Vector3& h = own.size;
  const double ratio = volume_ratio(config, own);
  // The divisor of a cell's heat in a sweep of weight 1: steady W/(m^3 K), transient J/(m^3 K).
  const double divisor = transient ? own.heat_capacity : own_conductance(config, own) / ratio;
  const auto along = [&](int axis) {
    return own.conductivity[axis] / divisor * weight * (1 / (h[axis] * h[axis]));
  };
  const double cx = along(0), cy = along(1), cz = along(2);
  const double c0 = transient ? 1 - 2 * (cx + cy + cz) : 1 - weight;
  return rounded_coefficients<T>({c0, cx, cy, cz, weight / (divisor * ratio * scale)});
}

template Coefficients<float> rounded_sweep(const Config&, const MaterialClass&, double, double);
template Coefficients<double> rounded_sweep(const Config&, const MaterialClass&, double, double);
template Coefficients<float> rounded_coefficients(const Coefficients<double>&, double);
template Coefficients<double> rounded_coefficients(const Coefficients<double>&, double);
template Coefficients<float> rounded_sweep(const Config&, double);
template Coefficients<double> rounded_sweep(const Config&, double);

Spectrum sweep_spectrum(const Config& config) { return spectrum_of(config, 1.0); }

double slowest_decay(const Config& config) {
  const Spectrum of_sweep = spectrum_of(config, config.problem.weight);
  if (of_sweep.lowest == 0) return 0;
  // Modes with eigenvalues above 1 change sign in each sweep; the highest is as slow as one of 2 - highest.
  const double slower = std::min(of_sweep.lowest, 2 - of_sweep.highest);
  return slower > 0 ? -std::log1p(-std::min(slower, 1.0)) : 0;
}

}  // namespace isotherm
