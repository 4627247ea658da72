#include "solver/method.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "physics/slowest_mode.hpp"

namespace isotherm {
namespace {

constexpr std::int64_t least_sweeps = 16, most_sweeps = 512;  // of a cycle that is chosen here
constexpr double worthwhile = 1e-4;  // what a cycle leaves of an error: half of the way to usual tolerances

// Of -ln of the share of an error that a cycle of m sweeps leaves: T_m(x) = cosh(m arcosh x) at the x of no
// decay.
double argument(const Spectrum& s) {
  return std::acosh((s.highest + s.lowest) / (s.highest - s.lowest));
}
double decay_of_cycle(const Spectrum& s, std::int64_t m) {
  const double exponent = static_cast<double>(m) * argument(s);
  return exponent + std::log1p(std::exp(-2 * exponent)) - std::numbers::ln2;  // ln cosh
}

// A problem of one eigenvalue, or of none that decays, has no use for cycles.
bool has_range(const Spectrum& s) {
  return s.lowest > 0 && s.lowest < s.highest;
}

// A power of two, for the order of the weights.
std::int64_t chosen_cycle(const Spectrum& s) {
  std::int64_t m = least_sweeps;
  while (m < most_sweeps && decay_of_cycle(s, m) < -std::log(worthwhile)) m *= 2;
  return m;
}

// Numbers 1 to m of the weights, m a power of two.
std::vector<std::int64_t> lebedev_order(std::int64_t m) {
  std::vector<std::int64_t> order{1};
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
  for (const std::int64_t i : lebedev_order(m)) {
    const double angle = std::numbers::pi * static_cast<double>(2 * i - 1) / static_cast<double>(2 * m);
    weights.push_back(1 / (middle - radius * std::cos(angle)));
  }
  return weights;
}

bool is_chebyshev(const Config& config) {
  return config.problem.kind == ProblemKind::steady && config.problem.method == SteadyMethod::chebyshev;
}

}  // namespace

std::int64_t sweeps_of_cycle(const Config& config) {
  if (!is_chebyshev(config)) return 1;
  if (config.problem.cycle) return *config.problem.cycle;
  const Spectrum s = sweep_spectrum(config);
  return has_range(s) ? chosen_cycle(s) : 1;
}

Method make_method(const Config& config) {
  const ProblemConfig& problem = config.problem;
  if (problem.kind == ProblemKind::transient) {
    const double dt = time_plan(config).dt;
    return {"euler", {dt}, dt};
  }
  const Method jacobi{"jacobi", {problem.weight}, problem.weight, slowest_decay(config)};
  if (!is_chebyshev(config)) return jacobi;
  const Spectrum s = sweep_spectrum(config);
  const std::int64_t m = sweeps_of_cycle(config);
  if (!has_range(s)) {
    return {"chebyshev", std::vector<double>(static_cast<std::size_t>(m), problem.weight), problem.weight,
            jacobi.decay};
  }
  return {"chebyshev", chebyshev_weights(s, m), problem.weight,
          decay_of_cycle(s, m) / static_cast<double>(m)};
}

}  // namespace isotherm
