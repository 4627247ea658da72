// Products of one wave an axis: eigenfunctions of the Laplacian between these boundaries, and of its discrete
// form too, so that the discretisation error of a mode is known in closed form.
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <optional>

#include "physics/exact_solutions.hpp"

namespace isotherm {
namespace {

enum class Wave { constant, sine, cosine };

struct AxisMode {
  Wave wave = Wave::constant;
  double origin = 0;       // m
  double wave_number = 0;  // 1/m

  double operator()(double x) const {
    switch (wave) {
      case Wave::constant:
        return 1;
      case Wave::sine:
        return std::sin(wave_number * (x - origin));
      case Wave::cosine:
        return std::cos(wave_number * (x - origin));
    }
    return 1;
  }
};

struct SeparableMode {
  std::array<AxisMode, 3> axes;
  double offset = 0;     // K, what the temperature boundaries hold
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

enum class End { fixed, insulated, periodic };

End end_of(const Config& config, Face f) {
  const BoundaryConfig& boundary = config.boundaries[static_cast<int>(f)];
  if (is_insulated(boundary)) return End::insulated;
  if (boundary.kind == BoundaryKind::temperature) return End::fixed;
  if (boundary.kind == BoundaryKind::periodic) return End::periodic;
  throw does_not_fit(
      config, fmt::format("boundaries.{} is a flux or convection boundary", face_names[static_cast<int>(f)]),
      "use temperature, insulated and periodic boundaries, or solution formula");
}

// The m-th wave between two ends, m half waves long where both are alike, m - 1/2 between a fixed and an
// insulated one, m whole waves where it is periodic.
AxisMode axis_mode(const Config& config, int axis) {
  const End low = end_of(config, face(axis, false)), high = end_of(config, face(axis, true));
  const int m = config.verify.modes[static_cast<std::size_t>(axis)];
  const double n = static_cast<double>(config.grid.cells[axis]);
  const bool fixed = low == End::fixed || high == End::fixed;
  AxisMode mode;
  mode.origin = config.grid.origin[static_cast<std::size_t>(axis)];
  double half_waves = m;
  if (low == End::periodic) half_waves = 2.0 * m;
  if (fixed && low != high) half_waves = m - 0.5;
  if (half_waves <= 0) {
    if (fixed)
      throw does_not_fit(config,
                         fmt::format("mode 0 along {} is not zero at its temperature boundary", "xyz"[axis]),
                         "use modes of 1 or more there");
    return mode;
  }
  mode.wave = low == End::insulated ? Wave::cosine : Wave::sine;
  const bool resolved = low == End::insulated && high == End::insulated ? half_waves < n : half_waves <= n;
  if (!resolved)
    throw does_not_fit(config,
                       fmt::format("mode {} along {} is shorter than {} cells can hold", m, "xyz"[axis], n),
                       "use a smaller mode or more cells");
  mode.wave_number = half_waves * std::numbers::pi / (n * spacing(config)[static_cast<std::size_t>(axis)]);
  return mode;
}

// What all temperature boundaries hold; nothing where there is none.
std::optional<double> common_boundary_temperature(const Config& config) {
  std::optional<double> common;
  for (int f = 0; f < face_count; ++f) {
    const BoundaryConfig& boundary = config.boundaries[static_cast<std::size_t>(f)];
    if (boundary.kind != BoundaryKind::temperature) continue;
    if (!boundary.value.is_constant())
      throw does_not_fit(config, fmt::format("boundaries.{} is a formula", face_names[f]),
                         "hold all temperature boundaries at one number");
    const double value = boundary.value(0, 0, 0);
    if (common && value != *common)
      throw does_not_fit(
          config,
          fmt::format("boundaries.{} holds {} K, another boundary {} K", face_names[f], value, *common),
          "hold all temperature boundaries at one number");
    common = value;
  }
  return common;
}

SeparableMode separable_mode(const Config& config) {
  SeparableMode mode;
  for (int axis = 0; axis < 3; ++axis) mode.axes[static_cast<std::size_t>(axis)] = axis_mode(config, axis);
  if (!config.sources.empty())
    throw does_not_fit(config, "the deck has sources", "remove them, or use solution formula");
  mode.offset = common_boundary_temperature(config).value_or(config.problem.mean_temperature.value_or(0));
  mode.amplitude = config.verify.amplitude;
  return mode;
}

// T = offset + A phi(x, y, z) exp(-alpha K^2 t),  -laplace phi = K^2 phi
class DecayingMode final : public ExactField {
 public:
  DecayingMode(SeparableMode mode, double diffusivity)
      : mode_(mode), rate_(diffusivity * mode.wave_number_squared()) {}
  double operator()(double x, double y, double z, double t) const override {
    return mode_.offset + mode_.shape(x, y, z) * std::exp(-rate_ * t);
  }
  std::unique_ptr<ExactField> clone() const override { return std::make_unique<DecayingMode>(*this); }

 private:
  SeparableMode mode_;
  double rate_;  // 1/s
};

// T = offset + A phi(x, y, z) at rest under the source q = k K^2 (T - offset)
class ManufacturedMode final : public ExactField {
 public:
  ManufacturedMode(SeparableMode mode, double conductivity)
      : mode_(mode), factor_(conductivity * mode.wave_number_squared()) {}
  double operator()(double x, double y, double z, double) const override {
    return mode_.offset + mode_.shape(x, y, z);
  }
  double source(double x, double y, double z) const override { return factor_ * mode_.shape(x, y, z); }
  std::unique_ptr<ExactField> clone() const override { return std::make_unique<ManufacturedMode>(*this); }

 private:
  SeparableMode mode_;
  double factor_;  // W/(m^3 K)
};

}  // namespace

std::unique_ptr<ExactField> make_decaying_mode(const Config& config) {
  if (config.problem.kind != ProblemKind::transient)
    throw does_not_fit(config, "the problem is steady, a mode decays in time", "use problem.kind transient");
  return std::make_unique<DecayingMode>(separable_mode(config), diffusivity(config));
}

std::unique_ptr<ExactField> make_manufactured(const Config& config) {
  if (config.problem.kind != ProblemKind::steady)
    throw does_not_fit(config, "the problem is transient, the solution is at rest",
                       "use problem.kind steady");
  return std::make_unique<ManufacturedMode>(separable_mode(config), conductivity(config));
}

}  // namespace isotherm
