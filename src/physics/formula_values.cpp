#include "physics/formula_values.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>

#include "physics/cells.hpp"

namespace isotherm {
namespace {

// The subexpression that ends with a step: its first step, and the variables that it uses.
struct Part {
  std::ptrdiff_t first;
  unsigned variables;  // bits
  bool is_costly;      // compared to reading a stored value
};
std::vector<Part> parts_of(const std::vector<FormulaStep>& steps) {
  std::vector<Part> parts, waiting;
  for (const FormulaStep& step : steps) {
    using enum FormulaOp;
    const bool is_costly = step.op == sqrt || step.op == cbrt || (step.op > rint && step.op < table) ||
                           step.op == divide || step.op == power || step.op == atan2;
    Part part{std::ssize(parts), step.op == FormulaOp::variable ? 1u << step.variable : 0, is_costly};
    for (int n = operands_of(step.op); n > 0; --n) {
      const Part& operand = waiting.back();
      part = {operand.first, part.variables | operand.variables, part.is_costly || operand.is_costly};
      waiting.pop_back();
    }
    parts.push_back(part);
    waiting.push_back(part);
  }
  return parts;
}

struct Hoisted {
  std::vector<FormulaProgram> of_time, of_place;
};
// Replaces by variables the parts of `program` that have one value per time or, if `with_places`, per point.
Hoisted hoist(FormulaProgram& program, bool with_places) {
  constexpr unsigned time = 1u << time_variable;
  const std::vector<Part> parts = parts_of(program.steps);
  Hoisted all;
  if ((parts.back().variables & time) == 0) return all;
  std::vector<FormulaStep> rest;  // in reverse order
  for (std::ptrdiff_t i = std::ssize(parts) - 1; i >= 0;) {
    const Part& part = parts[i];
    const bool is_of_time = part.variables == time && part.first < i;
    const bool is_of_place =
        with_places && part.variables != 0 && (part.variables & time) == 0 && part.is_costly;
    std::vector<FormulaProgram>& found = is_of_time ? all.of_time : all.of_place;
    if (!(is_of_time || is_of_place) || std::ssize(found) == most_parts) {
      rest.push_back(program.steps[i--]);
      continue;
    }
    const int number = (is_of_time ? first_of_time : first_of_place) + static_cast<int>(found.size());
    rest.push_back({FormulaOp::variable, static_cast<std::uint8_t>(number)});
    found.push_back({{program.steps.begin() + part.first, program.steps.begin() + i + 1}, program.depth});
    i = part.first - 1;
  }
  program.steps.assign(rest.rbegin(), rest.rend());
  return all;
}

}  // namespace

std::array<FormulaAxis, 3> cell_axes(const Config& config, Box subdomain) {
  const GridAxes axes(config);
  std::array<FormulaAxis, 3> all;
  for (int a = 0; a < 3; ++a) {
    all[a].variable = a;
    for (Index i = subdomain.lo[a]; i < subdomain.hi[a]; ++i) all[a].at.push_back(axes[a].centre(i));
  }
  return all;
}

template <class T>
FormulaValues<T>::FormulaValues(Device& device, FormulaProgram program,
                                const std::array<FormulaAxis, 3>& axes, double scale, double lowest,
                                bool is_face)
    : device_(&device), unsound_(device, sizeof(std::uint64_t), Memory::staging) {
  *unsound_.as<std::uint64_t>() = no_time;
  for (int i = 0; i < 3; ++i) {
    const std::vector<double>& at = axes[i].at;
    points_[i] = std::ssize(at);
    at_[i] = copied_to(device, at);
  }
  const Index pitch_y = points_.x, pitch_z = points_.x * points_.y;
  // Not for programs with a table: its knots follow it as if they were steps.
  if (std::ranges::find(program.steps, FormulaOp::table, &FormulaStep::op) == program.steps.end()) {
    Hoisted parts = hoist(program, is_face);
    of_time_ = std::move(parts.of_time);
    const Owned<Stream> stream = own_stream(device, Priority::normal);
    for (const FormulaProgram& part : parts.of_place) {
      // A part need not be finite where the formula does not use it.
      FormulaValues<double> at_points(device, part, axes, 1, -std::numeric_limits<double>::infinity(), false);
      Buffer& to = of_place_.emplace_back(device, points_.product() * sizeof(double));
      at_points.evaluate({{0, 0, 0}, points_}, std::array{0.0}, {to.as<double>(), pitch_y, pitch_z, 0},
                         stream);
      device.synchronize(stream);
    }
  }
  for (FormulaStep& step : program.steps) {
    if (step.op != FormulaOp::variable || step.variable >= time_variable) continue;
    const auto axis = std::ranges::find(axes, int{step.variable}, &FormulaAxis::variable);
    step.variable = static_cast<std::uint8_t>(axis - axes.begin());
  }
  steps_ = copied_to(device, program.steps);
  grid_.steps = steps_.as<FormulaStep>();
  grid_.step_count = std::ssize(program.steps);
  grid_.depth = program.depth;
  grid_.place_pitch_y = pitch_y;
  grid_.place_pitch_z = pitch_z;
  grid_.scale = scale;
  grid_.lowest = lowest;
  grid_.unsound = unsound_.as<std::uint64_t>();
}

template <class T>
void FormulaValues<T>::evaluate(Box box, std::span<const double> times, const Target& target, Stream stream) {
  if (box.empty()) return;
  FormulaGrid<T> grid = grid_;
  for (int i = 0; i < 3; ++i) grid.at[i] = at_[i].template as<double>() + box.lo[i];
  grid.points = box.extent();
  std::ranges::copy(times, grid.time);
  grid.times = static_cast<int>(times.size());
  for (std::size_t n = 0; n < times.size(); ++n)
    for (std::size_t p = 0; p < of_time_.size(); ++p)
      isotherm::evaluate(of_time_[p], {{{}, {}, {}, {&times[n]}}}, &grid.of_time[n][p]);
  for (std::size_t p = 0; p < of_place_.size(); ++p)
    grid.of_place[p] = of_place_[p].template as<double>() + box.lo.x + box.lo.y * grid.place_pitch_y +
                       box.lo.z * grid.place_pitch_z;
  grid.values = target.values;
  grid.pitch_y = target.pitch_y;
  grid.pitch_z = target.pitch_z;
  grid.pitch_time = target.pitch_time;
  FormulaGrids<T>::on(device_->backend()).evaluate(grid, stream);
}

template <class T>
std::optional<double> FormulaValues<T>::unsound_at() const {
  // The device may write it at the same time.
  const std::uint64_t earliest = std::atomic_ref(*unsound_.as<std::uint64_t>()).load();
  if (earliest == no_time) return std::nullopt;
  return std::bit_cast<double>(earliest);
}

template class FormulaValues<float>;
template class FormulaValues<double>;

}  // namespace isotherm
