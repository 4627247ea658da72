#include "solver/step.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"

namespace isotherm {

template <class T>
Step<T>::Step(Level<T>& level, const SweepChoice<T>& sweep, SolverTimes& times)
    : level_(level), times_(times) {
  const Config& config = level.config();
  const Overlap wanted = config.parallel.overlap;
  const int ranks = level.communicator().size();
  const bool overlap = wanted != Overlap::in_kernel && overlaps(wanted, level.device().backend(), ranks);
  StepPlan<T> plan{sweep, config.solver.halo_width.value_or(sweep.time_block),
                   overlap ? Overlap::on : Overlap::off};
  use(plan);
  if (wanted != Overlap::in_kernel || ranks == 1) return;
  check_overlap();
  plan.overlap = wanted;
  use(plan);
}

template <class T>
void Step<T>::use(const StepPlan<T>& plan) {
  if (plan == plan_) return;
  plan_ = plan;
  plan_.graph = plan.graph && !times_phases_;
  const bool exchanged = exchanges(level_.sides());
  if (exchanged) level_.halo().use(plan.halo_width);
  interval_ = time_block() > 1 && !exchanged ? time_block() : plan.halo_width;
  graph_.reset();
  forget_ghosts();
}

template <class T>
void Step<T>::time_phases() {
  times_phases_ = true;
  plan_.graph = false;
  graph_.reset();
}

// Ghosts beyond the boundaries at which the region ends, but for those that the kernel computes itself.
template <class T>
void Step<T>::fill_boundaries(Box region) {
  level_.fill_boundaries(kernel(), region);
  settle();
}

// A step in several regions has one norm: the first region's starts it, the others join it. The launches are
// in order, so they share the scratch memory.
template <class T>
void Step<T>::queue(const PeriodLaunch& launch, Box region, UpdateNorm& norm, Phase part) {
  if (region.empty()) return;
  const TraceRange range(part);
  level_.sweep(kernel(), plan(launch), region, norm);
  norm.accumulate = true;
  settle();
}

// What of the first launch of a period this kernel sweeps beside the exchange.
template <class T>
Box Step<T>::interior(const PeriodLaunch& launch) const {
  return interior_of(kernel(), launch.region, launch.interior, plan(launch));
}

// The first launch of a period in two parts: what can be swept beside the exchange, where the run overlaps
// the two, and what has to wait for it.
template <class T>
void Step<T>::sweep_interior(const PeriodLaunch& launch, UpdateNorm& norm, Timer& timer) {
  fill_boundaries(launch.available);
  times_.halo += timer.lap();
  if (plan_.overlap != Overlap::on) return;
  queue(launch, interior(launch), norm, Phase::interior);
  const double seconds = timer.lap();
  times_.sweep += seconds;
  times_.interior += seconds;
}

template <class T>
void Step<T>::sweep_exterior(const PeriodLaunch& launch, UpdateNorm& norm, Timer& timer) {
  if (!(launch.available == launch.region)) fill_boundaries(launch.region);
  times_.halo += timer.lap();
  if (plan_.overlap != Overlap::on) return queue(launch, launch.region, norm, Phase::sweep);
  const TraceRange range(Phase::exterior);
  level_.sweep_exterior(kernel(), plan(launch), launch.region, interior(launch), norm);
  settle();
  const double seconds = timer.lap();
  times_.sweep += seconds;
  times_.exterior += seconds;
}

template <class T>
void Step<T>::exchange_and_sweep(const PeriodLaunch& launch, UpdateNorm& norm, Timer& timer) {
  level_.start_exchange();
  sweep_interior(launch, norm, timer);
  level_.finish_exchange();
  sweep_exterior(launch, norm, timer);
}

template <class T>
void Step<T>::exchange() {
  level_.start_exchange();
  level_.finish_exchange();
}

template <class T>
void Step<T>::refresh_ghosts() {
  if (!exchanges(level_.sides())) return;
  const Timer timer;
  exchange();
  settle();
  forget_ghosts();
  times_.halo += timer.seconds();
}

template <class T>
void Step<T>::bring_ghosts() {
  if (ghosts_ != Ghosts::absent) return;
  exchange();
  level_.halo().hand_ghosts(level_.current().view(), level_.compute());
  ghosts_ = Ghosts::here;
}

// No exchange but the first, and one behind a sweep with a norm, which has no room for stores: the kernel
// itself stores the cells at its faces into the neighbours' ghosts.
template <class T>
void Step<T>::sweep_and_store(const PeriodLaunch& launch, const UpdateNorm& norm, Timer& timer) {
  bring_ghosts();
  const bool stores = norm.result == nullptr;
  if (!stores && ghosts_ == Ghosts::under_way)
    level_.halo().take_ghosts(level_.current().view(), level_.compute());
  fill_boundaries(launch.region);
  times_.halo += timer.lap();
  const TraceRange range(Phase::sweep);
  level_.sweep(kernel(), plan(launch), launch.region, norm, stores);
  settle();
  ghosts_ = stores ? Ghosts::under_way : Ghosts::absent;
}

template <class T>
bool Step<T>::can_store_faces() const {
  const StencilKernel<T>& entry = kernel();
  const Communicator& ranks = level_.communicator();
  const bool column_above = level_.decomposition().neighbour(ranks.rank(), {1, 0, 0}).has_value();
  const bool mine = level_.halo().serves_sweeps() && time_block() == 1 && entry.stores_faces &&
                    entry.stores_faces(level_.whole(), column_above, plan_.sweep.tile);
  return ranks.all_reduce(std::int64_t{mine}, ReduceOp::min) != 0;
}

template <class T>
void Step<T>::check_overlap() const {
  if (can_store_faces()) return;
  throw CollectiveError(
      ExitCode::unavailable,
      fmt::format(
          "{}: sweeps cannot store their faces here (that takes kernel tma_pipeline, halo_width 1, transport "
          "peer "
          "between all neighbours, a GPU for each rank, whole tiles along x where x is cut, and no periodic "
          "axis that is not cut); use auto",
          level_.config().at("parallel.overlap")));
}

template <class T>
void Step<T>::launch(const PeriodLaunch& launch, bool first, UpdateNorm norm) {
  Timer timer;
  level_.wait_for_copy();
  level_.update_boundaries();
  times_.sweep += timer.lap();  // no communication
  if (plan_.overlap == Overlap::in_kernel) {
    sweep_and_store(launch, norm, timer);
  } else if (first) {
    exchange_and_sweep(launch, norm, timer);
  } else {
    fill_boundaries(launch.region);
    times_.halo += timer.lap();
    queue(launch, launch.region, norm, Phase::sweep);
  }
  level_.advance(launch.sweeps);
  times_.sweep += timer.lap();
}

template <class T>
void Step<T>::period(int count, bool last_alone, const UpdateNorm& norm) {
  const std::vector<PeriodLaunch> all =
      launches_of_period(level_.extent(), level_.sides(), count, {time_block(), last_alone});
  for (const PeriodLaunch& each : all)
    launch(each, &each == &all.front(), &each == &all.back() ? norm : UpdateNorm{});
}

// A graph holds whole periods, so that the exchanges of a rank are the same with graphs and without; the
// stream of the halos forks from compute() in each exchange, and combines it again.
template <class T>
bool Step<T>::graph(std::int64_t until) {
  const std::int64_t count = sweeps_of_a_graph();
  if (!plan_.graph || !level_.between_cycles() || level_.sweeps() + count > until) return false;
  level_.wait_for_copy(true);  // its second sweep would overwrite the field
  const T* const here = level_.field().origin;
  if (graph_ && here != graph_starts_at_) return false;
  if (plan_.overlap == Overlap::in_kernel) bring_ghosts();  // not in the graph
  Device& device = level_.device();
  if (!graph_) {
    const std::int64_t before = level_.sweeps();
    device.begin_recording(level_.compute());
    while (level_.sweeps() < before + count)
      period(static_cast<int>(std::min<std::int64_t>(interval_, before + count - level_.sweeps())), false,
             {});
    graph_.emplace(device, device.end_recording(level_.compute()));
    graph_starts_at_ = here;
    level_.count_from(before);  // nothing was done yet
  }
  const TraceRange range(Phase::graph);
  const Timer timer;
  device.launch(graph_->get(), level_.compute());
  level_.advance_by_graph(count, time_block() == 1);
  times_.sweep += timer.seconds();
  return true;
}

template <class T>
void Step<T>::probe(const SweepChoice<T>& by, const UpdateNorm& norm) {
  const StepPlan<T> plan = plan_;
  plan_.sweep = by;
  if (plan_.overlap == Overlap::in_kernel) plan_.overlap = Overlap::off;
  level_.begin_probe(norm.result != nullptr);
  period(1, true, norm);
  level_.end_probe();
  plan_ = plan;
  forget_ghosts();
}

template <class T>
void Step<T>::advance(std::int64_t count) {
  for (const std::int64_t end = level_.sweeps() + count; level_.sweeps() < end;)
    if (!graph(end))
      period(static_cast<int>(std::min<std::int64_t>(interval_, end - level_.sweeps())), false, {});
}

template <class T>
void Step<T>::queue_part(StepPart part) {
  Timer timer;
  UpdateNorm norm;
  const PeriodLaunch first =
      launches_of_period(level_.extent(), level_.sides(), interval_, {time_block(), false}).front();
  const bool in_kernel = plan_.overlap == Overlap::in_kernel;
  if (in_kernel) bring_ghosts();
  if (part == StepPart::exchange) return exchange();
  if (part == StepPart::both)
    return in_kernel ? sweep_and_store(first, norm, timer) : exchange_and_sweep(first, norm, timer);
  sweep_interior(first, norm, timer);
  sweep_exterior(first, norm, timer);
}

template <class T>
std::size_t norm_scratch_bytes(Int3 extent, const GhostSides& sides, const SweepChoice<T>& choice) {
  const Box whole{{0, 0, 0}, extent};
  const StencilKernel<T>& kernel = *choice.kernel;
  std::size_t most = kernel.norm_scratch_bytes(whole, choice.tile);
  // The last launch of a period has the norm, also where it is the first.
  for (int sweeps = 1; sweeps <= choice.time_block; ++sweeps) {
    const PeriodLaunch launch = launches_of_period(extent, sides, sweeps, {sweeps}).front();
    const SweepPlan plan{launch.sweeps, choice.tile};
    most = std::max(
        most, split_scratch_bytes(kernel, whole, interior_of(kernel, whole, launch.interior, plan), plan));
  }
  return most;
}

template class Step<float>;
template class Step<double>;
template std::size_t norm_scratch_bytes(Int3, const GhostSides&, const SweepChoice<float>&);
template std::size_t norm_scratch_bytes(Int3, const GhostSides&, const SweepChoice<double>&);

}  // namespace isotherm
