// A time step of many sweeps: two runs of Euler sweeps from the same field, combined (Combination,
// method.hpp), or implicit stages, each solved by multigrid. As the deck has it, or in parts whose error is
// below a tolerance (StepControl).
#pragma once

#include <optional>

#include "grid/field.hpp"
#include "solver/correction.hpp"
#include "solver/level.hpp"
#include "solver/residual_check.hpp"
#include "solver/step.hpp"
#include "solver/step_control.hpp"

namespace isotherm {

template <class T>
class SuperStep {
 public:
  // `correction`: null where the method is no implicit one. All of them outlive it. Collective.
  SuperStep(Level<T>& level, Step<T>& step, Correction<T>* correction, SolverTimes& times);

  void cycle();

  int halvings() const { return control_ ? control_->halvings() : 0; }
  void go_on_from(int halvings) { control_->go_on_from(halvings); }
  const StepCounts& counts() const { return counts_; }

 private:
  void take();
  void take_runs();
  void take_stages();
  void take_parts();
  double error();
  void combine(Field<T>& other, T xx, T xy, T yx, T yy);

  Level<T>& level_;
  Step<T>& step_;
  Correction<T>* correction_;
  SolverTimes& times_;
  std::optional<StepControl> control_;
  StepCounts counts_;
  // Of rkl the field at the start, then what the first run has made of it. Where errors are measured: what a
  // method of first order makes of the step.
  std::optional<Field<T>> other_;
  std::optional<Field<T>> start_;  // where a part may be taken again
  std::optional<ResidualCheck<T>> difference_;
};

// Fields that it has beside those of the level.
int fields_of_super_step(const Config& config);

}  // namespace isotherm
