#include "solver/schedule.hpp"

#include <algorithm>
#include <cmath>

#include "config/parts.hpp"
#include "solver/method.hpp"

namespace isotherm {

namespace {

// A time that is a whole number of steps but for rounding belongs to that step, not to the next.
constexpr double rounding_of_a_step = 1e-9;

std::int64_t step_at(double time, double dt) {
  const double step = std::ceil(time / dt * (1 - rounding_of_a_step));
  return step < static_cast<double>(Recurrence::never) ? static_cast<std::int64_t>(step) : Recurrence::never;
}

}  // namespace

std::int64_t Recurrence::nth(std::int64_t k) const {
  if (every_steps_) return k * *every_steps_;
  return std::max(k, step_at(static_cast<double>(k) * *every_time_, dt_));  // at most one per step
}

// The last that is surely not after `step`.
std::int64_t Recurrence::last_until(std::int64_t step) const {
  const double passed = std::floor(static_cast<double>(step) * dt_ / *every_time_);
  return passed < static_cast<double>(step) ? static_cast<std::int64_t>(passed) : step;
}

std::int64_t Recurrence::next_after(std::int64_t sweep) const {
  const std::int64_t step = sweep / cycle_;
  if (every_steps_) return (step / *every_steps_ + 1) * *every_steps_ * cycle_;
  if (!every_time_) return never;
  std::int64_t k = std::max<std::int64_t>(1, last_until(step));
  while (nth(k) <= step) ++k;
  return nth(k) < never / cycle_ ? nth(k) * cycle_ : never;
}

std::int64_t Recurrence::count_before(std::int64_t last) const {
  if (last <= 0) return 0;
  const std::int64_t steps = last / cycle_;
  if (every_steps_) return (steps - 1) / *every_steps_;
  if (!every_time_) return 0;
  std::int64_t k = last_until(steps) + 1;
  while (k >= 1 && nth(k) >= steps) --k;
  return k;
}

constexpr double too_often = 0.25, too_seldom = 1;  // s
constexpr std::int64_t most_units = std::int64_t{1} << 40;

void ControlPoll::looked(std::int64_t sweep, double seconds_since_last) {
  if (seconds_since_last < too_often) units_ = std::min(2 * units_, most_units);
  if (seconds_since_last > too_seldom) units_ = std::max<std::int64_t>(units_ / 2, 1);
  next_ = sweep + units_ * unit_;
}

std::int64_t Series::count() const {
  if (last_ == never) return 0;
  return last_ == 0 ? 1 : (recurs() ? 2 : 1) + count_before(last_);
}

// Of sweeps, cycles where the method has some: intervals count them, and nothing is due within one.
Schedule::Schedule(const Config& config)
    : cycle_(sweeps_of_cycle(config)),
      check_interval_(config.problem.check_interval * cycle_),
      asynchronous_(config.problem.check == Check::asynchronous),
      diagnostics_(config.output.diagnostics, {}, 0, cycle_) {
  if (config.problem.kind == ProblemKind::transient) {
    const TimePlan plan = time_plan(config);
    last_ = plan.steps * cycle_;
    dt_ = plan.dt;
  } else {
    const ProblemConfig& problem = config.problem;
    last_ = problem.max_cycles ? *problem.max_cycles * cycle_
                               : std::max(problem.max_sweeps / cycle_, std::int64_t{1}) * cycle_;
  }
  const OutputConfig& output = config.output;
  const auto recurrence = [this](const OutputTimes& times) {
    return Recurrence(times.every_steps, times.every_time, dt_, cycle_);
  };
  if (output.snapshots) snapshots = {recurrence(output), last_};
  if (!output.probes.points.empty()) probes = {recurrence(output.probes.times), last_};
  for (const FieldPart& part : field_parts(config)) parts.emplace_back(recurrence(part.times), last_);
  if (output.checkpoint.write) checkpoints = recurrence(output.checkpoint);
}

bool Schedule::check_due(std::int64_t sweep) const {
  if (cycle_ > 1) return sweep % check_interval_ == 0 || sweep == last_;
  return sweep > 0 && (sweep == 1 || sweep % check_interval_ == 0 || sweep == last_);
}

bool Schedule::check_is_asynchronous(std::int64_t sweep) const {
  const auto due = [&](const Series& part) { return part.due(sweep); };
  return asynchronous_ && sweep < last_ && !diagnostics_due(sweep) && !snapshots.due(sweep) &&
         !probes.due(sweep) && std::ranges::none_of(parts, due);
}

std::int64_t Schedule::next_after(std::int64_t sweep) const {
  if (sweep == 0 && last_ > 0 && cycle_ == 1) return 1;
  std::int64_t next = std::min(last_, (sweep / check_interval_ + 1) * check_interval_);
  const auto take = [&](const Recurrence& due) { next = std::min(next, due.next_after(sweep)); };
  take(diagnostics_);
  take(snapshots);
  take(probes);
  take(checkpoints);
  std::ranges::for_each(parts, take);
  return next;
}

}  // namespace isotherm
