#include "solver/schedule.hpp"

#include <algorithm>

namespace isotherm {

Schedule::Schedule(const Config& config)
    : check_interval_(config.problem.check_interval),
      lagged_(config.problem.check == Check::lagged),
      diagnostics_interval_(config.output.diagnostics),
      snapshots_(config.output.snapshots) {
  if (config.problem.kind == ProblemKind::transient) {
    const TimePlan plan = time_plan(config);
    last_ = plan.steps;
    dt_ = plan.dt;
  } else {
    last_ = config.problem.max_sweeps;
  }
  const CheckpointConfig& checkpoint = config.output.checkpoint;
  if (snapshots_) snapshot_ = {config.output.every_steps, config.output.every_time, dt_};
  if (checkpoint.write) checkpoint_ = {checkpoint.every_steps, checkpoint.every_time, dt_};
}

double Schedule::time(std::int64_t sweep) const {
  return static_cast<double>(sweep) * dt_;
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
  return sweep == 0 ? snapshot_.recurs() : snapshot_.due(sweep);  // a series starts with the initial state
}

bool Schedule::checkpoint_due(std::int64_t sweep) const {
  return sweep > 0 && checkpoint_.due(sweep);
}

std::int64_t Schedule::next_after(std::int64_t sweep) const {
  if (sweep == 0 && last_ > 0) return 1;
  std::int64_t next = std::min(last_, (sweep / check_interval_ + 1) * check_interval_);
  if (diagnostics_interval_) {
    next = std::min(next, (sweep / *diagnostics_interval_ + 1) * *diagnostics_interval_);
  }
  return std::min({next, snapshot_.next_after(sweep), checkpoint_.next_after(sweep)});
}

std::int64_t Schedule::snapshots() const {
  if (!snapshots_) return 0;
  if (last_ == 0) return 1;
  return (snapshot_due(0) ? 2 : 1) +
         snapshot_.count_before(last_);  // the initial state of a series, the final one
}

std::int64_t Schedule::checkpoints() const {
  return checkpoint_.count_before(last_);
}

}  // namespace isotherm
