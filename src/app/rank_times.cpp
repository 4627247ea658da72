#include "app/rank_times.hpp"

namespace isotherm {

void RankTimes::add(const SolverTimes& solver, const LoopOutcome& outcome) {
  phases[Phase::sweeps] += solver.sweep;
  phases[Phase::halo] += solver.halo;
  phases[Phase::reduction] += solver.reduction;
  phases[Phase::diagnostics] += solver.diagnostics;
  phases[Phase::output] += outcome.output_seconds;
  phases[Phase::interior] += solver.interior;
  phases[Phase::shells] += solver.shells;
  phases[Phase::sweep] += solver.sweep - solver.interior - solver.shells;
  phases[Phase::walls] += solver.halo;
  for (const Phase part : {Phase::pack, Phase::wire, Phase::unpack}) {
    phases[part] += solver.exchange[part];
    phases[Phase::walls] -= solver.exchange[part];
  }
  phases[Phase::other] += outcome.wall - solver.sum() - outcome.output_seconds;
  phases[Phase::loop] += outcome.wall;
  profile = phases;
}

void RankTimes::finish(double total) {
  phases[Phase::total] = profile[Phase::total] = total;
}

}  // namespace isotherm
