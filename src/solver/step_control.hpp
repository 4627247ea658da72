// How a time step is taken in parts, such that the error of each stays below a tolerance: parts are the step
// halved some times, so all of its ends are hit exactly. Arithmetic only, on errors that all ranks share: the
// parts depend on nothing else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "config/config.hpp"

namespace isotherm {

// What has been taken.
struct StepCounts {
  std::int64_t parts = 0, rejected = 0, sweeps = 0;
};

class StepControl {
 public:
  // `tolerance`: K, of a part. Parts at the floor, of `most_halvings`, are taken whatever their error is.
  StepControl(double tolerance, int most_halvings) : tolerance_(tolerance), most_(most_halvings) {}

  int halvings() const { return halvings_; }  // of the next part; kept from step to step
  // Of a checkpoint, whose run may have had longer steps.
  void go_on_from(int halvings) { halvings_ = std::clamp(halvings, 0, most_); }
  bool at_end() const { return passed_ == whole(); }
  double passed() const { return static_cast<double>(passed_) / static_cast<double>(whole()); }  // of 1
  void begin_step() { passed_ = 0; }

  // Is the part accepted? Else the next is shorter, from where this one began. `error`: K, grows as the
  // square of the length of a part. NaN is an error, too.
  bool judge(double error) {
    constexpr double of_half = 4, margin = 2;
    if (!(error <= tolerance_) && halvings_ < most_) {
      do {
        ++halvings_;
        error /= of_half;
      } while (!(error <= tolerance_) && halvings_ < most_);
      return false;
    }
    passed_ += length(halvings_);
    // Twice as long from where such a part may begin.
    if (margin * of_half * error <= tolerance_ && halvings_ > 0 && passed_ % length(halvings_ - 1) == 0)
      --halvings_;
    return true;
  }

 private:
  std::int64_t whole() const { return length(0); }
  std::int64_t length(int halvings) const { return std::int64_t{1} << (most_ - halvings); }

  double tolerance_;
  int most_, halvings_ = 0;
  std::int64_t passed_ = 0;  // in parts at the floor
};

// None where the steps of the deck are fixed. The floor is a stable Euler step: below it nothing is gained.
inline std::optional<StepControl> step_control(const Config& config) {
  if (!takes_long_steps(config) || !(config.problem.tolerance > 0)) return std::nullopt;
  constexpr int most = 40;
  int halvings = 0;
  for (double part = time_plan(config).dt / 2; part >= stable_dt(config) && halvings < most; part /= 2)
    ++halvings;
  return StepControl(*config.problem.tolerance, halvings);
}

}  // namespace isotherm
