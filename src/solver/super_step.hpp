// A time step of many sweeps: two runs of Euler sweeps from one field, combined (method.hpp), or implicit
// stages by multigrid; whole, or in parts that end where a value jumps or keep errors below a tolerance.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "grid/field.hpp"
#include "kernels/field_algebra.hpp"
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
  explicit SuperStep(Step<T>& step)
      : level_(step.level()),
        step_(step),
        control_(step_control(level_.config())),
        jumps_(jump_times(level_.config())) {
    if (level_.method().by_correction) correction_ = make_correction(step);
    if (control_ || !correction_) other_.emplace(level_.new_field());
    if (!control_) return;
    start_.emplace(level_.new_field());
    Config config = level_.config();
    config.problem.norm = Norm::max;
    const ReductionKernel<T>& kernel = exact_reduction<T>(level_.device().backend());
    difference_.emplace(config, level_.communicator(), level_.device(), kernel,
                        kernel.scratch_bytes(level_.whole()), level_.body().count);
  }

  void take(bool) override {
    const std::int64_t begin = level_.sweeps(), cycle = level_.method().cycle();
    const double time = level_.time(), dt = level_.dt(), end = time + dt;
    const double close = 1e-9 * dt;  // times that are the same but for rounding
    double from = time;
    auto jump = std::ranges::upper_bound(jumps_, from + close);
    const auto is_within = [&] { return jump != jumps_.end() && *jump <= end + close; };
    if (!control_ && !is_within()) return take_whole();
    for (; is_within() && *jump < end - close; ++jump) {
      take_parts(from, *jump - from, *jump);
      from = *jump;
    }
    take_parts(from, from == time ? dt : end - from,
               is_within() ? std::min(*jump, end) : std::numeric_limits<double>::infinity());
    level_.end_parts(begin + cycle);
  }
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
  // From one jump to the next, in one part or as many as the tolerance asks for.
  void take_parts(double from, double length, double jump) {
    if (!control_) {
      level_.begin_part(from, length, jump);
      return take_whole();
    }
    for (control_->begin_step(); !control_->at_end();) {
      level_.begin_part(from + control_->passed() * length, std::ldexp(length, -control_->halvings()), jump);
      combine(*start_, 1, 0, 1, 0);
      take_whole();
      ++counts_.parts;
      double error = 0;  // K, the largest difference of a cell from what the method of first order has
      step_.timed(Phase::reduction, [&] {
        difference_->start(level_.field(), other_->view(), level_.compute());
        error = difference_->finish();
      });
      if (control_->judge(error)) continue;
      ++counts_.rejected;
      combine(*start_, 0, 1, 0, 1);
    }
  }
  void take_whole() {
    correction_ ? take_stages() : take_runs();
    counts_.sweeps += level_.method().cycle();
  }
  void take_runs() {
    const Method& method = level_.method();
    const Combination& combination = *method.combination;
    combine(*other_, 1, 0, 1, 0);
    step_.advance(combination.first);
    combine(*other_, 0, 1, 1, 0);
    step_.advance(method.cycle() - combination.first);
    const T share = static_cast<T>(combination.share);
    combine(*other_, share, 1 - share, 0, 1);
    level_.hold_voids();
  }
  // The rate at the first stage, for the whole step, is what a method of first order has.
  void take_stages() {
    const std::vector<ImplicitStage>& stages = level_.method().stages;
    if (control_) combine(*other_, 1, 0, 1, 0);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      level_.update_values(1, stages[i].time);
      correction_->solve(stages[i].scale, v_cycles(level_.config()), true);
      // Of that step, which the first stage has left in the field.
      const double part = 1 - stages.front().time;
      if (control_ && i == 0) combine(*other_, 1, 0, static_cast<T>(1 / part), static_cast<T>(1 - 1 / part));
    }
    level_.advance_in_place(level_.method().cycle());
  }
  // The current field and another one: xx current + xy other, yx current + yy other.
  void combine(Field<T>& other, T xx, T xy, T yx, T yy) {
    level_.wait_for_copy(true);  // the field is changed in place
    step_.timed(Phase::sweep, [&] {
      field_algebra<T>(level_.device().backend())
          .combine({level_.current().view(), other.view(), level_.whole(), xx, xy, yx, yy}, level_.compute());
    });
    step_.forget_ghosts();
  }

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
inline int fields_of_super_step(const Config& config) {
  return (is_rkl(config) ? 1 : 0) + (!step_control(config) ? 0 : is_rkl(config) ? 1 : 2);
}

}  // namespace isotherm
