#include "solver/recurrence.hpp"

#include <algorithm>
#include <cmath>

namespace isotherm {
namespace {

// A time that is a whole number of steps but for rounding belongs to that step, not to the next.
constexpr double rounding_of_a_step = 1e-9;

std::int64_t step_at(double time, double dt) {
  const double step = std::ceil(time / dt * (1 - rounding_of_a_step));
  return step < static_cast<double>(Recurrence::never) ? static_cast<std::int64_t>(step) : Recurrence::never;
}

}  // namespace

Recurrence::Recurrence(std::optional<std::int64_t> every_steps, std::optional<double> every_time, double dt)
    : every_steps_(every_steps), every_time_(every_time), dt_(dt) {}

std::int64_t Recurrence::nth(std::int64_t k) const {
  if (every_steps_) return k * *every_steps_;
  return std::max(k, step_at(static_cast<double>(k) * *every_time_, dt_));  // at most one a step
}

// The last that is surely not after `sweep`.
std::int64_t Recurrence::last_until(std::int64_t sweep) const {
  const double passed = std::floor(static_cast<double>(sweep) * dt_ / *every_time_);
  return passed < static_cast<double>(sweep) ? static_cast<std::int64_t>(passed) : sweep;
}

bool Recurrence::due(std::int64_t sweep) const {
  return next_after(sweep - 1) == sweep;
}

std::int64_t Recurrence::next_after(std::int64_t sweep) const {
  if (every_steps_) return (sweep / *every_steps_ + 1) * *every_steps_;
  if (!every_time_) return never;
  std::int64_t k = std::max<std::int64_t>(1, last_until(sweep));
  while (nth(k) <= sweep) ++k;
  return nth(k);
}

std::int64_t Recurrence::count_before(std::int64_t last) const {
  if (last <= 0) return 0;
  if (every_steps_) return (last - 1) / *every_steps_;
  if (!every_time_) return 0;
  std::int64_t k = last_until(last) + 1;
  while (k >= 1 && nth(k) >= last) --k;
  return k;
}

}  // namespace isotherm
