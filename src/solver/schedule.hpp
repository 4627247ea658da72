// When the events of a run are due, and how much work the run is. Arithmetic only, without a device.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "config/config.hpp"
#include "core/device.hpp"
#include "grid/decomposition.hpp"

namespace isotherm {

// An event at a fixed interval of steps, or of simulated time.
class Recurrence {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  Recurrence() = default;  // never
  // At most one of the two is set; every_time and the step `dt` in s. A step is a cycle of `cycle` sweeps.
  Recurrence(std::optional<std::int64_t> every_steps, std::optional<double> every_time, double dt,
             std::int64_t cycle = 1)
      : every_steps_(every_steps), every_time_(every_time), dt_(dt), cycle_(cycle) {}

  bool recurs() const { return every_steps_ || every_time_; }
  // Never at sweep 0.
  bool due(std::int64_t sweep) const { return sweep > 0 && next_after(sweep - 1) == sweep; }
  // The next sweep after `sweep` at which the event is due, or `never`.
  std::int64_t next_after(std::int64_t sweep) const {
    if (!recurs()) return never;
    const std::int64_t step = step_of(first_after(sweep / cycle_));
    return step < never / cycle_ ? step * cycle_ : never;
  }
  // How often the event is due from sweep 1 to last - 1.
  std::int64_t count_before(std::int64_t last) const {
    return recurs() && last > 0 ? first_after(last / cycle_ - 1) - 1 : 0;
  }

 private:
  std::int64_t step_of(std::int64_t k) const;  // the step of the k-th event, k >= 1
  // The number of the first event after `step`.
  std::int64_t first_after(std::int64_t step) const {
    if (every_steps_) return step / *every_steps_ + 1;
    const double passed = std::floor(static_cast<double>(step) * dt_ / *every_time_);
    std::int64_t k = passed < static_cast<double>(step) ? static_cast<std::int64_t>(passed) : step;
    for (k = std::max<std::int64_t>(k, 1); step_of(k) <= step;) ++k;
    return k;
  }

  std::optional<std::int64_t> every_steps_;
  std::optional<double> every_time_;
  double dt_ = 0;
  std::int64_t cycle_ = 1;
};

// Files or lines written at an interval, at the initial state if they recur, and always at the last state.
class Series : public Recurrence {
 public:
  Series() = default;  // not even at the last state
  Series(const Recurrence& between, std::int64_t last) : Recurrence(between), last_(last) {}

  bool due(std::int64_t sweep) const { return sweep == 0 ? recurs() : Recurrence::due(sweep); }
  std::int64_t count() const {  // the expected number, the last included; steady: the maximum
    if (last_ == never) return 0;
    return last_ == 0 ? 1 : (recurs() ? 2 : 1) + count_before(last_);
  }

 private:
  std::int64_t last_ = never;  // sweep
};

// Chooses the sweeps at which all ranks poll for signals and the wall-time limit, from times that are the
// same on all ranks: often enough to react within a second or two, and so rarely that the all-reduce costs
// nothing. The interval doubles below a quarter of a second and halves above one.
class ControlPoll {
 public:
  // `unit`: sweeps that form one unit. The first poll is one unit after `start`.
  ControlPoll(std::int64_t start, std::int64_t unit) : unit_(unit), next_(start + unit) {}

  std::int64_t next() const { return next_; }  // the sweep of the next poll, at the end of a unit
  void polled(std::int64_t sweep, double seconds_since_last) {  // seconds: the same on all ranks
    if (seconds_since_last < too_often) units_ = std::min(2 * units_, most_units);
    if (seconds_since_last > too_seldom) units_ = std::max<std::int64_t>(units_ / 2, 1);
    next_ = sweep + units_ * unit_;
  }

 private:
  static constexpr double too_often = 0.25, too_seldom = 1;  // s
  static constexpr std::int64_t most_units = std::int64_t{1} << 40;

  std::int64_t unit_, units_ = 1, next_;
};

class Schedule {
 public:
  explicit Schedule(const Config& config);

  std::int64_t last() const { return last_; }  // the sweep at which the run ends at the latest
  double time(std::int64_t sweep) const {      // s; 0 in a steady problem
    return static_cast<double>(sweep / cycle_) * dt_;
  }
  // The next sweep after `sweep` at which anything is due; last() at most.
  std::int64_t next_after(std::int64_t sweep) const;
  // Is a residual due? It is at the first update (or initial state), each check_interval, and the last sweep.
  bool check_due(std::int64_t sweep) const {
    if (cycle_ > 1) return sweep % check_interval_ == 0 || sweep == last_;
    return sweep > 0 && (sweep == 1 || sweep % check_interval_ == 0 || sweep == last_);
  }
  // May this residual be evaluated at the next event? Only if no output of the unchecked field is due now.
  bool check_is_asynchronous(std::int64_t sweep) const {
    const auto due = [&](const Series& part) { return part.due(sweep); };
    return asynchronous_ && sweep < last_ && !diagnostics_due(sweep) && !snapshots.due(sweep) &&
           !probes.due(sweep) && std::ranges::none_of(parts, due);
  }
  bool diagnostics_due(std::int64_t sweep) const {  // at the first and last state, and at an interval
    return diagnostics_.recurs() && (sweep == 0 || sweep == last_ || diagnostics_.due(sweep));
  }

  // Files of the field and lines of probes. due() leaves out the final ones, count() includes them.
  Series snapshots, probes;
  std::vector<Series> parts;  // of field_parts()
  Recurrence checkpoints;     // by sweeps or time; without those by wall-clock time

 private:
  std::int64_t last_ = 0;
  std::int64_t cycle_ = 1;  // sweeps
  std::int64_t check_interval_ = 1;
  bool asynchronous_ = false;
  Recurrence diagnostics_;
  double dt_ = 0;
};

// Expected sweeps of a run; with a relative tolerance those that its slowest mode needs, if fewer.
std::int64_t likely_sweeps(const Config& config);

// The work of all ranks, including the sweeps of coarse grids and the transfers between grids.
struct SweepWork {
  double bytes = 0;     // read and written; launches of several sweeps need fewer
  double launches = 0;  // in sequence
  // s, if all ranks together copy `copy_bandwidth` bytes per second.
  double seconds(Backend backend, double copy_bandwidth) const;
};
SweepWork sweep_work(const Config& config, const Decomposition& decomposition, Backend backend);

}  // namespace isotherm
