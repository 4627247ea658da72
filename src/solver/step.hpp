// Sweeps a level in periods: a halo exchange and the sweeps that use its ghosts, overlapped or not.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/error.hpp"
#include "core/trace.hpp"
#include "halo/hiding.hpp"
#include "solver/kernel_choice.hpp"
#include "solver/level.hpp"

namespace isotherm {

inline void operator+=(PhaseTimes& sum, const PhaseTimes& times) {
  for (std::size_t p = 0; p < sum.values.size(); ++p) sum.values[p] += times.values[p];
}
inline PhaseTimes operator-(PhaseTimes all, const PhaseTimes& part) {
  for (std::size_t p = 0; p < all.values.size(); ++p) all.values[p] -= part.values[p];
  return all;
}
// Time of a step with its norms and diagnostics.
inline double sum_of(const PhaseTimes& t) {
  return t[Phase::interior] + t[Phase::exterior] + t[Phase::sweep] + t[Phase::halo] + t[Phase::reduction] +
         t[Phase::diagnostics];
}

template <class T>
class Step {
 public:
  // `level` must outlive the step. The first plan is that of the deck, or the default. Collective: throws
  // CollectiveError where the deck demands an overlap that is not available.
  Step(Level<T>& level, const SweepChoice<T>& sweep) : clock(level.device(), level.compute()), level_(level) {
    const Config& config = level.config();
    const Overlap wanted = config.parallel.overlap;
    const int ranks = level.communicator().size();
    Overlap overlap = overlaps(wanted, level.device().backend(), ranks) ? Overlap::on : Overlap::off;
    if (wanted == Overlap::in_kernel) overlap = ranks > 1 ? wanted : Overlap::off;
    use({sweep, config.solver.halo_width.value_or(sweep.time_block), overlap});
    if (!can_run())
      throw CollectiveError(
          ExitCode::unavailable,
          fmt::format(
              "{}: sweeps cannot store their faces here (that takes kernel tma_pipeline, halo_width 1, "
              "transport peer between all neighbours, a GPU for each rank, whole tiles along x where "
              "x is cut, and no periodic axis that is not cut); use auto",
              config.at("parallel.overlap")));
  }

  Level<T>& level() const { return level_; }

  // Queues some of the sweeps up to sweep `end`: those of one graph, those of one period, or the parts of a
  // time step within which values jump. The last sweep of all covers exactly the subdomain and, unless it is
  // in parts, stores its norm where the result of `norm` is not null, and with `last_alone` has a launch to
  // itself.
  void advance_towards(std::int64_t end, bool last_alone = false, const UpdateNorm& norm = {}) {
    const std::int64_t divided = level_.next_divided(level_.sweeps());
    if (divided == level_.sweeps()) return advance_in_parts();
    if (divided < end) return advance_towards(divided);
    // A launch that returns a norm, or that is alone, is not in the graph.
    if (graph(norm.result || (last_alone && time_block() > 1) ? end - 1 : end)) return;
    const auto count = static_cast<int>(std::min<std::int64_t>(interval_, end - level_.sweeps()));
    const bool last = level_.sweeps() + count == end;
    period(count, last && last_alone, last ? norm : UpdateNorm{});
  }
  // One sweep of the unit weight by this kernel, with a norm where `norm` has a result. The field does not
  // change; before() holds the result of the sweep.
  void probe(const SweepChoice<T>& by, const UpdateNorm& norm) {
    const StepPlan<T> plan = plan_;
    plan_.sweep = by;
    if (plan_.overlap == Overlap::in_kernel) plan_.overlap = Overlap::off;
    level_.begin_probe();
    period(1, true, norm);
    level_.end_probe();
    plan_ = plan;
    invalidate_ghosts();
  }
  void advance(std::int64_t count) {  // `count` sweeps
    for (const std::int64_t end = level_.sweeps() + count; level_.sweeps() < end;) advance_towards(end);
  }

  // Exchanges the current field outside periods, for readers of ghosts other than sweeps.
  void refresh_ghosts() {
    if (!exchanges(level_.sides())) return;
    clock.timed(Phase::halo, [&] { level_.exchange(level_.current()); });
    invalidate_ghosts();
  }

  // How sweeps are executed. All ranks may change the plan together, between steps. Collective.
  const StepPlan<T>& plan() const { return plan_; }
  void use(const StepPlan<T>& plan) {
    if (plan == plan_) return;
    plan_ = plan;
    plan_.graph = plan.graph && !clock.waits;
    const bool exchanged = exchanges(level_.sides());
    if (exchanged) level_.halo().use(plan.halo_width);
    interval_ = time_block() > 1 && !exchanged ? time_block() : plan.halo_width;
    graph_.graph.reset();
    invalidate_ghosts();
  }
  // Can sweeps run by plan()? With the overlap in_kernel they must be able to store their faces. Collective.
  bool can_run() const {
    if (plan_.overlap != Overlap::in_kernel) return true;
    const StencilKernel<T>& entry = kernel();
    const Communicator& ranks = level_.communicator();
    const bool column_above = level_.decomposition().neighbour(ranks.rank(), {1, 0, 0}).has_value();
    const bool mine = !level_.sources_vary() && level_.materials().empty() && level_.halo().serves_sweeps() &&
                      time_block() == 1 && entry.stores_faces &&
                      entry.stores_faces(level_.whole(), column_above, plan_.sweep.tile);
    return ranks.all(mine);
  }

  // Sweeps that are queued as a whole: those of a graph, or of a period.
  std::int64_t unit() const { return plan_.graph ? sweeps_of_a_graph() : interval_; }

  std::int64_t launches(std::int64_t sweeps) const { return launches_of(sweeps, interval_, time_block()); }

  // Queues a part of a period's first launch, for measure_halo_cost(). Does not advance the field.
  void queue_part(StepPart part) {
    clock.restart();
    UpdateNorm norm;
    const PeriodLaunch first =
        launches_of_period(level_.extent(), level_.sides(), interval_, time_block()).front();
    const bool in_kernel = plan_.overlap == Overlap::in_kernel;
    if (in_kernel) fetch_ghosts();
    if (part == StepPart::exchange) return level_.exchange(level_.current());
    if (part == StepPart::both)
      return in_kernel ? sweep_and_store(first, norm) : exchange_and_sweep(first, norm);
    sweep_interior(first, norm);
    sweep_exterior(first, norm);
  }
  // Marks the ghosts of the current field as out of date.
  void invalidate_ghosts() { ghosts_ = Ghosts::absent; }

  // Seconds of this rank's host thread. `sweep`, `interior` and `exterior` include the wait for the device
  // and the update of boundary values that vary in time; `halo` the exchange and the boundary ghosts.
  PhaseClock clock;
  void use_no_graphs() {  // from now on: the clock waits for each phase
    plan_.graph = false;
    graph_.graph.reset();
  }

 private:
  const StencilKernel<T>& kernel() const { return *plan_.sweep.kernel; }
  int time_block() const { return plan_.sweep.time_block; }
  std::int64_t sweeps_of_a_graph() const {
    return isotherm::sweeps_of_a_graph(interval_, time_block(), level_.method().cycle());
  }
  void advance_in_parts() {
    const std::int64_t step = level_.sweeps();
    level_.wait_for_copy(true);  // sweeps of parts are counted from 0
    for (const PartOfStep& part : level_.jumps().parts(level_.time(), level_.dt())) {
      level_.begin_part(part);
      period(1, false, {});
    }
    level_.end_parts(step + 1);
  }
  void period(int count, bool last_alone, const UpdateNorm& norm) {
    const std::vector<PeriodLaunch> all =
        launches_of_period(level_.extent(), level_.sides(), count, time_block(), last_alone);
    for (const PeriodLaunch& each : all)
      launch(each, &each == &all.front(), &each == &all.back() ? norm : UpdateNorm{});
  }
  // Launches the sweeps of a graph, if they end by sweep `until`. False if it launches none, also where the
  // current field is not the one that the graph reads first. A graph contains whole periods: exchanges are
  // the same as without graphs. In each, the halo stream forks from compute() and joins it again.
  bool graph(std::int64_t until) {
    const std::int64_t count = sweeps_of_a_graph();
    if (!plan_.graph || !level_.between_cycles() || level_.sweeps() + count > until) return false;
    level_.wait_for_copy(true);  // its second sweep would overwrite the field
    if (graph_.graph && level_.field().origin != graph_.starts_at) return false;
    if (plan_.overlap == Overlap::in_kernel) fetch_ghosts();  // not in the graph
    if (!graph_.graph)
      level_.record(graph_, [&] {
        for (std::int64_t left = count; left > 0; left -= interval_)
          period(static_cast<int>(std::min<std::int64_t>(interval_, left)), false, {});
      });
    clock.timed(Phase::sweep, [&] { level_.launch(graph_, time_block() == 1); });
    return true;
  }
  void launch(const PeriodLaunch& launch, bool first, UpdateNorm norm) {
    clock.restart();
    level_.wait_for_copy();
    level_.update_values(launch.sweeps);
    clock.lap(Phase::sweep);  // no communication
    if (plan_.overlap == Overlap::in_kernel) {
      sweep_and_store(launch, norm);
    } else if (first) {
      exchange_and_sweep(launch, norm);
    } else {
      fill_boundaries(launch.region);
      queue(launch, launch.region, norm, Phase::sweep);
    }
    level_.sweep_source_boxes(launch.sweeps, launch.region);
    clock.lap(Phase::sweep);
    level_.advance(launch.sweeps);
  }
  SweepPlan plan(const PeriodLaunch& launch) const { return {launch.sweeps, plan_.sweep.tile}; }
  // The part of a period's first launch that this kernel sweeps during the exchange.
  Box interior(const PeriodLaunch& launch) const {
    return interior_of(kernel(), launch.region, launch.interior, plan(launch));
  }
  // Ghosts beyond the boundaries at which the region ends, except those that the kernel computes itself.
  void fill_boundaries(Box region) {
    level_.fill_boundaries(region, kernel().own_boundaries);
    clock.lap(Phase::halo);
  }
  // A step in several regions has one norm: the launch of the first region starts it, the others add to it.
  // The launches run in order, so they share the scratch memory.
  void queue(const PeriodLaunch& launch, Box region, UpdateNorm& norm, Phase part) {
    if (region.empty()) return;
    const TraceRange range(part);
    level_.sweep(kernel(), plan(launch), region, norm);
    norm.accumulate = true;
    clock.lap(part);
  }
  // The first launch of a period in two parts: the interior, swept during the exchange where the run overlaps
  // the two, and the exterior, which needs the exchanged ghosts.
  void sweep_interior(const PeriodLaunch& launch, UpdateNorm& norm) {
    fill_boundaries(launch.available);
    if (plan_.overlap == Overlap::on) queue(launch, interior(launch), norm, Phase::interior);
  }
  void sweep_exterior(const PeriodLaunch& launch, UpdateNorm& norm) {
    if (!(launch.available == launch.region)) fill_boundaries(launch.region);
    clock.lap(Phase::halo);
    if (plan_.overlap != Overlap::on) return queue(launch, launch.region, norm, Phase::sweep);
    const TraceRange range(Phase::exterior);
    level_.sweep_exterior(kernel(), plan(launch), launch.region, interior(launch), norm);
    clock.lap(Phase::exterior);
  }
  void exchange_and_sweep(const PeriodLaunch& launch, UpdateNorm& norm) {
    level_.start_exchange();
    sweep_interior(launch, norm);
    level_.finish_exchange();
    sweep_exterior(launch, norm);
  }
  void fetch_ghosts() {
    if (ghosts_ != Ghosts::absent) return;
    level_.exchange(level_.current());
    level_.halo().of_sweeps().publish_ghosts(level_.current().view(), level_.compute());
    ghosts_ = Ghosts::valid;
  }
  // The kernel itself stores the cells at its faces into the neighbours' ghosts. Exchanges are needed only
  // before the first sweep and after a sweep with a norm, which cannot store faces.
  void sweep_and_store(const PeriodLaunch& launch, const UpdateNorm& norm) {
    fetch_ghosts();
    const bool stores = norm.result == nullptr;
    if (!stores && ghosts_ == Ghosts::pending)
      level_.halo().of_sweeps().unpack_ghosts(level_.current().view(), level_.compute());
    fill_boundaries(launch.region);
    const TraceRange range(Phase::sweep);
    level_.sweep(kernel(), plan(launch), launch.region, norm, stores);
    clock.lap(Phase::sweep);
    ghosts_ = stores ? Ghosts::pending : Ghosts::absent;
  }

  Level<T>& level_;
  StepPlan<T> plan_{};
  int interval_ = 1;
  // Ghosts of the current field where sweeps store faces: valid after an exchange; pending while the last
  // sweeps of the neighbours, which store them, may still run.
  enum class Ghosts { absent, valid, pending } ghosts_ = Ghosts::absent;
  RecordedSweeps<T> graph_;  // sweeps_of_a_graph() sweeps
};

}  // namespace isotherm
