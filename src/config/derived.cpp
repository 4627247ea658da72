// Quantities that follow from a deck, in the one form that every later folder uses.
#include <fmt/format.h>

#include <cmath>

#include "config/config.hpp"
#include "core/error.hpp"

namespace isotherm {

std::string Config::at(const std::string& key) const {
  // A key that the deck does not hold is placed at the nearest thing around it that the deck does hold.
  for (std::string known = key;;) {
    if (const auto place = places.find(known); place != places.end()) return place->second + ": " + key;
    const auto dot = known.rfind('.');
    if (dot == std::string::npos) break;
    known.resize(dot);
  }
  const auto deck = places.find("");
  return (deck != places.end() ? deck->second : name) + ": " + key;
}

Vector3 spacing(const Config& config) {
  const GridConfig& grid = config.grid;
  if (grid.spacing) return *grid.spacing;
  if (!grid.lengths) throw Error(ExitCode::internal, "the grid has neither lengths nor spacing");
  Vector3 h;
  for (int axis = 0; axis < 3; ++axis)
    h[axis] = (*grid.lengths)[axis] / static_cast<double>(grid.cells[axis]);
  return h;
}

double diffusivity(const Config& config) {
  const MaterialConfig& material = config.material;
  if (material.diffusivity) return *material.diffusivity;
  if (material.conductivity && material.density && material.heat_capacity)
    return *material.conductivity / (*material.density * *material.heat_capacity);
  return 1;
}

double conductivity(const Config& config) {
  return config.material.conductivity.value_or(1);
}

double volumetric_heat_capacity(const Config& config) {
  const MaterialConfig& material = config.material;
  if (material.density && material.heat_capacity) return *material.density * *material.heat_capacity;
  if (material.conductivity && material.diffusivity) return *material.conductivity / *material.diffusivity;
  return conductivity(config) / diffusivity(config);
}

bool knows_heat_capacity(const Config& config) {
  const MaterialConfig& material = config.material;
  return (material.density && material.heat_capacity) || (material.conductivity && material.diffusivity);
}

int halo_depth(const Config& config) {
  return config.solver.depth.value_or(1);
}

double stable_dt(const Config& config) {
  double sum = 0;
  for (const double h : spacing(config)) sum += 1 / (h * h);
  return 1 / (2 * diffusivity(config) * sum);
}

TimePlan time_plan(const Config& config) {
  const ProblemConfig& problem = config.problem;
  const double dt = problem.dt ? *problem.dt : problem.dt_fraction * stable_dt(config);
  if (problem.steps) return {dt, *problem.steps};
  if (!problem.end_time) throw Error(ExitCode::internal, "the problem has neither end_time nor steps");

  // Round-off in end_time / dt must not cost a step: 1 s in steps of 0.1 s are 10 steps, not 11.
  const double wanted = *problem.end_time / dt;
  const double nearest = std::round(wanted);
  const double steps = std::abs(wanted - nearest) <= 1e-9 * nearest ? nearest : std::ceil(wanted);
  constexpr double most_steps = 9007199254740992.0;  // 2^53: beyond it a double no longer counts
  if (!(steps <= most_steps))
    throw Error(ExitCode::deck,
                fmt::format("{}: end_time {} s in steps of {} s would take {} steps (at most {} "
                            "can be counted); choose a smaller end_time",
                            config.at("problem.end_time"), *problem.end_time, dt, steps, most_steps));
  return {steps > 0 ? *problem.end_time / steps : dt, static_cast<std::int64_t>(steps)};
}

}  // namespace isotherm
