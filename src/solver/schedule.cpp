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

Recurrence::Recurrence(std::optional<std::int64_t> every_steps, std::optional<double> every_time, double dt,
                       std::int64_t cycle)
    : every_steps_(every_steps), every_time_(every_time), dt_(dt), cycle_(cycle) {}

std::int64_t Recurrence::nth(std::int64_t k) const {
  if (every_steps_) return k * *every_steps_;
  return std::max(k, step_at(static_cast<double>(k) * *every_time_, dt_));  // at most one per step
}

// The last that is surely not after `step`.
std::int64_t Recurrence::last_until(std::int64_t step) const {
  const double passed = std::floor(static_cast<double>(step) * dt_ / *every_time_);
  return passed < static_cast<double>(step) ? static_cast<std::int64_t>(passed) : step;
}

bool Recurrence::due(std::int64_t sweep) const {
  return next_after(sweep - 1) == sweep;
}

std::int64_t Recurrence::next_after(std::int64_t sweep) const {
  const std::int64_t step = sweep < 0 ? -1 : sweep / cycle_;
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

namespace {

constexpr double too_often = 0.25, too_seldom = 1;  // s
constexpr std::int64_t most_units = std::int64_t{1} << 40;

}  // namespace

ControlPoll::ControlPoll(std::int64_t start, std::int64_t unit) : unit_(unit), next_(start + unit) {}

void ControlPoll::looked(std::int64_t sweep, double seconds_since_last) {
  if (seconds_since_last < too_often) units_ = std::min(2 * units_, most_units);
  if (seconds_since_last > too_seldom) units_ = std::max<std::int64_t>(units_ / 2, 1);
  next_ = sweep + units_ * unit_;
}

namespace {

// A series of files starts with the initial state, and ends with the last one, wherever that is.
bool due_in_series(const Recurrence& series, std::int64_t sweep) {
  return sweep == 0 ? series.recurs() : series.due(sweep);
}

std::int64_t count_of_series(const Recurrence& series, std::int64_t last) {
  if (last == 0) return 1;
  return (series.recurs() ? 2 : 1) + series.count_before(last);
}

}  // namespace

// Of sweeps, cycles where the method has some: intervals count them, and nothing is due within one.
Schedule::Schedule(const Config& config)
    : cycle_(sweeps_of_cycle(config)),
      check_interval_(config.problem.check_interval * cycle_),
      asynchronous_(config.problem.check == Check::asynchronous),
      diagnostics_interval_(config.output.diagnostics) {
  if (diagnostics_interval_) *diagnostics_interval_ *= cycle_;
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
  if (output.snapshots) snapshots_ = recurrence(output);
  if (!output.probes.points.empty()) probes_ = recurrence(output.probes.times);
  for (const FieldPart& part : field_parts(config)) parts_.push_back(recurrence(part.times));
  if (output.checkpoint.write) checkpoints_ = recurrence(output.checkpoint);
}

double Schedule::time(std::int64_t sweep) const {
  return static_cast<double>(sweep / cycle_) * dt_;
}

bool Schedule::check_due(std::int64_t sweep) const {
  if (cycle_ > 1) return sweep % check_interval_ == 0 || sweep == last_;
  return sweep > 0 && (sweep == 1 || sweep % check_interval_ == 0 || sweep == last_);
}

bool Schedule::check_is_asynchronous(std::int64_t sweep) const {
  const auto due = [&](const Recurrence& part) { return due_in_series(part, sweep); };
  return asynchronous_ && sweep < last_ && !diagnostics_due(sweep) && !snapshot_due(sweep) &&
         !probes_due(sweep) && std::none_of(parts_.begin(), parts_.end(), due);
}

bool Schedule::diagnostics_due(std::int64_t sweep) const {
  return diagnostics_interval_ && (sweep % *diagnostics_interval_ == 0 || sweep == last_);
}

bool Schedule::snapshot_due(std::int64_t sweep) const {
  return snapshots_ && due_in_series(*snapshots_, sweep);
}

bool Schedule::part_due(std::size_t part, std::int64_t sweep) const {
  return due_in_series(parts_[part], sweep);
}

bool Schedule::probes_due(std::int64_t sweep) const {
  return probes_ && due_in_series(*probes_, sweep);
}

bool Schedule::checkpoint_due(std::int64_t sweep) const {
  return sweep > 0 && checkpoints_.due(sweep);
}

std::int64_t Schedule::next_after(std::int64_t sweep) const {
  if (sweep == 0 && last_ > 0 && cycle_ == 1) return 1;
  std::int64_t next = std::min(last_, (sweep / check_interval_ + 1) * check_interval_);
  if (diagnostics_interval_) {
    next = std::min(next, (sweep / *diagnostics_interval_ + 1) * *diagnostics_interval_);
  }
  const auto take = [&](const Recurrence& output) { next = std::min(next, output.next_after(sweep)); };
  if (snapshots_) take(*snapshots_);
  if (probes_) take(*probes_);
  std::for_each(parts_.begin(), parts_.end(), take);
  take(checkpoints_);
  return next;
}

std::int64_t Schedule::snapshots() const {
  return snapshots_ ? count_of_series(*snapshots_, last_) : 0;
}

std::int64_t Schedule::files_of(std::size_t part) const {
  return count_of_series(parts_[part], last_);
}

std::int64_t Schedule::probe_lines() const {
  return probes_ ? count_of_series(*probes_, last_) : 0;
}

std::int64_t Schedule::checkpoints() const {
  return checkpoints_.count_before(last_);
}

std::int64_t likely_sweeps(const Config& config) {
  const std::int64_t last = Schedule(config).last();
  const ProblemConfig& problem = config.problem;
  if (problem.kind != ProblemKind::steady || problem.criterion != Criterion::relative) return last;
  if (!(problem.tolerance > 0 && problem.tolerance < 1)) return last;
  const Method method = make_method(config);
  const auto cycle = static_cast<double>(method.cycle());
  const double needed = std::ceil(std::log(1 / *problem.tolerance) / method.decay / cycle) * cycle;
  return needed < static_cast<double>(last) ? static_cast<std::int64_t>(needed) : last;
}

}  // namespace isotherm
