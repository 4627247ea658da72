// Something that comes again every so many sweeps, or every so much time of the problem. Arithmetic only.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "config/config.hpp"

namespace isotherm {

class Recurrence {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  Recurrence() = default;  // never
  // At most one of the two; every_time and the step `dt` in s.
  Recurrence(std::optional<std::int64_t> every_steps, std::optional<double> every_time, double dt);
  Recurrence(const OutputTimes& times, double dt) : Recurrence(times.every_steps, times.every_time, dt) {}

  bool recurs() const { return every_steps_ || every_time_; }
  bool due(std::int64_t sweep) const;                  // sweep > 0
  std::int64_t next_after(std::int64_t sweep) const;   // the next that is due, or `never`
  std::int64_t count_before(std::int64_t last) const;  // how often it is due from sweep 1 to last - 1

 private:
  std::int64_t nth(std::int64_t k) const;  // the sweep of the k-th, k >= 1
  std::int64_t last_until(std::int64_t sweep) const;

  std::optional<std::int64_t> every_steps_;
  std::optional<double> every_time_;
  double dt_ = 0;
};

}  // namespace isotherm
