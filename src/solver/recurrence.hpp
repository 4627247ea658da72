// Something that is due again and again: pure arithmetic on sweep numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "config/config.hpp"

namespace isotherm {

// Of one kind of output: its first state at sweep 0, then every so many sweeps or seconds. The last state is
// written wherever a run ends, and is not told here.
class Recurrence {
 public:
  Recurrence(const OutputTimes& times, double dt) : times_(times), dt_(dt) {}  // dt: s, where every_time is

  bool due(std::int64_t sweep) const;
  std::optional<std::int64_t> next_after(std::int64_t sweep) const;  // none without an interval
  std::int64_t count(std::int64_t last) const;  // of a run of so many sweeps, its last state included

 private:
  bool repeats() const { return times_.every_steps || times_.every_time; }
  std::int64_t sweep_of(std::int64_t k) const;  // the sweep of the k-th interval, k >= 1
  double time(std::int64_t sweep) const { return static_cast<double>(sweep) * dt_; }

  OutputTimes times_;
  double dt_;
};

}  // namespace isotherm
