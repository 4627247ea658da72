#include "app/divergence.hpp"

#include <fmt/format.h>

#include <cmath>

#include "physics/boundaries.hpp"
#include "physics/coverage.hpp"
#include "physics/operator.hpp"

namespace isotherm {

namespace {

// The largest number among boundaries and initial values, "boundaries.x_min.value is 1e11"; empty where it is
// ordinary.
std::string extraordinary_value(const Config& config) {
  constexpr double ordinary = 1e6;  // K
  double largest = ordinary;
  std::string text;
  const auto look = [&](const std::string& key, double value, double kelvin) {
    if (!(std::abs(kelvin) > largest)) return;
    largest = std::abs(kelvin);
    text = fmt::format("{} is {:g}", config.at(key), value);
  };
  for (int f = 0; f < face_count; ++f) {
    const auto face = static_cast<std::size_t>(f);
    const BoundaryConfig& wall = config.boundaries[face];
    if (wall.kind == BoundaryKind::periodic || !wall.value.is_constant()) continue;
    const double value = wall.value(0, 0, 0, 0);
    look(fmt::format("boundaries.{}.{}", face_names[face],
                     wall.kind == BoundaryKind::convection ? "ambient" : "value"),
         value, value * boundary_law(config, static_cast<Face>(f)).slope);
  }
  for (std::size_t i = 0; i < config.initial.size(); ++i)
    if (const auto value = config.initial[i].value) look(fmt::format("initial.{}.value", i), *value, *value);
  for (std::size_t i = 0; i < config.sources.size(); ++i) {
    const Paint& source = config.sources[i];
    look(fmt::format("sources.{}.{}", i, source.power ? "power" : "value"),
         source.power.value_or(source.value.value_or(0)),
         source_strength(config, source) * source_scale(config));
  }
  return text;
}

std::string remedy_of(const Config& config, double residual) {
  const std::string limit = fmt::format("{:.6g} s", stable_dt(config));
  if (config.problem.kind == ProblemKind::transient && time_plan(config).dt > stable_dt(config))
    return fmt::format("keep problem.dt below the stability limit {} and look at walls and sources", limit);
  std::string why;
  if (std::isfinite(residual))
    why = fmt::format("it changed by {:.3g} K in a sweep, more than 1e9 K; ", residual);
  if (config.problem.kind == ProblemKind::transient)
    why += fmt::format("problem.dt is stable (at most {}); ", limit);
  const std::string value = extraordinary_value(config);
  return why + (value.empty() ? "look at walls and sources" : "look at the values of the deck: " + value);
}

}  // namespace

template <class T>
std::string divergence(const Config& config, Solver<T>& solver, std::int64_t checked, double residual) {
  const ExtremeCell extreme = solver.most_extreme_cell();
  const std::string state = std::isinf(extreme.magnitude)
                                ? std::string("is not finite")
                                : fmt::format("has reached {:.3g} K", extreme.magnitude);
  const std::string what =
      fmt::format("cell ({}, {}, {}) {}", extreme.cell.x, extreme.cell.y, extreme.cell.z, state);
  const std::int64_t here = solver.sweeps();
  return fmt::format("diverged: {} after sweep {} (residuals are checked every {} sweeps{}); {}", what, here,
                     config.problem.check_interval,
                     checked < here ? fmt::format(" and looked at late: that of sweep {} told", checked) : "",
                     remedy_of(config, residual));
}

template std::string divergence(const Config&, Solver<float>&, std::int64_t, double);
template std::string divergence(const Config&, Solver<double>&, std::int64_t, double);

}  // namespace isotherm
