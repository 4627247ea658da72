#include "physics/formula_values.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

namespace isotherm {
namespace {

template <class Value>
Buffer on_device(Device& device, const std::vector<Value>& values) {
  Buffer there(device, values.size() * sizeof(Value));
  const Owned<Stream> stream = own_stream(device, Priority::normal);
  device.copy(there.data(), values.data(), there.bytes(), stream);
  device.synchronize(stream);
  return there;
}

}  // namespace

template <class T>
FormulaValues<T>::FormulaValues(Device& device, const Expression& formula, const std::array<Axis, 3>& axes,
                                double scale, double lowest)
    : device_(&device), unsound_(device, sizeof(std::uint64_t), Memory::staging) {
  const FormulaProgram& program = *formula.program();
  std::vector<FormulaStep> steps = program.steps;
  for (FormulaStep& step : steps) {
    if (step.op != FormulaOp::variable || step.variable == 3) continue;  // 3: the time
    const auto axis = std::ranges::find(axes, int{step.variable}, &Axis::variable);
    step.variable = static_cast<std::uint8_t>(axis - axes.begin());
  }
  steps_ = on_device(device, steps);
  for (std::size_t i = 0; i < axes.size(); ++i) at_[i] = on_device(device, axes[i].at);
  *unsound_.as<std::uint64_t>() = no_time;
  grid_.steps = steps_.as<FormulaStep>();
  grid_.step_count = std::ssize(steps);
  grid_.depth = program.depth;
  grid_.scale = scale;
  grid_.lowest = lowest;
  grid_.unsound = unsound_.as<std::uint64_t>();
}

template <class T>
void FormulaValues<T>::evaluate(Box box, std::span<const double> times, const Target& target, Stream stream) {
  if (box.empty()) return;
  FormulaGrid<T> grid = grid_;
  for (int i = 0; i < 3; ++i) grid.at[i] = at_[static_cast<std::size_t>(i)].template as<double>() + box.lo[i];
  grid.points = box.extent();
  std::ranges::copy(times, grid.time);
  grid.times = static_cast<int>(times.size());
  grid.values = target.values;
  grid.pitch_y = target.pitch_y;
  grid.pitch_z = target.pitch_z;
  grid.pitch_time = target.pitch_time;
  formula_grids<T>(device_->backend()).evaluate(grid, stream);
}

template <class T>
std::optional<double> FormulaValues<T>::unsound_at() const {
  // The device may be about to write it.
  const std::uint64_t earliest = std::atomic_ref(*unsound_.as<std::uint64_t>()).load();
  if (earliest == no_time) return std::nullopt;
  return std::bit_cast<double>(earliest);
}

template class FormulaValues<float>;
template class FormulaValues<double>;

}  // namespace isotherm
