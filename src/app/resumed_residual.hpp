// The residuals of a run on their way into its checkpoint and out of it.
#pragma once

#include "output/checkpoint_state.hpp"
#include "output/run_record.hpp"
#include "solver/convergence.hpp"

namespace isotherm {

inline void keep_residuals(const Residual& r, const Stagnation& stagnation, CheckpointState& state) {
  state.first_residual = r.first;
  state.last_residual = r.last;
  state.last_checked = r.last_sweep.value_or(0);
  state.checks = r.checks;
  const auto lowest = stagnation.lowest();
  if (!lowest) return;
  state.lowest_residual = lowest->residual;
  state.lowest_sweep = lowest->sweep;
}

inline void resume_residuals(const CheckpointState& state, Residual& r, Stagnation& stagnation) {
  r.first = state.first_residual;
  r.last = state.last_residual;
  r.checks = state.checks;
  if (r.last) r.last_sweep = state.last_checked;
  if (state.lowest_residual) {
    stagnation.go_on_from({*state.lowest_residual, state.lowest_sweep});
  } else if (r.last) {
    stagnation.go_on_from({*r.last, state.last_checked});  // of a checkpoint that does not know it
  }
}

}  // namespace isotherm
