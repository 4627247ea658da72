#include "physics/operator.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <vector>

#include "config/boundary_laws.hpp"
#include "physics/cells.hpp"
#include "physics/material_painter.hpp"

namespace isotherm {
namespace {

using std::numbers::pi;

// 1/hx^2, 1/hy^2, 1/hz^2 in 1/m^2
Vector3 inverse_squares(const Config& config) {
  Vector3 inverse = spacing(config);
  for (double& h : inverse) h = 1 / (h * h);
  return inverse;
}

// Of half_diagonal(), in 1/m^2.
double share_of_time(const Config& config) {
  const auto& dt = config.problem.implicit_dt;
  return dt ? 1 / (2 * diffusivity(config) * *dt) : 0;
}

// s: what multiplies the sum over axes of (T[-1] - 2 T + T[+1]) / h^2 in one sweep, in m^2.
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

// Neighbours in multiples of half (or all) of the spacing of 1 - c0, so that c0 + 2 (cx + cy + cz) is 1.
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
  const double k = conductivity(config);
  if (!insulated) found.lowest = eigenvalue(n, mean_a(config, first, k), mean_a(config, last, k), 0);
  if (cells > 1) found.second = eigenvalue(n, a_min, a_max, 1);
  found.highest = insulated && cells == 1 ? 0 : eigenvalue(n, a_min, a_max, n - 1);
  return found;
}

Spectrum spectrum_of(const Config& config, const Coefficients<double>& c) {
  const double weights[] = {c.cx, c.cy, c.cz};
  const double of_time = (1 - c.c0) * share_of_time(config) / half_diagonal(config);
  double lowest = of_time, highest = of_time, step = std::numeric_limits<double>::infinity();
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

// A body along an axis as a chain of planes of cells, each at one temperature: sums over lines, W/(m^3 K).
struct Chain {
  std::vector<double> faces;     // below each plane and above the last; at the ends what boundaries take
  std::vector<double> held;      // of each plane to voids
  std::vector<double> diagonal;  // what a sweep divides by
};

Chain chain_along(const Config& config, int axis) {
  constexpr Index most_lines = 4;  // along each of the other axes: enough for an estimate
  const MaterialClasses all = material_classes(config);
  MaterialPainter painter(config);
  const Int3 n = config.grid.cells;
  const int p = (axis + 1) % 3, q = (axis + 2) % 3;
  const Int3 lines{0, std::min(n[p], most_lines), std::min(n[q], most_lines)};
  const auto taken = [&](bool above, std::size_t own) {
    const double k = all.classes[own].conductivity[axis];
    return face_conductance(config, all, axis, own, own) * (1 - mean_a(config, face(axis, above), k));
  };
  const auto count = static_cast<std::size_t>(n[axis]);
  Chain chain{std::vector<double>(count + 1), std::vector<double>(count), std::vector<double>(count)};
  for (Index line = 0; line < lines.y * lines.z; ++line) {
    Int3 cell, beyond{1, 1, 1};
    cell[p] = (2 * (line % lines.y) + 1) * n[p] / (2 * lines.y);
    cell[q] = (2 * (line / lines.y) + 1) * n[q] / (2 * lines.z);
    beyond[axis] = n[axis];
    painter.load({cell, cell + beyond});
    std::size_t before = 0, own = 0;
    for (std::size_t i = 0; i < count; ++i, before = own) {
      cell[axis] = static_cast<Index>(i);
      own = all.of(painter.painted(cell), cell);
      const bool is_void = all.classes[own].is_void();
      if (!is_void) chain.diagonal[i] += own_conductance(config, all.classes[own]);
      if (i == 0 && !is_void) chain.faces[i] += taken(false, own);
      if (i == 0) continue;
      if (is_void || all.classes[before].is_void()) {
        chain.held[i] += face_conductance(config, all, axis, own, before);
        chain.held[i - 1] += face_conductance(config, all, axis, before, own);
      } else {
        chain.faces[i] += face_conductance(config, all, axis, before, own);
      }
    }
    if (!all.classes[own].is_void()) chain.faces.back() += taken(true, own);
  }
  for (std::size_t i = 0; i < count; ++i)  // planes without a cell of the body: by themselves, and not slow
    if (chain.diagonal[i] == 0) chain.diagonal[i] = chain.held[i] = 1;
  return chain;
}

// The smallest eigenvalue of the chain, over its diagonal, by inverse iteration.
double lowest_of(const Chain& chain) {
  const std::size_t n = chain.diagonal.size();
  const double ends = chain.faces.front() + chain.faces.back();
  const bool has_void = std::ranges::any_of(chain.held, [](double held) { return held > 0; });
  if (ends == 0 && !has_void) return 0;
  constexpr double least_pivot = 1e-14;
  std::vector<double> mode(n, 1), next(n), pivot(n);
  double found = 0;
  for (int iteration = 0; iteration < 20; ++iteration) {
    for (std::size_t i = 0; i < n; ++i) {  // Gaussian elimination
      const double below = chain.faces[i], share = i == 0 ? 0 : below / pivot[i - 1];
      pivot[i] = below + chain.faces[i + 1] + chain.held[i] - (i == 0 ? 0 : share * below);
      if (has_void && !(pivot[i] > least_pivot * chain.diagonal[i])) return 0;  // planes that nothing holds
      next[i] = chain.diagonal[i] * mode[i] + (i == 0 ? 0 : share * next[i - 1]);
    }
    double work = 0, size = 0;
    for (std::size_t i = n; i-- > 0;) {
      next[i] = (next[i] + (i + 1 < n ? chain.faces[i + 1] * next[i + 1] : 0)) / pivot[i];
      work += next[i] * chain.diagonal[i] * mode[i];
      size += next[i] * chain.diagonal[i] * next[i];
    }
    found = work / size;
    for (std::size_t i = 0; i < n; ++i) mode[i] = next[i] / std::sqrt(size);
  }
  return found;
}

// Eigenvalues are below 2, as no cell gives away more than twice what its sweep divides by (Gershgorin). The
// lowest is estimated: where it is too high or too low, cycles of Chebyshev weights still converge.
Spectrum spectrum_of_materials(const Config& config) {
  Spectrum found{0, 2};
  for (int axis = 0; axis < 3; ++axis)
    if (config.boundaries[2 * axis].kind != BoundaryKind::periodic)
      found.lowest += lowest_of(chain_along(config, axis));
  if (found.lowest > 0 || !has_void(material_classes(config))) return found;
  // The lines miss what holds the body: as if it were held at one end of a chain through all of it.
  const Int3 n = config.grid.cells;
  found.lowest = 1 / square(static_cast<double>(n.x + n.y + n.z));
  return found;
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
  // Steady: the sum of the six neighbours is the weight by construction, or less that by implicit_dt.
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

template <class T>
Coefficients<T> rounded_coefficients(const Coefficients<double>& c, double kept) {
  if (kept == 1 && c.sigma != 1 && c.c0 < -1) return coarsened<T>(c);
  Coefficients<T> rounded{0, static_cast<T>(c.cx), static_cast<T>(c.cy), static_cast<T>(c.cz),
                          static_cast<T>(c.sigma)};
  rounded.c0 = static_cast<T>(kept - neighbours_of(rounded));
  // Where c0 is the coarser number, the largest neighbour takes up what its rounding left.
  T& largest = std::max({std::ref(rounded.cx), std::ref(rounded.cy), std::ref(rounded.cz)}, [](T a, T b) {
                 return a < b;
               }).get();
  const double left = kept - static_cast<double>(rounded.c0) - neighbours_of(rounded);
  largest = static_cast<T>(static_cast<double>(largest) + left / 2);
  return rounded;
}

template <class T>
Coefficients<T> rounded_sweep(const Config& config, double weight) {
  const double lost = share_of_time(config) / half_diagonal(config);  // of a constant, by a weight of 1
  return rounded_coefficients<T>(sweep_coefficients(config, weight), 1 - weight * lost);
}

template <class T>
Coefficients<T> rounded_sweep(const Config& config, const MaterialClass& own, double scale, double weight) {
  const bool transient = config.problem.kind == ProblemKind::transient;
  const Vector3& h = own.size;
  const double ratio = volume_ratio(config, own);
  // Of a cell: what a sweep of the weight 1 divides its heat by, W/(m^3 K).
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

Spectrum sweep_spectrum(const Config& config) {
  return has_several_materials(config) ? spectrum_of_materials(config)
                                       : spectrum_of(config, sweep_coefficients(config, 1));
}

double slowest_decay(const Config& config) {
  const double weight = config.problem.weight;
  const bool several = has_several_materials(config);
  Spectrum of_sweep =
      several ? spectrum_of_materials(config) : spectrum_of(config, sweep_coefficients(config));
  if (several) of_sweep = {weight * of_sweep.lowest, weight * of_sweep.highest};
  if (of_sweep.lowest == 0) return 0;
  // Modes beyond 1 change their sign from sweep to sweep; the last of them is as slow as 2 - highest says.
  const double slower = std::min(of_sweep.lowest, 2 - of_sweep.highest);
  return slower > 0 ? -std::log1p(-std::min(slower, 1.0)) : 0;
}

}  // namespace isotherm
