#include "solver/schedule.hpp"

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

Schedule::Schedule(const Config& config)
    : check_interval_(config.problem.check_interval),
      lagged_(config.problem.check == Check::lagged),
      diagnostics_interval_(config.output.diagnostics),
      every_steps_(config.output.every_steps),
      every_time_(config.output.every_time),
      snapshots_(config.output.snapshots) {
  if (config.problem.kind == ProblemKind::transient) {
    const TimePlan plan = time_plan(config);
    last_ = plan.steps;
    dt_ = plan.dt;
  } else {
    last_ = config.problem.max_sweeps;
  }
}

double Schedule::time(std::int64_t sweep) const {
  return static_cast<double>(sweep) * dt_;
}

std::int64_t Schedule::snapshot_sweep(std::int64_t k) const {
  if (every_steps_) return k * *every_steps_;
  return std::max(k, step_at(static_cast<double>(k) * *every_time_, dt_));  // at most one a step
}

bool Schedule::check_due(std::int64_t sweep) const {
  return sweep > 0 && (sweep == 1 || sweep % check_interval_ == 0 || sweep == last_);
}

bool Schedule::check_may_lag(std::int64_t sweep) const {
  return lagged_ && sweep < last_ && !diagnostics_due(sweep) && !snapshot_due(sweep);
}

bool Schedule::diagnostics_due(std::int64_t sweep) const {
  return diagnostics_interval_ && (sweep % *diagnostics_interval_ == 0 || sweep == last_);
}

bool Schedule::snapshot_due(std::int64_t sweep) const {
  if (!snapshots_) return false;
  if (sweep == 0) return every_steps_ || every_time_;  // a series starts with the initial state
  if (every_steps_) return sweep % *every_steps_ == 0;
  if (!every_time_) return false;
  const auto k = static_cast<std::int64_t>(std::floor(time(sweep) / *every_time_ * (1 + rounding_of_a_step)));
  return (k >= 1 && snapshot_sweep(k) == sweep) || snapshot_sweep(k + 1) == sweep;
}

std::int64_t Schedule::next_after(std::int64_t sweep) const {
  if (sweep == 0 && last_ > 0) return 1;
  std::int64_t next = std::min(last_, (sweep / check_interval_ + 1) * check_interval_);
  if (diagnostics_interval_) {
    next = std::min(next, (sweep / *diagnostics_interval_ + 1) * *diagnostics_interval_);
  }
  if (!snapshots_) return next;
  if (every_steps_) next = std::min(next, (sweep / *every_steps_ + 1) * *every_steps_);
  if (every_time_) {
    auto k = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(time(sweep) / *every_time_)));
    while (snapshot_sweep(k) <= sweep) ++k;
    next = std::min(next, snapshot_sweep(k));
  }
  return next;
}

std::int64_t Schedule::snapshots() const {
  if (!snapshots_) return 0;
  if (last_ == 0) return 1;
  std::int64_t count = snapshot_due(0) ? 2 : 1;  // the initial state of a series, and the final one
  if (every_steps_) count += (last_ - 1) / *every_steps_;
  if (every_time_) {
    const auto whole = static_cast<std::int64_t>(time(last_) / *every_time_) + 1;
    for (std::int64_t k = whole; k >= 1; --k) {
      if (snapshot_sweep(k) < last_) return count + k;
    }
  }
  return count;
}

}  // namespace isotherm
