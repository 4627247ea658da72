#include "physics/exact.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "config/boundary_laws.hpp"
#include "config/problems.hpp"
#include "physics/cells.hpp"
#include "physics/coverage.hpp"
#include "physics/region_materials.hpp"

namespace isotherm {
namespace {

using std::numbers::pi;

Error does_not_fit(const Config& config, const std::string& why, const std::string& remedy) {
  return deck_error(config, "verify.solution", "{} does not fit the deck ({}); {}",
                    word(config.verify.solution), why, remedy);
}

// Insulated, or the same condition as a flux of 0.
bool is_insulated(const BoundaryConfig& boundary) {
  return boundary.kind == BoundaryKind::insulated ||
         (boundary.kind == BoundaryKind::flux && boundary.value.is_zero());
}

// Modes: products of one wave per axis. They are eigenfunctions of the Laplacian and of its discrete form.

struct AxisMode {
  double origin = 0;       // m
  double wave_number = 0;  // 1/m; 0: constant
  bool is_sine = false;    // else a cosine

  double operator()(double x) const {
    const double angle = wave_number * (x - origin);
    return is_sine ? std::sin(angle) : std::cos(angle);
  }
};

struct SeparableMode {
  std::array<AxisMode, 3> axes;
  double offset = 0;     // K, of the temperature boundaries
  double amplitude = 0;  // K

  double shape(double x, double y, double z) const {
    return amplitude * (axes[0](x) * axes[1](y) * axes[2](z));
  }
  double wave_number_squared() const {  // 1/m^2
    double sum = 0;
    for (const AxisMode& axis : axes) sum += axis.wave_number * axis.wave_number;
    return sum;
  }
};

// Insulated, temperature or periodic.
BoundaryKind end_of_mode(const Config& config, Face f) {
  const BoundaryConfig& boundary = boundary_of(config, f);
  if (is_insulated(boundary)) return BoundaryKind::insulated;
  if (boundary.kind == BoundaryKind::flux || boundary.kind == BoundaryKind::convection)
    throw does_not_fit(config, boundary_key(f) + " is a flux or convection boundary",
                       "use temperature, insulated and periodic boundaries, or solution formula");
  return boundary.kind;
}

// The m-th wave: m half waves, m - 1/2 between a temperature and an insulated end, m whole ones if periodic.
AxisMode axis_mode(const Config& config, int axis) {
  const BoundaryKind low = end_of_mode(config, face(axis, false)),
                     high = end_of_mode(config, face(axis, true));
  const int m = config.verify.modes[axis];
  const auto n = static_cast<double>(config.grid.cells[axis]);
  const bool fixed = low == BoundaryKind::temperature || high == BoundaryKind::temperature;
  double half_waves = m;
  if (low == BoundaryKind::periodic) half_waves = 2.0 * m;
  if (fixed && low != high) half_waves = m - 0.5;
  if (half_waves <= 0 && fixed)
    throw does_not_fit(config,
                       fmt::format("mode 0 along {} is not zero at its temperature boundary", "xyz"[axis]),
                       "use modes of 1 or more there");
  if (half_waves <= 0) return {};
  const bool insulated = low == BoundaryKind::insulated && high == BoundaryKind::insulated;
  if (!(insulated ? half_waves < n : half_waves <= n))
    throw does_not_fit(config,
                       fmt::format("mode {} along {} is shorter than {} cells can hold", m, "xyz"[axis], n),
                       "use a smaller mode or more cells");
  return {config.grid.origin[axis], half_waves * pi / GridAxis(config, axis).length(),
          low != BoundaryKind::insulated};
}

// The temperature of all temperature boundaries; none if there is no such boundary.
std::optional<double> common_boundary_temperature(const Config& config) {
  std::optional<double> common;
  for (const Face f : all_faces) {
    const BoundaryConfig& boundary = boundary_of(config, f);
    if (boundary.kind != BoundaryKind::temperature) continue;
    if (!boundary.value.is_constant())
      throw does_not_fit(config, boundary_key(f) + " is a formula",
                         "hold all temperature boundaries at one number");
    const double value = boundary.value(0, 0, 0);
    if (common && value != *common)
      throw does_not_fit(config,
                         fmt::format("{} holds {} K, another boundary {} K", boundary_key(f), value, *common),
                         "hold all temperature boundaries at one number");
    common = value;
  }
  return common;
}

SeparableMode separable_mode(const Config& config) {
  SeparableMode mode;
  for (int axis = 0; axis < 3; ++axis) mode.axes[axis] = axis_mode(config, axis);
  if (!config.sources.empty())
    throw does_not_fit(config, "the deck has sources", "remove them, or use solution formula");
  mode.offset = common_boundary_temperature(config).value_or(config.problem.mean_temperature.value_or(0));
  mode.amplitude = config.verify.amplitude;
  return mode;
}

// T = offset + A phi(x, y, z) exp(-alpha K^2 t),  -laplace phi = K^2 phi
ExactField decaying_mode(const Config& config) {
  if (config.problem.kind != ProblemKind::transient)
    throw does_not_fit(config, "the problem is steady, a mode decays in time", "use problem.kind transient");
  const SeparableMode mode = separable_mode(config);
  const double rate = diffusivity(config) * mode.wave_number_squared();  // 1/s
  return {[mode, rate](double x, double y, double z, double t) {
    return mode.offset + mode.shape(x, y, z) * std::exp(-rate * t);
  }};
}

// T = offset + A phi(x, y, z), steady with the source q = k K^2 (T - offset)
ExactField manufactured_mode(const Config& config) {
  if (config.problem.kind != ProblemKind::steady)
    throw does_not_fit(config, "the problem is transient, the solution is steady", "use problem.kind steady");
  const SeparableMode mode = separable_mode(config);
  const double factor = conductivity(config) * mode.wave_number_squared();  // W/(m^3 K)
  return {[mode](double x, double y, double z, double) { return mode.offset + mode.shape(x, y, z); },
          [mode, factor](double x, double y, double z) { return factor * mode.shape(x, y, z); }};
}

// Profiles: temperatures along one axis, steady, or in a slab that is suddenly cooled or heated.

// One end of the axis as  alpha T + beta dT/dn = gamma,  n pointing out of the body.
struct End {
  double alpha, beta, gamma;  // W/(m^2 K), W/(m K), W/m^2; of a given temperature 1, 0, K
};

struct Axis {
  int index;
  double origin, length;  // m
  End low, high;

  // m from the lower boundary
  double place(double x, double y, double z) const { return Vector3{x, y, z}[index] - origin; }
};

End end_of(const Config& config, Face f) {
  const BoundaryConfig& boundary = boundary_of(config, f);
  if (!boundary.value.is_constant())
    throw does_not_fit(config, boundary_key(f) + " is a formula",
                       "give it a number, or use solution formula");
  const FaceLaw law = face_law(config, f);
  if (law.held) return {1, 0, law.temperature(0, 0, 0)};
  return {law.coefficient(0, 0, 0), conductivity(config), law.heat(0, 0, 0)};
}

// The one axis along which the temperature varies: its ends exchange heat, all other boundaries do not.
Axis active_axis(const Config& config) {
  std::optional<int> active;
  for (int axis = 0; axis < 3; ++axis) {
    const BoundaryConfig& low = config.boundaries[2 * axis];
    const BoundaryConfig& high = config.boundaries[2 * axis + 1];
    if (low.kind == BoundaryKind::periodic || (is_insulated(low) && is_insulated(high))) continue;
    if (active)
      throw does_not_fit(config,
                         fmt::format("heat passes boundaries along {} and {}", "xyz"[*active], "xyz"[axis]),
                         "make the boundaries of all axes but one insulated or periodic");
    active = axis;
  }
  if (!active)
    throw does_not_fit(config, "all boundaries are insulated or periodic",
                       "let one axis have a temperature, flux or convection boundary");
  const int i = *active;
  return {i, config.grid.origin[i], GridAxis(config, i).length(), end_of(config, face(i, false)),
          end_of(config, face(i, true))};
}

// T = c0 + c1 s + c2 s^2,  s metres from the lower boundary
struct Profile {
  double c0 = 0, c1 = 0, c2 = 0;
  double operator()(double s) const { return c0 + s * (c1 + s * c2); }
};

// k T'' = -q between the two ends. Two rows  (m0, m1) (c0, c1) = r  after c2 = -q/(2k) is known.
Profile equilibrium_profile(const Config& config, const Axis& axis, double q) {
  const double k = conductivity(config), L = axis.length, c2 = -q / (2 * k);
  const End &low = axis.low, &high = axis.high;
  const double m00 = low.alpha, m01 = -low.beta, r0 = low.gamma;
  const double m10 = high.alpha, m11 = high.alpha * L + high.beta;
  const double r1 = high.gamma - c2 * (high.alpha * L * L + 2 * high.beta * L);
  const double determinant = m00 * m11 - m01 * m10;
  if (determinant != 0) return {(r0 * m11 - m01 * r1) / determinant, (m00 * r1 - r0 * m10) / determinant, c2};

  // Fluxes at both ends: they and the source balance, and the deck fixes the mean.
  const double in = low.gamma + high.gamma + q * L;
  const double size = std::abs(low.gamma) + std::abs(high.gamma) + std::abs(q * L);
  if (std::abs(in) > 1e-9 * size)
    throw does_not_fit(config, fmt::format("{} W/m^2 more come in than go out", in),
                       "balance the fluxes and the source");
  if (!config.problem.mean_temperature)
    throw does_not_fit(config, "no boundary fixes the temperature", "give problem.mean_temperature");
  const double c1 = -low.gamma / k;
  return {*config.problem.mean_temperature - c1 * L / 2 - c2 * L * L / 3, c1, c2};
}

// One term of the series: coefficient * cos(wave_number s - phase) * exp(-alpha wave_number^2 t).
struct Term {
  double wave_number, phase, coefficient;  // 1/m, 1, K
};

// Phase of the crest inside an end: tan(phase) = (alpha/beta) / wave_number; a quarter wave if T is given.
double phase_at(const End& end, double wave_number) {
  return end.beta == 0 ? pi / 2 : std::atan2(end.alpha / end.beta, wave_number);
}

// The n-th root, n >= 1, of  w L - phase_low(w) - phase_high(w) = (n - 1) pi. The left side grows with w, and
// both phases lie between 0 and pi/2: the root lies in [(n-1) pi/L, n pi/L], and bisection cannot miss it.
double wave_number(const Axis& axis, int n) {
  double below = (n - 1) * pi / axis.length, above = n * pi / axis.length;
  while (true) {
    const double middle = below + (above - below) / 2;
    if (middle <= below || middle >= above) return middle;
    const double left = middle * axis.length - phase_at(axis.low, middle) - phase_at(axis.high, middle);
    (left < (n - 1) * pi ? below : above) = middle;
  }
}

// The wave that fits the ends. Its weight is its part in `start` minus the linear profile: both integrals
// over the slab have a closed form (Carslaw and Jaeger, Conduction of Heat in Solids, 1959, chapter 3).
Term series_term(const Axis& axis, int n, double start, const Profile& rest) {
  const double L = axis.length, w = wave_number(axis, n);
  const double first = phase_at(axis.low, w), last = w * L - first;  // angles: -first at s = 0, last at L
  const double wave = (std::sin(last) + std::sin(first)) / w;
  const double moment = L * std::sin(last) / w + (std::cos(last) - std::cos(first)) / (w * w);
  const double norm = L / 2 + (std::sin(2 * last) + std::sin(2 * first)) / (4 * w);
  return {w, first, ((start - rest.c0) * wave - rest.c1 * moment) / norm};
}

ExactField steady_profile(const Config& config) {
  double q = 0;
  for (const RegionValue& source : config.sources) {
    if (source.shape != Shape::constant)
      throw does_not_fit(config, "a source is not constant", "use constant sources, or solution formula");
    const double value = source_strength(config, source);
    q = source.mode == RegionMode::add ? q + value : value;
  }
  const Axis axis = active_axis(config);
  const Profile profile = equilibrium_profile(config, axis, q);
  return {[axis, profile](double x, double y, double z, double) { return profile(axis.place(x, y, z)); }};
}

// A slab at one temperature whose boundaries change at t = 0.
ExactField slab_series(const Config& config) {
  if (config.problem.kind != ProblemKind::transient)
    throw does_not_fit(config, "the problem is steady", "use problem.kind transient, or steady_profile");
  if (!config.sources.empty())
    throw does_not_fit(config, "the deck has sources", "remove them, or use solution formula");
  if (config.initial.size() != 1 || config.initial[0].shape != Shape::constant)
    throw does_not_fit(config, "the slab does not start at one temperature",
                       "give one entry of shape constant as initial");
  const Axis axis = active_axis(config);
  if (axis.low.alpha == 0 && axis.high.alpha == 0)
    throw does_not_fit(config, "no boundary fixes the steady state of the slab",
                       "let one boundary be of temperature or convection");
  const double start = config.initial[0].value.value_or(0);
  const Profile rest = equilibrium_profile(config, axis, 0);
  // Enough from alpha t / L^2 = 1e-6 on; before, the error is within L/1000 of the boundaries.
  constexpr int most_terms = 2048;
  std::vector<Term> terms;
  for (int n = 1; n <= most_terms; ++n) terms.push_back(series_term(axis, n, start, rest));
  return {[axis, start, rest, terms, alpha = diffusivity(config)](double x, double y, double z, double t) {
    if (t <= 0) return start;
    const double s = axis.place(x, y, z);
    double sum = 0;
    for (const Term& term : terms) {
      const double decay = std::exp(-alpha * term.wave_number * term.wave_number * t);
      if (decay < 1e-18) break;
      sum += term.coefficient * decay * std::cos(term.wave_number * s - term.phase);
    }
    return rest(s) + sum;
  }};
}

}  // namespace

std::optional<ExactField> make_exact(const Config& config) {
  const ExactSolution solution = config.verify.solution;
  if (solution == ExactSolution::none) return std::nullopt;
  if (solution == ExactSolution::decaying_mode) return decaying_mode(config);
  if (solution == ExactSolution::steady_profile) return steady_profile(config);
  if (solution == ExactSolution::manufactured) return manufactured_mode(config);
  if (solution == ExactSolution::slab_series) return slab_series(config);
  return ExactField{config.verify.formula.value()};
}

template <class T>
VerificationErrors verification_errors(const Config& config, FieldView<const T> field, Box subdomain,
                                       const ExactField& exact, double t) {
  const GridAxes axes(config);
  const Int3 extent = subdomain.extent();
  const CellWeights volumes(config, subdomain);
  const auto add = [](VerificationErrors& sum, double largest, double squares) {
    if (!(largest <= sum.max) && !std::isnan(sum.max)) sum.max = largest;  // a NaN is taken, and stays
    sum.sum_squares += squares;
  };
  const std::vector<std::uint8_t> voids = void_cells(config, subdomain);
  // One result per row, added up in order afterwards: the same sum for every number of threads.
  std::vector<VerificationErrors> rows(extent.y * extent.z);
#pragma omp parallel for collapse(2) schedule(static)
  for (Index z = 0; z < extent.z; ++z) {
    for (Index y = 0; y < extent.y; ++y) {
      for (Index x = 0; x < extent.x; ++x) {
        if (!voids.empty() && voids[x + extent.x * (y + extent.y * z)]) continue;
        const Vector3 at = axes.centre(subdomain.lo + Int3{x, y, z});
        const double error = std::abs(static_cast<double>(field(x, y, z)) - exact(at[0], at[1], at[2], t));
        const double weight = volumes.of(0, x) * volumes.of(1, y) * volumes.of(2, z);
        add(rows[y + z * extent.y], error, weight * (error * error));
      }
    }
  }
  VerificationErrors all;
  for (const VerificationErrors& row : rows) add(all, row.max, row.sum_squares);
  return all;
}

template VerificationErrors verification_errors(const Config&, FieldView<const float>, Box, const ExactField&,
                                                double);
template VerificationErrors verification_errors(const Config&, FieldView<const double>, Box,
                                                const ExactField&, double);

}  // namespace isotherm
