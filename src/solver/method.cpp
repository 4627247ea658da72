#include "solver/method.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "config/materials.hpp"
#include "physics/operator.hpp"

namespace isotherm {
namespace {

constexpr std::int64_t least_sweeps = 16, most_sweeps = 4096;  // limits of cycles that the deck does not set
constexpr int smoothing_sweeps = 4;                            // of multigrid, before and after a correction
constexpr double expected_decay = 2.3;  // per V cycle: measured rates are 0.06 to 0.1 (docs/tuning-log)
// The same with several materials, where coarse grids approximate the finest less well: 0.07 to 0.34 for
// geometric bodies, slower where single cells differ by much.
constexpr double expected_decay_of_materials = 0.6;
// Share of an error left after a cycle. Longer cycles need fewer sweeps in all, but the last cycle may reduce
// the error further than a tolerance requires. With this share four cycles reach 1e-8.
constexpr double left_by_cycle = 1e-2;
constexpr double left_on_coarsest = 1e-4;
constexpr std::int64_t most_coarsest_sweeps = 512;

// -ln of the share of an error left after m sweeps: ln T_m(x) = ln cosh(m arcosh x), x at the eigenvalue 0.
double decay_of_cycle(const Spectrum& s, std::int64_t m) {
  const double argument = std::acosh((s.highest + s.lowest) / (s.highest - s.lowest));
  const double exponent = static_cast<double>(m) * argument;
  return exponent + std::log1p(std::exp(-2 * exponent)) - std::numbers::ln2;  // ln cosh
}

// Cycles do not help a problem with one eigenvalue, or with one that does not decay.
bool has_range(const Spectrum& s) { return s.lowest > 0 && s.lowest < s.highest; }

// For chebyshev. Odd factors are at most 31, as lebedev_order() magnifies rounding by larger ones.
std::int64_t sweeps_of_cycle(const Config& config, const Spectrum& s) {
  if (config.problem.cycle || !has_range(s)) return config.problem.cycle.value_or(1);
  std::int64_t m = least_sweeps, step = least_sweeps;
  for (; m < most_sweeps && decay_of_cycle(s, m) < -std::log(left_by_cycle); m += step)
    if (m == 32 * step) step *= 2;
  return m;
}

// Each next eigenvalue has the largest product of distances to those before, `taken` included.
std::vector<double> leja_order(std::vector<double> weights, std::vector<double> taken) {
  std::vector<double> ordered;
  while (!weights.empty()) {
    const auto distances = [&](double weight) {
      double log_of_product = 0;
      for (const double before : taken) log_of_product += std::log(std::abs(1 / weight - before));
      return log_of_product;
    };
    const auto next = std::ranges::max_element(weights, {}, distances);
    ordered.push_back(*next);
    taken.push_back(1 / *next);
    weights.erase(next);
  }
  return ordered;
}

double angle_of(std::int64_t number, std::int64_t m) {
  return std::numbers::pi * static_cast<double>(2 * number - 1) / static_cast<double>(2 * m);
}

// The numbers 1 to m of the weights, in order. Starts from an odd number of weights in Leja order; each
// doubling replaces a number by two.
std::vector<std::int64_t> lebedev_order(std::int64_t m) {
  std::vector<double> weights;
  for (std::int64_t i = 1, odd = m >> std::countr_zero(static_cast<std::uint64_t>(m)); i <= odd; ++i)
    weights.push_back(1 / (2 - std::cos(angle_of(i, odd))));
  std::vector<std::int64_t> order;
  for (const double weight : leja_order(weights, {}))
    order.push_back(std::ranges::find(weights, weight) - weights.begin() + 1);
  while (std::ssize(order) < m) {
    const std::int64_t last = 2 * std::ssize(order);
    std::vector<std::int64_t> finer;
    for (const std::int64_t i : order) finer.insert(finer.end(), {i, last + 1 - i});
    order = std::move(finer);
  }
  return order;
}

std::vector<double> chebyshev_weights(const Spectrum& s, std::int64_t m) {
  const double middle = (s.highest + s.lowest) / 2, radius = (s.highest - s.lowest) / 2;
  std::vector<double> weights;
  for (const std::int64_t i : lebedev_order(m))
    weights.push_back(1 / (middle - radius * std::cos(angle_of(i, m))));
  return weights;
}

bool is(MethodName method, const Config& config) {
  return config.problem.kind == ProblemKind::steady && config.problem.method == method;
}

Method multigrid_method(const Config& config) {
  const double unit = config.problem.weight, highest = sweep_spectrum(config).highest;
  std::vector<double> before(smoothing_sweeps, unit), weights;  // the same before and after a correction
  if (highest > 0) before = smoothing_weights(highest, smoothing_sweeps);
  for (int i = 0; i < 2 * v_cycles(config); ++i) weights.insert(weights.end(), before.begin(), before.end());
  const double decay = has_several_materials(config) ? expected_decay_of_materials : expected_decay;
  Method method{"multigrid", weights, unit, decay / (2 * smoothing_sweeps)};
  method.by_correction = config.precision == Precision::mixed || has_several_materials(config);
  method.has_coarse_grids = !method.by_correction;
  method.in_a_row = smoothing_sweeps;
  return method;
}

// P_n and its derivative, by their recurrences.
std::pair<double, double> legendre(int n, double x) {
  double before = 1, value = x;
  for (int k = 2; k <= n; ++k) {
    const double next = ((2 * k - 1) * x * value - (k - 1) * before) / k;
    before = std::exchange(value, next);
  }
  return {value, n * (before - x * value) / (1 - x * x)};
}

// The roots of P_n in ascending order, by Newton's iteration from cosines near them.
std::vector<double> legendre_roots(int n) {
  std::vector<double> roots;
  for (int j = n; j >= 1; --j) {
    double x = std::cos(std::numbers::pi * (j - 0.25) / (n + 0.5));
    for (int iteration = 0; iteration < 5; ++iteration) {
      const auto [value, slope] = legendre(n, x);
      x -= value / slope;
    }
    roots.push_back(x);
  }
  return roots;
}

// Euler sweeps of a step `dt`: the factors of P_s(1 - 2 dt lambda / (s^2 + s)), fastest eigenvalue first.
std::vector<double> rkl_weights(int stages, double dt) {
  std::vector<double> weights;
  for (const double root : legendre_roots(stages))
    weights.push_back(2 * dt / (stages * (stages + 1) * (1 - root)));
  return leja_order(std::move(weights), {});
}

// c(s): the coefficient of (dt lambda)^2 in the polynomial; in the exponential it is 1/2.
double rkl_curvature(int stages) { return 0.25 - 0.5 / (stages * (stages + 1)); }

Method rkl_method(const Config& config, double dt) {
  const int whole = rkl_stages(config, dt), half = rkl_stages(config, dt / 2);
  std::vector<double> weights = rkl_weights(whole, dt);
  const std::vector<double> of_half = rkl_weights(half, dt / 2);
  for (int i = 0; i < 2; ++i) weights.insert(weights.end(), of_half.begin(), of_half.end());
  const double c1 = rkl_curvature(whole), c2 = rkl_curvature(half);
  Method method{"rkl", weights, euler_dt(config)};
  method.in_a_row = whole;
  method.combination = {whole, (0.5 - c1) / (c2 / 2 + 0.25 - c1)};
  return method;
}

// gamma of SDIRK2, with which the last stage is the result of the step.
const double sdirk2_share = 1 - std::numbers::sqrt2 / 2;

Method implicit_method(const Config& config) {
  Method method{"implicit", {}, euler_dt(config)};
  method.by_correction = true;
  method.in_a_row = smoothing_sweeps;
  method.stages = implicit_stages(config.problem.scheme);
  method.weights.assign(method.stages.size() * v_cycles(config) * 2 * smoothing_sweeps, method.unit);
  return method;
}

}  // namespace

std::vector<double> smoothing_weights(double highest, int sweeps) {
  std::vector<double> weights;
  for (int j = 1; j <= sweeps; ++j)
    weights.push_back(2 / (highest * (1 - std::cos(2 * std::numbers::pi * j / (2 * sweeps + 1)))));
  return leja_order(std::move(weights), {0});
}

std::vector<ImplicitStage> implicit_stages(Scheme scheme) {
  if (scheme == Scheme::backward_euler) return {{1, 1}};
  return {{sdirk2_share, (1 - sdirk2_share) / sdirk2_share}, {1, 1}};
}

double implicit_share(const Config& config) {
  return config.problem.scheme == Scheme::backward_euler ? 1 : sdirk2_share;
}

int v_cycles(const Config& config) {
  const bool accelerates = config.problem.accelerate == Acceleration::cg;
  if (is_implicit(config)) return has_several_materials(config) ? 8 : 3;
  return accelerates ? 5 : 1;
}

std::int64_t sweeps_of_cycle(const Config& config) {
  if (!is(MethodName::chebyshev, config)) return make_method(config).cycle();
  return sweeps_of_cycle(config, sweep_spectrum(config));  // its weights take longer
}

Method make_method(const Config& config, std::optional<double> dt) {
  const ProblemConfig& problem = config.problem;
  if (is_rkl(config)) return rkl_method(config, dt ? *dt : time_plan(config).dt);
  if (is_implicit(config)) return implicit_method(config);
  if (problem.kind == ProblemKind::transient) {
    const double step = time_plan(config).dt;
    return {"euler", {dt ? *dt : step}, step};
  }
  if (is(MethodName::multigrid, config)) return multigrid_method(config);
  if (!is(MethodName::chebyshev, config))
    return {"jacobi", {problem.weight}, problem.weight, slowest_decay(config)};
  const Spectrum s = sweep_spectrum(config);
  const std::int64_t m = sweeps_of_cycle(config, s);
  if (!has_range(s)) {
    return {"chebyshev", std::vector<double>(m, problem.weight), problem.weight, slowest_decay(config)};
  }
  return {"chebyshev", chebyshev_weights(s, m), problem.weight, decay_of_cycle(s, m) / m};
}

Method coarsest_method(const Config& config) {
  const Spectrum s = sweep_spectrum(config);
  const double unit = config.problem.weight;
  // Where nothing decays there is nothing to solve.
  if (s.lowest <= 0) return {"coarsest", std::vector<double>(least_sweeps, unit), unit};
  // A power of two, for an even number of launches. A single cell needs one sweep; more would only round it.
  std::int64_t m = least_sweeps;
  if (!has_range(s)) {
    std::vector<double> weights(least_sweeps, 0.0);
    weights[0] = 1 / s.lowest;
    return {"coarsest", std::move(weights), unit};
  }
  while (m < most_coarsest_sweeps && decay_of_cycle(s, m) < -std::log(left_on_coarsest)) m *= 2;
  return {"coarsest", chebyshev_weights(s, m), unit};
}

bool sweeps_solve(Config config) {
  if (config.problem.implicit_dt) config.problem.implicit_dt = 1e30;
  const Spectrum s = sweep_spectrum(config);
  return s.lowest > 0 && decay_of_cycle(s, most_coarsest_sweeps) >= -std::log(left_on_coarsest);
}

}  // namespace isotherm
