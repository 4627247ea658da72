#include "solver/recurrence.hpp"

#include <algorithm>
#include <cmath>

namespace isotherm {
namespace {

// A time that is a whole number of steps but for rounding belongs to that step, not to the next.
constexpr double rounding_of_a_step = 1e-9;

std::int64_t step_at(double time, double dt) {
  return static_cast<std::int64_t>(std::ceil(time / dt * (1 - rounding_of_a_step)));
}

}  // namespace

std::int64_t Recurrence::sweep_of(std::int64_t k) const {
  if (times_.every_steps) return k * *times_.every_steps;
  return step_at(static_cast<double>(k) * *times_.every_time, dt_);  // of several in one step: the same
}

bool Recurrence::due(std::int64_t sweep) const {
  if (sweep == 0 || !repeats()) return repeats();  // a series starts with the initial state
  if (times_.every_steps) return sweep % *times_.every_steps == 0;
  const auto k =
      static_cast<std::int64_t>(std::floor(time(sweep) / *times_.every_time * (1 + rounding_of_a_step)));
  return (k >= 1 && sweep_of(k) == sweep) || sweep_of(k + 1) == sweep;
}

std::optional<std::int64_t> Recurrence::next_after(std::int64_t sweep) const {
  if (!repeats()) return std::nullopt;
  if (times_.every_steps) return (sweep / *times_.every_steps + 1) * *times_.every_steps;
  auto k = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(time(sweep) / *times_.every_time)));
  while (sweep_of(k) <= sweep) ++k;
  return sweep_of(k);
}

std::int64_t Recurrence::count(std::int64_t last) const {
  if (last == 0 || !repeats()) return 1;
  const std::int64_t ends = 2;  // the initial state of a series, and the final one
  if (times_.every_steps) return ends + (last - 1) / *times_.every_steps;
  if (*times_.every_time <= dt_) return ends + last - 1;  // one a step
  for (auto k = static_cast<std::int64_t>(time(last) / *times_.every_time) + 1; k >= 1; --k) {
    if (sweep_of(k) < last) return ends + k;
  }
  return ends;
}

}  // namespace isotherm
