// Long time steps: two runs of Euler sweeps from the same field, combined (method.hpp), or implicit stages by
// multigrid. A step is divided where a value jumps, and where its error would exceed a tolerance.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/signals.hpp"
#include "core/timer.hpp"
#include "grid/field.hpp"
#include "kernels/field_algebra.hpp"
#include "solver/multigrid.hpp"
#include "solver/residual_check.hpp"

namespace isotherm {

// Parts of steps that were computed, those of them that were rejected, and their sweeps.
struct StepCounts {
  std::int64_t parts = 0, rejected = 0, sweeps = 0;
};

// Divides a step into parts whose errors stay below a tolerance. A part is the step halved several times, so
// parts end exactly at the step's end. Arithmetic only, on errors that are equal on all ranks.
class StepControl {
 public:
  // `tolerance`: K per part. The shortest parts, halved `most_halvings` times, are always accepted.
  StepControl(double tolerance, int most_halvings) : tolerance_(tolerance), most_(most_halvings) {}

  int halvings() const { return halvings_; }  // of the next part; kept between steps
  // Resumes from a checkpoint, whose run may have had longer steps.
  void resume_from(int halvings) { halvings_ = std::clamp(halvings, 0, most_); }
  bool at_end() const { return passed_ == whole(); }
  double passed() const { return static_cast<double>(passed_) / static_cast<double>(whole()); }  // 0 to 1
  void begin_step() { passed_ = 0; }

  // Is the part accepted? If not, a shorter one follows. `error`: K, grows as length squared; NaN: too large.
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
    // The next part is twice as long, if a part of that length may begin here.
    if (margin * of_half * error <= tolerance_ && halvings_ > 0 && passed_ % length(halvings_ - 1) == 0)
      --halvings_;
    return true;
  }

 private:
  std::int64_t whole() const { return length(0); }
  std::int64_t length(int halvings) const { return std::int64_t{1} << (most_ - halvings); }

  double tolerance_;
  int most_, halvings_ = 0;
  std::int64_t passed_ = 0;  // in units of the shortest part
};

// None if the deck has fixed steps. No part is shorter than a stable Euler step: shorter ones gain nothing.
inline std::optional<StepControl> step_control(const Config& config) {
  if (!takes_long_steps(config) || !(config.problem.tolerance > 0)) return std::nullopt;
  constexpr int most = 40;
  int halvings = 0;
  for (double part = time_plan(config).dt / 2; part >= stable_dt(config) && halvings < most; part /= 2)
    ++halvings;
  return StepControl(*config.problem.tolerance, halvings);
}

// Ends a run within a step: at a signal, or before a part that may end after `latest`, s from the start of a
// timer.
struct StopTime {
  Timer started;
  double latest, polled;  // the same on all ranks; polled: when the time was last compared
};

template <class T>
class SuperStep : public WholeCycle {
 public:
  // `step` must outlive it. Collective.
  explicit SuperStep(Step<T>& step)
      : level_(step.level()), step_(step), control_(step_control(level_.config())) {
    if (level_.method().by_correction) correction_ = make_correction(step);
    if (control_ || !correction_) other_.emplace(level_.new_field());
    if (!control_) return;
    start_.emplace(level_.new_field());
    begin_.emplace(level_.new_field());
    Config config = level_.config();
    config.problem.norm = Norm::max;
    const ReductionKernel<T>& kernel = exact_reduction<T>(level_.device().backend());
    difference_.emplace(config, level_.communicator(), level_.device(), kernel,
                        kernel.scratch_bytes(level_.whole()), level_.body().count);
  }

  // Where the run must stop within a step of many parts, restores the field before the step and counts none.
  void take(bool) override {
    const std::int64_t begin = level_.sweeps(), cycle = level_.method().cycle();
    const std::vector<PartOfStep> parts = level_.jumps().parts(level_.time(), level_.dt());
    if (!control_ && parts.size() == 1 && std::isinf(parts[0].until)) return take_whole();
    const std::optional<StepControl> before = control_;
    const std::vector<double> times = level_.times_of_values();
    if (control_) combine(*begin_, 1, 0, 1, 0);
    const bool ended = std::ranges::all_of(parts, [&](const PartOfStep& part) { return take_parts(part); });
    if (!ended) {
      combine(*begin_, 0, 1, 0, 1);
      control_ = before;
      level_.return_to_values(times);
    }
    level_.end_parts(ended ? begin + cycle : begin);
  }
  void stop_by(const StopTime& stop) { stop_ = stop; }
  std::int64_t extra_sweeps() const override { return correction_ ? correction_->extra_sweeps() : 0; }
  std::vector<TimedGrid> timed() override {
    return correction_ ? correction_->timed() : std::vector<TimedGrid>{};
  }

  int halvings() const { return control_ ? control_->halvings() : 0; }
  void resume_from(int halvings) {
    if (control_) control_->resume_from(halvings);
  }
  const StepCounts& counts() const { return counts_; }

 private:
  // Takes the part as a whole, or divided further as the tolerance requires. False: the run must stop.
  bool take_parts(const PartOfStep& part) {
    if (!control_) {
      level_.begin_part(part);
      take_whole();
      return true;
    }
    for (control_->begin_step(); !control_->at_end();) {
      if (must_stop()) return false;
      level_.begin_part(
          {part.from + control_->passed() * part.dt, std::ldexp(part.dt, -control_->halvings()), part.until});
      combine(*start_, 1, 0, 1, 0);
      take_whole();
      ++counts_.parts;
      double error = 0;  // K, the largest difference of a cell from the first-order result
      step_.clock.timed(Phase::reduction, [&] {
        difference_->start(level_.field(), other_->view(), level_.compute());
        error = difference_->finish();
      });
      if (control_->judge(error)) continue;
      ++counts_.rejected;
      combine(*start_, 0, 1, 0, 1);
    }
    return true;
  }
  // Collective. The next part may take as long as the last one.
  bool must_stop() {
    if (!stop_) return false;
    double seen[] = {static_cast<double>(noted_stop_signal()), stop_->started.seconds()};
    level_.communicator().template all_reduce<double>(seen, ReduceOp::max);
    const double next = 2 * seen[1] - std::exchange(stop_->polled, seen[1]);
    return seen[0] > 0 || next >= stop_->latest;
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
  // The first-order result uses the rate of the first stage for the whole step.
  void take_stages() {
    const std::vector<ImplicitStage>& stages = level_.method().stages;
    if (control_) combine(*other_, 1, 0, 1, 0);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      level_.update_values(1, stages[i].time);
      correction_->solve(stages[i].scale, v_cycles(level_.config()), true);
      // Share of the step that the first stage has added to the field.
      const double part = 1 - stages.front().time;
      if (control_ && i == 0) combine(*other_, 1, 0, static_cast<T>(1 / part), static_cast<T>(1 - 1 / part));
    }
    level_.advance_in_place(level_.method().cycle());
  }
  // Replaces the current field by xx current + xy other, and the other one by yx current + yy other.
  void combine(Field<T>& other, T xx, T xy, T yx, T yy) {
    level_.wait_for_copy(true);  // the field is changed in place
    step_.clock.timed(Phase::sweep, [&] {
      FieldAlgebra<T>::on(level_.device().backend())
          .combine({level_.current().view(), other.view(), level_.whole(), xx, xy, yx, yy}, level_.compute());
    });
    step_.invalidate_ghosts();
  }

  Level<T>& level_;
  Step<T>& step_;
  std::unique_ptr<Correction<T>> correction_;  // implicit methods only
  std::optional<StepControl> control_;
  StepCounts counts_;
  // rkl: the initial field, then the result of the first run; with error control, the first-order result.
  std::optional<Field<T>> other_;
  std::optional<Field<T>> start_;  // the field at the start of a part, which may be repeated
  std::optional<Field<T>> begin_;  // and of the step, which the end of the run may interrupt
  std::optional<StopTime> stop_;
  std::optional<ResidualCheck<T>> difference_;
};

// The number of fields of a SuperStep, in addition to those of its level.
inline int fields_of_super_step(const Config& config) {
  return (is_rkl(config) ? 1 : 0) + (!step_control(config) ? 0 : is_rkl(config) ? 2 : 3);
}

}  // namespace isotherm
