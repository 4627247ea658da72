#include "app/rank_times.hpp"

namespace isotherm {

void RankTimes::add(const SolverTimes& solver, const LoopOutcome& outcome) {
  phases[Phase::sweeps] += solver.sweep;
  phases[Phase::halo] += solver.halo;
  phases[Phase::reduction] += solver.reduction;
  phases[Phase::diagnostics] += solver.diagnostics;
  phases[Phase::output] += outcome.output_seconds;
  const ExchangeTimes& exchange = solver.exchange;
  profile[Part::interior] += solver.interior;
  profile[Part::shells] += solver.shells;
  profile[Part::sweep] += solver.sweep - solver.interior - solver.shells;
  profile[Part::walls] += solver.halo - exchange.pack - exchange.wire - exchange.unpack;
  profile[Part::pack] += exchange.pack;
  profile[Part::wire] += exchange.wire;
  profile[Part::unpack] += exchange.unpack;
  profile[Part::reduction] += solver.reduction;
  profile[Part::diagnostics] += solver.diagnostics;
  profile[Part::output] += outcome.output_seconds;
  profile[Part::other] += outcome.wall - solver.sum() - outcome.output_seconds;
  profile[Part::loop] += outcome.wall;
}

void RankTimes::finish(double total) {
  phases[Phase::total] = profile[Part::total] = total;
  profile[Part::setup] = phases[Phase::setup];
}

}  // namespace isotherm
