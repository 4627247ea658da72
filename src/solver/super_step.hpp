// A time step of many sweeps: two runs of Euler sweeps from one field, combined (method.hpp), or implicit
// stages by multigrid; whole, or in parts that end where a value jumps or keep errors below a tolerance.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "grid/field.hpp"
#include "solver/multigrid.hpp"
#include "solver/residual_check.hpp"

namespace isotherm {

// What has been taken.
struct StepCounts {
  std::int64_t parts = 0, rejected = 0, sweeps = 0;
};

// A step in parts whose errors stay below a tolerance: the step halved some times, so its ends are hit
// exactly. Arithmetic on errors that all ranks share.
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

  // Is the part accepted? Else a shorter one follows. `error`: K, as the square of the length; NaN is one.
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

template <class T>
class SuperStep : public WholeCycle {
 public:
  // `step` outlives it. Collective.
  explicit SuperStep(Step<T>& step);

  void take(bool from_the_start) override;
  std::vector<TimedGrid> timed() override {
    return correction_ ? correction_->timed() : std::vector<TimedGrid>{};
  }
  void time_phases() override {
    if (correction_) correction_->time_phases();
  }

  int halvings() const { return control_ ? control_->halvings() : 0; }
  void go_on_from(int halvings) {
    if (control_) control_->go_on_from(halvings);
  }
  const StepCounts& counts() const { return counts_; }

 private:
  void take_parts(double from, double length, double jump);
  void take_whole();
  void take_runs();
  void take_stages();
  void combine(Field<T>& other, T xx, T xy, T yx, T yy);

  Level<T>& level_;
  Step<T>& step_;
  std::unique_ptr<Correction<T>> correction_;  // of an implicit method
  std::optional<StepControl> control_;
  std::vector<double> jumps_;  // s, in order
  StepCounts counts_;
  // Of rkl the first field, then the first run's; where errors are measured, the first-order result.
  std::optional<Field<T>> other_;
  std::optional<Field<T>> start_;  // where a part may be taken again
  std::optional<ResidualCheck<T>> difference_;
};

// Fields that it has beside those of the level.
int fields_of_super_step(const Config& config);

}  // namespace isotherm
