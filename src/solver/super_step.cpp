#include "solver/super_step.hpp"

#include "core/all_or_throw.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/field_algebra.hpp"

namespace isotherm {

template <class T>
SuperStep<T>::SuperStep(Level<T>& level, Step<T>& step, SolverTimes& times)
    : level_(level), step_(step), times_(times), other_(all_or_throw(level.communicator(), [&] {
        return Field<T>(level.device(), level.extent(), level.field().ghosts);
      })) {
  face_copy<T>(level.device().backend()).fill(other_.view(), T(0), level.compute());
}

// The current field and the other one: xx current + xy other, yx current + yy other.
template <class T>
void SuperStep<T>::combine(T xx, T xy, T yx, T yy) {
  const Timer timer;
  level_.wait_for_copy(true);  // the field is changed in place
  field_algebra<T>(level_.device().backend())
      .combine({level_.current().view(), other_.view(), level_.whole(), xx, xy, yx, yy}, level_.compute());
  step_.forget_ghosts();
  step_.settle();
  times_.sweep += timer.seconds();
}

template <class T>
void SuperStep<T>::cycle() {
  const Method& method = level_.method();
  const Combination& combination = *method.combination;
  combine(1, 0, 1, 0);
  step_.advance(combination.first);
  combine(0, 1, 1, 0);
  step_.advance(method.cycle() - combination.first);
  const T share = static_cast<T>(combination.share);
  combine(share, 1 - share, 0, 1);
}

template class SuperStep<float>;
template class SuperStep<double>;

}  // namespace isotherm
