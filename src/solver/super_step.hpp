// A time step of many sweeps: two runs of Euler sweeps from the same field, combined (Combination,
// method.hpp).
#pragma once

#include "grid/field.hpp"
#include "solver/level.hpp"
#include "solver/step.hpp"

namespace isotherm {

template <class T>
class SuperStep {
 public:
  // `level`, whose method has a combination, and `step` outlive it. Allocates one field. Collective.
  SuperStep(Level<T>& level, Step<T>& step, SolverTimes& times);

  void cycle();

 private:
  void combine(T xx, T xy, T yx, T yy);

  Level<T>& level_;
  Step<T>& step_;
  SolverTimes& times_;
  Field<T> other_;  // the field at the start; then what the first run has made of it
};

}  // namespace isotherm
