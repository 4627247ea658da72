#include "solver/step.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"

namespace isotherm {

template <class T>
Step<T>::Step(Level<T>& level, const SweepChoice<T>& sweep) : level_(level) {
  const Config& config = level.config();
  const Overlap wanted = config.parallel.overlap;
  const int ranks = level.communicator().size();
  const bool overlap = wanted != Overlap::in_kernel && overlaps(wanted, level.device().backend(), ranks);
  StepPlan<T> plan{sweep, config.solver.halo_width.value_or(sweep.time_block),
                   overlap ? Overlap::on : Overlap::off};
  use(plan);
  if (wanted != Overlap::in_kernel || ranks == 1) return;
  if (!can_store_faces())
    throw CollectiveError(
        ExitCode::unavailable,
        fmt::format("{}: sweeps cannot store their faces here (that takes kernel tma_pipeline, halo_width 1, "
                    "transport peer between all neighbours, a GPU for each rank, whole tiles along x where "
                    "x is cut, and no periodic axis that is not cut); use auto",
                    config.at("parallel.overlap")));
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
  graph_.graph.reset();
  forget_ghosts();
}

// A step in several regions has one norm: the first region's starts it, the others join it. The launches are
// in order, so they share the scratch memory.
template <class T>
void Step<T>::queue(const PeriodLaunch& launch, Box region, UpdateNorm& norm, Phase part) {
  if (region.empty()) return;
  const TraceRange range(part);
  level_.sweep(kernel(), plan(launch), region, norm);
  norm.accumulate = true;
  lap(part);
}

// The first launch of a period in two parts: what can be swept beside the exchange, where the run overlaps
// the two, and what has to wait for it.
template <class T>
void Step<T>::sweep_interior(const PeriodLaunch& launch, UpdateNorm& norm) {
  fill_boundaries(launch.available);
  if (plan_.overlap == Overlap::on) queue(launch, interior(launch), norm, Phase::interior);
}

template <class T>
void Step<T>::sweep_exterior(const PeriodLaunch& launch, UpdateNorm& norm) {
  if (!(launch.available == launch.region)) fill_boundaries(launch.region);
  lap(Phase::halo);
  if (plan_.overlap != Overlap::on) return queue(launch, launch.region, norm, Phase::sweep);
  const TraceRange range(Phase::exterior);
  level_.sweep_exterior(kernel(), plan(launch), launch.region, interior(launch), norm);
  lap(Phase::exterior);
}

template <class T>
void Step<T>::fetch_ghosts() {
  if (ghosts_ != Ghosts::absent) return;
  exchange();
  level_.halo().publish_ghosts(level_.current().view(), level_.compute());
  ghosts_ = Ghosts::valid;
}

// No exchange but the first, and one behind a sweep with a norm, which has no room for stores: the kernel
// itself stores the cells at its faces into the neighbours' ghosts.
template <class T>
void Step<T>::sweep_and_store(const PeriodLaunch& launch, const UpdateNorm& norm) {
  fetch_ghosts();
  const bool stores = norm.result == nullptr;
  if (!stores && ghosts_ == Ghosts::pending)
    level_.halo().unpack_ghosts(level_.current().view(), level_.compute());
  fill_boundaries(launch.region);
  const TraceRange range(Phase::sweep);
  level_.sweep(kernel(), plan(launch), launch.region, norm, stores);
  lap(Phase::sweep);
  ghosts_ = stores ? Ghosts::pending : Ghosts::absent;
}

template <class T>
bool Step<T>::can_store_faces() const {
  const StencilKernel<T>& entry = kernel();
  const Communicator& ranks = level_.communicator();
  const bool column_above = level_.decomposition().neighbour(ranks.rank(), {1, 0, 0}).has_value();
  const bool mine = !level_.sources_vary() && level_.materials().empty() && level_.halo().serves_sweeps() &&
                    time_block() == 1 && entry.stores_faces &&
                    entry.stores_faces(level_.whole(), column_above, plan_.sweep.tile);
  return ranks.all_reduce(std::int64_t{mine}, ReduceOp::min) != 0;
}

template <class T>
void Step<T>::launch(const PeriodLaunch& launch, bool first, UpdateNorm norm) {
  timer_ = Timer();
  level_.wait_for_copy();
  level_.update_values(launch.sweeps);
  lap(Phase::sweep);  // no communication
  if (plan_.overlap == Overlap::in_kernel) {
    sweep_and_store(launch, norm);
  } else if (first) {
    exchange_and_sweep(launch, norm);
  } else {
    fill_boundaries(launch.region);
    queue(launch, launch.region, norm, Phase::sweep);
  }
  level_.sweep_source_boxes(launch.sweeps, launch.region);
  lap(Phase::sweep);
  level_.advance(launch.sweeps);
}

template <class T>
void Step<T>::period(int count, bool last_alone, const UpdateNorm& norm) {
  const std::vector<PeriodLaunch> all =
      launches_of_period(level_.extent(), level_.sides(), count, {time_block(), last_alone});
  for (const PeriodLaunch& each : all)
    launch(each, &each == &all.front(), &each == &all.back() ? norm : UpdateNorm{});
}

template <class T>
void Step<T>::advance_towards(std::int64_t end, bool last_alone, const UpdateNorm& norm) {
  // A launch that returns a norm is not in the graph, nor is one that is alone.
  if (graph(norm.result || (last_alone && time_block() > 1) ? end - 1 : end)) return;
  const auto count = static_cast<int>(std::min<std::int64_t>(interval_, end - level_.sweeps()));
  const bool last = level_.sweeps() + count == end;
  period(count, last && last_alone, last ? norm : UpdateNorm{});
}

// The sweeps of a graph, if they end by sweep `until`. False where nothing was done: also where the other
// field is the current one. A graph holds whole periods, so that the exchanges of a rank are the same with
// graphs and without; the stream of the halos forks from compute() in each exchange, and combines it again.
template <class T>
bool Step<T>::graph(std::int64_t until) {
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
  timed(Phase::sweep, [&] { level_.launch(graph_, time_block() == 1); });
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
void Step<T>::queue_part(StepPart part) {
  timer_ = Timer();
  UpdateNorm norm;
  const PeriodLaunch first =
      launches_of_period(level_.extent(), level_.sides(), interval_, {time_block(), false}).front();
  const bool in_kernel = plan_.overlap == Overlap::in_kernel;
  if (in_kernel) fetch_ghosts();
  if (part == StepPart::exchange) return exchange();
  if (part == StepPart::both)
    return in_kernel ? sweep_and_store(first, norm) : exchange_and_sweep(first, norm);
  sweep_interior(first, norm);
  sweep_exterior(first, norm);
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
