// One period on a level: an exchange of halos and the sweeps that it serves, which overlap it or not.
#pragma once

#include <cstdint>

#include "core/timer.hpp"
#include "core/trace.hpp"
#include "halo/hiding.hpp"
#include "solver/kernel_choice.hpp"
#include "solver/level.hpp"

namespace isotherm {

inline void operator+=(PhaseTimes& sum, const PhaseTimes& times) {
  for (std::size_t p = 0; p < sum.values.size(); ++p) sum.values[p] += times.values[p];
}
// Time of a step with its norms and diagnostics.
inline double sum_of(const PhaseTimes& t) {
  return t[Phase::interior] + t[Phase::exterior] + t[Phase::sweep] + t[Phase::halo] + t[Phase::reduction] +
         t[Phase::diagnostics];
}

template <class T>
class Step {
 public:
  // `level` outlives the step. The first plan is that of the deck, or the default. Collective: throws
  // CollectiveError where the deck insists on an overlap that is unavailable.
  Step(Level<T>& level, const SweepChoice<T>& sweep);

  Level<T>& level() const { return level_; }

  // Some of the sweeps until sweep `end`: those of a graph, where steps are queued as graphs, or one exchange
  // and the sweeps that it serves. The last of all covers the subdomain, stores its norm where the result of
  // `norm` is not null, and is a launch of its own where `last_alone`.
  void advance_towards(std::int64_t end, bool last_alone = false, const UpdateNorm& norm = {});
  // One sweep of the unit weight by this kernel, with its norm; the field stays as it is, and before() holds
  // the update.
  void probe(const SweepChoice<T>& by, const UpdateNorm& norm);
  void advance(std::int64_t count) {  // so many sweeps
    for (const std::int64_t end = level_.sweeps() + count; level_.sweeps() < end;) advance_towards(end);
  }

  // An exchange of the current field by itself, for others than sweeps.
  void refresh_ghosts() {
    if (!exchanges(level_.sides())) return;
    timed(Phase::halo, [&] { exchange(); });
    forget_ghosts();
  }

  // How steps are made. It may change between steps, on all ranks alike. Collective.
  const StepPlan<T>& plan() const { return plan_; }
  void use(const StepPlan<T>& plan);
  bool can_store_faces() const;  // may plan().overlap be in_kernel? Collective

  // Sweeps that are queued as a whole: of a graph, or of a period.
  std::int64_t unit() const { return plan_.graph ? sweeps_of_a_graph() : interval_; }

  // The first launch of a period alone: what measure_halo_cost() times. The field is not advanced.
  void queue_part(StepPart part);
  // Ghosts of the current field are no longer known to be those of the neighbours.
  void forget_ghosts() { ghosts_ = Ghosts::absent; }

  // Seconds of this rank's host thread: `sweep`, `interior` and `exterior` include the wait for the device
  // and the values of boundaries that vary in time, `halo` the exchange and the ghosts of boundaries.
  PhaseTimes times{};
  // From now on the host waits behind each phase for what it has queued: no overlap, no graphs.
  void time_phases() {
    times_phases_ = true;
    plan_.graph = false;
    graph_.graph.reset();
  }
  bool times_phases() const { return times_phases_; }
  // Adds the time of what `work` queues on the level's stream.
  template <class Work>
  void timed(Phase phase, const Work& work) {
    timer_ = Timer();
    work();
    lap(phase);
  }

 private:
  const StencilKernel<T>& kernel() const { return *plan_.sweep.kernel; }
  int time_block() const { return plan_.sweep.time_block; }
  std::int64_t sweeps_of_a_graph() const {
    return isotherm::sweeps_of_a_graph(interval_, time_block(), level_.method().cycle());
  }
  void period(int count, bool last_alone, const UpdateNorm& norm);
  bool graph(std::int64_t until);
  // To this phase goes what the host has done since the last one and, where phases are timed, the device.
  void lap(Phase phase) {
    if (times_phases_) level_.device().synchronize(level_.compute());
    times[phase] += timer_.lap();
  }
  void launch(const PeriodLaunch& launch, bool first, UpdateNorm norm);
  SweepPlan plan(const PeriodLaunch& launch) const { return {launch.sweeps, plan_.sweep.tile}; }
  // What of the first launch of a period this kernel sweeps during the exchange.
  Box interior(const PeriodLaunch& launch) const {
    return interior_of(kernel(), launch.region, launch.interior, plan(launch));
  }
  void exchange() {
    level_.start_exchange();
    level_.finish_exchange();
  }
  // Ghosts beyond the boundaries at which the region ends, but for those that the kernel computes itself.
  void fill_boundaries(Box region) {
    level_.fill_boundaries(region, &kernel());
    lap(Phase::halo);
  }
  void queue(const PeriodLaunch& launch, Box region, UpdateNorm& norm, Phase part);
  void sweep_interior(const PeriodLaunch& launch, UpdateNorm& norm);
  void sweep_exterior(const PeriodLaunch& launch, UpdateNorm& norm);
  void exchange_and_sweep(const PeriodLaunch& launch, UpdateNorm& norm) {
    level_.start_exchange();
    sweep_interior(launch, norm);
    level_.finish_exchange();
    sweep_exterior(launch, norm);
  }
  void fetch_ghosts();
  void sweep_and_store(const PeriodLaunch& launch, const UpdateNorm& norm);

  Level<T>& level_;
  StepPlan<T> plan_{};
  int interval_ = 1;
  bool times_phases_ = false;
  Timer timer_;
  // Those of the current field, where sweeps store their faces: brought by an exchange, or by the last sweeps
  // of the neighbours, which may not have ended.
  enum class Ghosts { absent, valid, pending } ghosts_ = Ghosts::absent;
  RecordedSweeps<T> graph_;  // of sweeps_of_a_graph() sweeps
};

// Memory for the norms that launches of the kernel return, interior and exterior by themselves.
template <class T>
std::size_t norm_scratch_bytes(Int3 extent, const GhostSides& sides, const SweepChoice<T>& choice);

}  // namespace isotherm
