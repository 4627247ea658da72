#include "physics/diagnostics.hpp"

#include <algorithm>
#include <cmath>

#include "physics/operator.hpp"

namespace isotherm {

DiagnosticsPlan plan_diagnostics(const Config& config) {
  const bool transient = config.problem.kind == ProblemKind::transient;
  const Vector3 h = spacing(config);
  const double volume = h[0] * h[1] * h[2];
  DiagnosticsPlan plan;
  plan.bins = config.output.histogram.bins;
  if (knows_heat_capacity(config)) plan.heat_capacity = volumetric_heat_capacity(config) * volume;
  plan.flows = config.material.conductivity && (!transient || plan.heat_capacity);
  if (!plan.flows) return plan;
  plan.rate = transient;
  if (transient) plan.dt = time_plan(config).dt;
  plan.watts_a_source_kelvin = volume / source_scale(config);
  for (std::size_t f = 0; f < face_count; ++f) {
    plan.walls[f] = config.boundaries[f].kind != WallKind::periodic;
    plan.conductance[f] = conductivity(config) * volume / (h[f / 2] * h[f / 2]);
  }
  return plan;
}

void close_balance(HeatFlows& flows) {
  double net = flows.source - flows.rate, gross = std::abs(flows.source) + std::abs(flows.rate);
  for (const double wall : flows.walls) {
    net += wall;
    gross += std::abs(wall);
  }
  flows.balance = net;
  flows.relative_balance = gross > 0 ? std::abs(net) / gross : 0;
  if (std::isnan(net)) flows.relative_balance = net;
}

Bins choose_bins(const Config& config, double initial_min, double initial_max) {
  const HistogramConfig& histogram = config.output.histogram;
  if (histogram.range) return Bins::of((*histogram.range)[0], (*histogram.range)[1], histogram.bins);
  double low = initial_min, high = initial_max;
  for (const WallConfig& wall : config.boundaries) {
    const bool has_temperature = wall.kind == WallKind::temperature || wall.kind == WallKind::convection;
    if (!has_temperature || !wall.value.is_constant()) continue;
    low = std::min(low, wall.value(0, 0, 0));
    high = std::max(high, wall.value(0, 0, 0));
  }
  const double largest = std::max(std::abs(low), std::abs(high));
  if (high - low <= std::max(1e-9 * largest, 1e-200)) {
    const double half = std::max(0.5, 1e-9 * largest);
    low -= half;
    high += half;
  }
  return Bins::of(low, high, histogram.bins);
}

}  // namespace isotherm
