// What the phases of a run have taken on this rank.
#pragma once

#include "app/time_loop.hpp"
#include "output/profile.hpp"
#include "output/run_record.hpp"
#include "solver/solver.hpp"

namespace isotherm {

struct RankTimes {
  PhaseTable<double> phases;  // s
  RankProfile profile;        // of which the parts of exchanges are known after Solver::time_phases() alone

  // Of a loop that has ended, of which a series has several.
  void add(const SolverTimes& solver, const LoopOutcome& outcome);
  void finish(double total);
};

}  // namespace isotherm
