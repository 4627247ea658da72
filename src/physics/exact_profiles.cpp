// Temperatures that vary along one axis only: profiles at rest, and the slab that is suddenly cooled or
// heated.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "physics/coverage.hpp"
#include "physics/exact_solutions.hpp"

namespace isotherm {
namespace {

// One end of the axis as  alpha T + k dT/dn = gamma  (fixed: T = gamma), n pointing out of the body.
struct End {
  bool fixed = false;
  double alpha = 0;  // W/(m^2 K)
  double gamma = 0;  // W/m^2, fixed: K
};

struct Axis {
  int index = 0;
  double origin = 0, length = 0;  // m
  End low, high;
};

End end_of(const Config& config, Face f) {
  const BoundaryConfig& boundary = config.boundaries[static_cast<std::size_t>(f)];
  if (!boundary.value.is_constant())
    throw does_not_fit(config, fmt::format("boundaries.{} is a formula", face_names[static_cast<int>(f)]),
                       "give it a number, or use solution formula");
  const double value = boundary.value(0, 0, 0), H = boundary.coefficient;
  switch (boundary.kind) {
    case BoundaryKind::temperature:
      return {true, 0, value};
    case BoundaryKind::flux:
      return {false, 0, value};
    case BoundaryKind::convection:
      return {false, H, H * value};
    default:
      return {false, 0, 0};
  }
}

// The one axis along which the temperature varies: its ends exchange heat, all other boundaries do not.
Axis active_axis(const Config& config) {
  std::optional<int> active;
  for (int axis = 0; axis < 3; ++axis) {
    const BoundaryConfig& low = config.boundaries[static_cast<std::size_t>(2 * axis)];
    const BoundaryConfig& high = config.boundaries[static_cast<std::size_t>(2 * axis + 1)];
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
  const auto i = static_cast<std::size_t>(*active);
  return {*active, config.grid.origin[i],
          static_cast<double>(config.grid.cells[*active]) * spacing(config)[i],
          end_of(config, face(*active, false)), end_of(config, face(*active, true))};
}

// T = c0 + c1 s + c2 s^2,  s metres from the lower boundary
struct Profile {
  double c0 = 0, c1 = 0, c2 = 0;
  double operator()(double s) const { return c0 + s * (c1 + s * c2); }
};

// k T'' = -q between the two ends. Two rows  (m0, m1) (c0, c1) = r  after c2 = -q/(2k) is known.
Profile profile_at_rest(const Config& config, const Axis& axis, double q) {
  const double k = conductivity(config), L = axis.length, c2 = -q / (2 * k);
  const auto [low, high] = std::pair(axis.low, axis.high);
  const double m00 = low.fixed ? 1 : low.alpha, m01 = low.fixed ? 0 : -k, r0 = low.gamma;
  const double m10 = high.fixed ? 1 : high.alpha, m11 = high.fixed ? L : high.alpha * L + k;
  const double r1 = high.gamma - c2 * (high.fixed ? L * L : high.alpha * L * L + 2 * k * L);
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

class SteadyProfile final : public ExactField {
 public:
  SteadyProfile(const Axis& axis, const Profile& profile) : axis_(axis), profile_(profile) {}
  double operator()(double x, double y, double z, double) const override {
    return profile_(Vector3{x, y, z}[static_cast<std::size_t>(axis_.index)] - axis_.origin);
  }
  std::unique_ptr<ExactField> clone() const override { return std::make_unique<SteadyProfile>(*this); }

 private:
  Axis axis_;
  Profile profile_;
};

// One term of the series: coefficient * cos(wave_number s - phase) * exp(-alpha wave_number^2 t).
struct Term {
  double wave_number, phase, coefficient;  // 1/m, 1, K
};

// tan(phase) = (alpha/k) / wave_number: how far the wave's crest lies inside an end. Fixed: a quarter wave.
double phase_at(const End& end, double k, double wave_number) {
  return end.fixed ? std::numbers::pi / 2 : std::atan2(end.alpha / k, wave_number);
}

// The n-th root, n >= 1, of  w L - phase_low(w) - phase_high(w) = (n - 1) pi. The left side grows with w, and
// both phases lie between 0 and pi/2: the root lies in [(n-1) pi/L, n pi/L], and halving it cannot miss it.
double wave_number(const Axis& axis, double k, int n) {
  const double pi = std::numbers::pi;
  double below = (n - 1) * pi / axis.length, above = n * pi / axis.length;
  while (true) {
    const double middle = below + (above - below) / 2;
    if (middle <= below || middle >= above) return middle;
    const double left = middle * axis.length - phase_at(axis.low, k, middle) - phase_at(axis.high, k, middle);
    (left < (n - 1) * pi ? below : above) = middle;
  }
}

// The wave that fits the ends, weighted by what it holds of `start` minus the linear profile: both integrals
// over the slab in closed form (Carslaw and Jaeger, Conduction of Heat in Solids, 1959, chapter 3).
Term series_term(const Axis& axis, double k, int n, double start, const Profile& rest) {
  const double L = axis.length, w = wave_number(axis, k, n);
  const double first = phase_at(axis.low, k, w), last = w * L - first;  // angles: -first at s = 0, last at L
  const double wave = (std::sin(last) + std::sin(first)) / w;
  const double moment = L * std::sin(last) / w + (std::cos(last) - std::cos(first)) / (w * w);
  const double norm = L / 2 + (std::sin(2 * last) + std::sin(2 * first)) / (4 * w);
  return {w, first, ((start - rest.c0) * wave - rest.c1 * moment) / norm};
}

// A slab at one temperature whose boundaries change at t = 0.
class SlabSeries final : public ExactField {
 public:
  SlabSeries(const Axis& axis, double start, const Profile& rest, double diffusivity, std::vector<Term> terms)
      : axis_(axis), start_(start), rest_(rest), diffusivity_(diffusivity), terms_(std::move(terms)) {}

  double operator()(double x, double y, double z, double t) const override {
    if (t <= 0) return start_;
    const double s = Vector3{x, y, z}[static_cast<std::size_t>(axis_.index)] - axis_.origin;
    double sum = 0;
    for (const Term& term : terms_) {
      const double decay = std::exp(-diffusivity_ * term.wave_number * term.wave_number * t);
      if (decay < 1e-18) break;
      sum += term.coefficient * decay * std::cos(term.wave_number * s - term.phase);
    }
    return rest_(s) + sum;
  }
  std::unique_ptr<ExactField> clone() const override { return std::make_unique<SlabSeries>(*this); }

 private:
  Axis axis_;
  double start_;  // K
  Profile rest_;  // where it comes to rest
  double diffusivity_;
  std::vector<Term> terms_;
};

}  // namespace

std::unique_ptr<ExactField> make_steady_profile(const Config& config) {
  double q = 0;
  for (const RegionValue& source : config.sources) {
    if (source.shape != Shape::constant)
      throw does_not_fit(config, "a source is not constant", "use constant sources, or solution formula");
    const double value = source_strength(config, source);
    q = source.mode == RegionMode::add ? q + value : value;
  }
  const Axis axis = active_axis(config);
  return std::make_unique<SteadyProfile>(axis, profile_at_rest(config, axis, q));
}

std::unique_ptr<ExactField> make_slab_series(const Config& config) {
  if (config.problem.kind != ProblemKind::transient)
    throw does_not_fit(config, "the problem is steady", "use problem.kind transient, or steady_profile");
  if (!config.sources.empty())
    throw does_not_fit(config, "the deck has sources", "remove them, or use solution formula");
  if (config.initial.size() != 1 || config.initial[0].shape != Shape::constant)
    throw does_not_fit(config, "the slab does not start at one temperature",
                       "give one entry of shape constant as initial");
  const Axis axis = active_axis(config);
  if (!axis.low.fixed && !axis.high.fixed && axis.low.alpha == 0 && axis.high.alpha == 0)
    throw does_not_fit(config, "no boundary fixes where the slab comes to rest",
                       "let one boundary be of temperature or convection");
  const double start = config.initial[0].value.value_or(0), k = conductivity(config);
  const Profile rest = profile_at_rest(config, axis, 0);
  // Enough from alpha t / L^2 = 1e-6 on; before that the error lies within a thousandth of L from the
  // boundaries.
  constexpr int most_terms = 2048;
  std::vector<Term> terms;
  for (int n = 1; n <= most_terms; ++n) terms.push_back(series_term(axis, k, n, start, rest));
  return std::make_unique<SlabSeries>(axis, start, rest, diffusivity(config), std::move(terms));
}

}  // namespace isotherm
