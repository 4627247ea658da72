#include "solver/super_step.hpp"

#include <cmath>

#include "core/all_or_throw.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/field_algebra.hpp"

namespace isotherm {
namespace {

template <class T>
Field<T> field_like(Level<T>& level) {
  return all_or_throw(level.communicator(), [&] {
    Field<T> field(level.device(), level.extent(), level.field().ghosts);
    face_copy<T>(level.device().backend()).fill(field.view(), T(0), level.compute());
    return field;
  });
}

}  // namespace

int fields_of_super_step(const Config& config) {
  return (is_rkl(config) ? 1 : 0) + (!step_control(config) ? 0 : is_rkl(config) ? 1 : 2);
}

template <class T>
SuperStep<T>::SuperStep(Step<T>& step)
    : level_(step.level()),
      step_(step),
      control_(step_control(level_.config())),
      jumps_(jump_times(level_.config())) {
  if (level_.method().by_correction) correction_ = make_correction(step);
  if (control_ || !correction_) other_.emplace(field_like(level_));
  if (!control_) return;
  start_.emplace(field_like(level_));
  Config config = level_.config();
  config.problem.norm = Norm::max;
  const ReductionKernel<T>& kernel = exact_reduction<T>(level_.device().backend());
  difference_.emplace(config, level_.communicator(), level_.device(), kernel,
                      kernel.scratch_bytes(level_.whole()), level_.body().count);
}

// The current field and another one: xx current + xy other, yx current + yy other.
template <class T>
void SuperStep<T>::combine(Field<T>& other, T xx, T xy, T yx, T yy) {
  level_.wait_for_copy(true);  // the field is changed in place
  step_.timed(Phase::sweep, [&] {
    field_algebra<T>(level_.device().backend())
        .combine({level_.current().view(), other.view(), level_.whole(), xx, xy, yx, yy}, level_.compute());
  });
  step_.forget_ghosts();
}

template <class T>
void SuperStep<T>::take_runs() {
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
template <class T>
void SuperStep<T>::take_stages() {
  const std::vector<ImplicitStage>& stages = level_.method().stages;
  if (control_) combine(*other_, 1, 0, 1, 0);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    level_.update_values(1, stages[i].time);
    correction_->solve(stages[i].scale, v_cycles(level_.config()), true);
    const double part = 1 - stages.front().time;  // of that step, which the first stage has left in the field
    if (control_ && i == 0) combine(*other_, 1, 0, static_cast<T>(1 / part), static_cast<T>(1 - 1 / part));
  }
  level_.advance_in_place(level_.method().cycle());
}

template <class T>
void SuperStep<T>::take_whole() {
  correction_ ? take_stages() : take_runs();
  counts_.sweeps += level_.method().cycle();
}

// From one jump to the next, in one part or as many as the tolerance asks for.
template <class T>
void SuperStep<T>::take_parts(double from, double length, double jump) {
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

template <class T>
void SuperStep<T>::take(bool) {
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

template class SuperStep<float>;
template class SuperStep<double>;

}  // namespace isotherm
