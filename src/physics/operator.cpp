#include "physics/operator.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace isotherm {
namespace {

// 1/hx^2, 1/hy^2, 1/hz^2 in 1/m^2
Vector3 inverse_squares(const Config& config) {
  Vector3 inverse = spacing(config);
  for (double& h : inverse) h = 1 / (h * h);
  return inverse;
}

double sum(const Vector3& v) {
  return v[0] + v[1] + v[2];
}

// s: what multiplies the sum over axes of (T[-1] - 2 T + T[+1]) / h^2 in one sweep, in m^2.
double sweep_length_squared(const Config& config, double weight) {
  if (config.problem.kind == ProblemKind::transient) return diffusivity(config) * weight;
  return weight / (2 * sum(inverse_squares(config)));
}

double deck_weight(const Config& config) {
  return config.problem.kind == ProblemKind::transient ? time_plan(config).dt : config.problem.weight;
}

}  // namespace

Coefficients<double> sweep_coefficients(const Config& config, double weight) {
  const double scale = sweep_length_squared(config, weight);
  const Vector3 inverse = inverse_squares(config);
  const double cx = scale * inverse[0], cy = scale * inverse[1], cz = scale * inverse[2];
  // Steady: the sum of the six neighbours is the weight by construction.
  const double c0 = config.problem.kind == ProblemKind::transient ? 1 - 2 * (cx + cy + cz) : 1 - weight;
  return {c0, cx, cy, cz, weight / deck_weight(config)};
}

Coefficients<double> sweep_coefficients(const Config& config) {
  return sweep_coefficients(config, deck_weight(config));
}

double source_scale(const Config& config) {
  if (config.problem.kind == ProblemKind::transient)
    return time_plan(config).dt / volumetric_heat_capacity(config);
  return sweep_length_squared(config, deck_weight(config)) / conductivity(config);
}

namespace {

template <class T>
double neighbours_of(const Coefficients<T>& c) {
  return 2 * (static_cast<double>(c.cx) + static_cast<double>(c.cy) + static_cast<double>(c.cz));
}

// Neighbours in multiples of half the spacing of 1 - c0, so that c0 + 2 (cx + cy + cz) is 1 exactly. The
// rounding of the neighbours may bring that to where the spacing is twice as large.
template <class T>
Coefficients<T> coarsened(const Coefficients<double>& c) {
  const T size = static_cast<T>(1 - c.c0);
  double half = (static_cast<double>(std::nextafter(size, std::numeric_limits<T>::infinity())) -
                 static_cast<double>(size)) /
                2;
  for (;; half *= 2) {
    const auto multiple = [&](double weight) { return static_cast<T>(std::nearbyint(weight / half) * half); };
    Coefficients<T> rounded{0, multiple(c.cx), multiple(c.cy), multiple(c.cz), static_cast<T>(c.sigma)};
    rounded.c0 = static_cast<T>(1 - neighbours_of(rounded));
    if (static_cast<double>(rounded.c0) + neighbours_of(rounded) == 1) return rounded;
  }
}

}  // namespace

template <class T>
Coefficients<T> rounded_coefficients(const Coefficients<double>& c) {
  if (c.sigma > 1 && c.c0 < -1) return coarsened<T>(c);
  Coefficients<T> rounded{0, static_cast<T>(c.cx), static_cast<T>(c.cy), static_cast<T>(c.cz),
                          static_cast<T>(c.sigma)};
  rounded.c0 = static_cast<T>(1 - neighbours_of(rounded));
  // Where c0 is the coarser number, the largest neighbour takes up what its rounding left.
  T& largest = std::max({std::ref(rounded.cx), std::ref(rounded.cy), std::ref(rounded.cz)}, [](T a, T b) {
                 return a < b;
               }).get();
  const double left = 1 - static_cast<double>(rounded.c0) - neighbours_of(rounded);
  largest = static_cast<T>(static_cast<double>(largest) + left / 2);
  return rounded;
}

template Coefficients<float> rounded_coefficients(const Coefficients<double>&);
template Coefficients<double> rounded_coefficients(const Coefficients<double>&);

}  // namespace isotherm
