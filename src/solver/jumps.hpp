// The times at which values of the deck jump, and the parts into which these times divide a step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "config/config.hpp"

namespace isotherm {

// `until`: the time of the jump at which the part ends; the part takes values from before this time. Infinity
// if nothing jumps there.
struct PartOfStep {
  double from, dt, until;  // s
};

class Jumps {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  Jumps() = default;  // none
  // `times`: s, in order. Steps are `dt` s long, the first from 0 on.
  Jumps(std::vector<double> times, double dt) : times_(std::move(times)), close_(1e-9 * dt) {
    for (const double time : times_) {
      const double step = std::floor(time / dt);
      if (time < 0 || step > countable_steps) continue;
      const auto number = static_cast<std::int64_t>(step);
      if (!divided_.empty() && divided_.back() == number) continue;
      if (parts(step * dt, dt).size() > 1) divided_.push_back(number);
    }
  }

  // The first step from number `step` on within which a value jumps, or `never`.
  std::int64_t divided_from(std::int64_t step) const {
    const auto found = std::ranges::lower_bound(divided_, step);
    return found == divided_.end() ? never : *found;
  }
  // The parts of a step, in order; the step is divided where values jump.
  std::vector<PartOfStep> parts(double begin, double dt) const {
    std::vector<PartOfStep> all;
    const double end = begin + dt;
    double from = begin;
    auto jump = std::ranges::upper_bound(times_, from + close_);
    for (; jump != times_.end() && *jump < end - close_; ++jump) {
      if (*jump <= from + close_) continue;  // jumps of two tables may differ by rounding
      all.push_back({from, *jump - from, *jump});
      from = *jump;
    }
    const bool at_end = jump != times_.end() && *jump <= end + close_;
    all.push_back({from, from == begin ? dt : end - from,
                   at_end ? std::min(*jump, end) : std::numeric_limits<double>::infinity()});
    return all;
  }
  // `time`, or the time of the last jump if that is later by rounding only.
  double at_jump(double time) const {
    const auto after = std::ranges::upper_bound(times_, time + close_);
    return after == times_.begin() ? time : std::max(time, *std::prev(after));
  }

 private:
  std::vector<double> times_;
  std::vector<std::int64_t> divided_;  // numbers of steps, in order
  double close_ = 0;                   // s
};

}  // namespace isotherm
