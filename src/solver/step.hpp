// One period on a level: an exchange of halos and the sweeps that it serves, which overlap it or not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/timer.hpp"
#include "core/trace.hpp"
#include "halo/hiding.hpp"
#include "solver/kernel_choice.hpp"
#include "solver/level.hpp"

namespace isotherm {

// Seconds of this rank's host thread. `sweep` includes the wait for the device and the values of boundaries
// that vary in time, `halo` the exchange and the ghosts of boundaries.
struct SolverTimes {
  double sweep = 0, halo = 0, reduction = 0, diagnostics = 0;
  double interior = 0, exterior = 0;  // parts of `sweep`
  PhaseTimes exchange;                // pack, wire and unpack, parts of `halo`, after time_phases()
  double sum() const { return sweep + halo + reduction + diagnostics; }
  friend SolverTimes operator+(const SolverTimes& a, const SolverTimes& b) {
    return {a.sweep + b.sweep,
            a.halo + b.halo,
            a.reduction + b.reduction,
            a.diagnostics + b.diagnostics,
            a.interior + b.interior,
            a.exterior + b.exterior,
            a.exchange};
  }
};

template <class T>
class Step {
 public:
  // Both outlive the step; phases are added to `times`. The first plan is that of the deck, or the default.
  // Collective: throws CollectiveError where the deck insists on an overlap that is not to be had here.
  Step(Level<T>& level, const SweepChoice<T>& sweep, SolverTimes& times);

  // One exchange and `count` sweeps, at most depth(). The last covers the subdomain, stores its norm where
  // the result of `norm` is not null, and is a launch of its own where `last_alone`.
  void period(int count, bool last_alone, const UpdateNorm& norm);
  // The sweeps of a graph, where steps are queued as graphs and it ends by sweep `until`. False where nothing
  // was done: also where the other field is the current one.
  bool graph(std::int64_t until);
  // One sweep of the unit weight by this kernel, with its norm; the field stays as it is, and before() holds
  // the update.
  void probe(const SweepChoice<T>& by, const UpdateNorm& norm);
  // So many sweeps, in periods or graphs, without a norm.
  void advance(std::int64_t count);

  // An exchange of the current field by itself, for others than sweeps.
  void refresh_ghosts();

  // How steps are made. It may change between steps, on all ranks alike. Collective.
  const StepPlan<T>& plan() const { return plan_; }
  void use(const StepPlan<T>& plan);
  bool can_store_faces() const;  // may plan().overlap be in_kernel? Collective

  int time_block() const { return plan_.sweep.time_block; }  // sweeps of a launch
  int exchange_interval() const { return interval_; }        // ... of a period
  std::int64_t sweeps_of_a_graph() const {
    return isotherm::sweeps_of_a_graph(interval_, time_block(), level_.method().cycle());
  }

  // The first launch of a period alone: what measure_halo_cost() times. The field is not advanced.
  void queue_part(StepPart part);
  // Ghosts of the current field are no longer known to be those of the neighbours.
  void forget_ghosts() { ghosts_ = Ghosts::absent; }

  // From now on the host waits behind each phase for what it has queued: no overlap, no graphs.
  void time_phases();
  bool times_phases() const { return times_phases_; }
  void settle() {
    if (times_phases_) level_.device().synchronize(level_.compute());
  }

 private:
  const StencilKernel<T>& kernel() const { return *plan_.sweep.kernel; }
  void launch(const PeriodLaunch& launch, bool first, UpdateNorm norm);
  SweepPlan plan(const PeriodLaunch& launch) const { return {launch.sweeps, plan_.sweep.tile}; }
  Box interior(const PeriodLaunch& launch) const;
  void check_overlap() const;
  void exchange();
  void fill_boundaries(Box region);
  void queue(const PeriodLaunch& launch, Box region, UpdateNorm& norm, Phase part);
  void sweep_interior(const PeriodLaunch& launch, UpdateNorm& norm, Timer& timer);
  void sweep_exterior(const PeriodLaunch& launch, UpdateNorm& norm, Timer& timer);
  void exchange_and_sweep(const PeriodLaunch& launch, UpdateNorm& norm, Timer& timer);
  void bring_ghosts();
  void sweep_and_store(const PeriodLaunch& launch, const UpdateNorm& norm, Timer& timer);

  Level<T>& level_;
  SolverTimes& times_;
  StepPlan<T> plan_{};
  int interval_ = 1;
  bool times_phases_ = false;
  // Those of the current field, where sweeps store their faces: brought by an exchange, or by the last sweeps
  // of the neighbours, which may not have ended.
  enum class Ghosts { absent, here, under_way } ghosts_ = Ghosts::absent;
  std::optional<Owned<Graph>> graph_;   // of sweeps_of_a_graph() sweeps
  const T* graph_starts_at_ = nullptr;  // the origin of the field that it reads first
};

// Memory for the norms that launches of the kernel return, interior and exterior by themselves.
template <class T>
std::size_t norm_scratch_bytes(Int3 extent, const GhostSides& sides, const SweepChoice<T>& choice);

}  // namespace isotherm
