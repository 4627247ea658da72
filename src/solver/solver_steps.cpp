// The order of a step: walls, exchange, sweep, and which of them beside which.
#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "kernels/face_copy.hpp"
#include "solver/rows.hpp"
#include "solver/solver.hpp"

namespace isotherm {

// Where phases are timed, a phase ends when the device is done with it.
template <class T>
void Solver<T>::settle(Stream stream) {
  if (times_phases_) device_.synchronize(stream);
}

// What stands beyond the walls at which the region ends, but for those that the row applies itself.
template <class T>
void Solver<T>::fill_walls(Box region) {
  const TraceRange range(Phase::walls);
  const Walls<T> ghosts = walls_in_ghosts(*rows_.sweep.row, walls_.walls());
  face_copy<T>(device_.backend()).fill_walls(current_.view(), ghosts, region, compute_);
  settle(compute_);
}

// A step in several regions has one norm: the first region's starts it, the others join it. The launches are
// in order, so they share the scratch memory.
template <class T>
SweepArgs<T> Solver<T>::sweep_args(Box region, const UpdateNorm& norm) {
  const FieldView<const T> source = source_ ? std::as_const(*source_).view() : FieldView<const T>{};
  return {std::as_const(current_).view(), next_.view(), region, coefficients_, walls_.walls(), source, norm};
}

template <class T>
void Solver<T>::queue(const PeriodLaunch& launch, Box region, UpdateNorm& norm, Phase part) {
  if (region.empty()) return;
  const TraceRange range(part);
  rows_.sweep.row->launch(sweep_args(region, norm), plan(launch), compute_);
  norm.accumulate = true;
  settle(compute_);
}

// What of the first launch of a period this row sweeps beside the exchange.
template <class T>
Box Solver<T>::interior(const PeriodLaunch& launch) const {
  return interior_of(*rows_.sweep.row, launch.region, launch.interior, plan(launch));
}

// The first sweep of a period in two parts: what can be done beside the exchange, where the run overlaps the
// two, and what has to wait for it.
template <class T>
void Solver<T>::sweep_at_hand(const PeriodLaunch& launch, UpdateNorm& norm, Timer& timer) {
  fill_walls(launch.at_hand);
  times_.halo += timer.lap();
  if (overlap_ != Overlap::on) return;
  queue(launch, interior(launch), norm, Phase::interior);
  const double seconds = timer.lap();
  times_.sweep += seconds;
  times_.interior += seconds;
}

template <class T>
void Solver<T>::sweep_rest(const PeriodLaunch& launch, UpdateNorm& norm, Timer& timer) {
  if (!(launch.at_hand == launch.region)) fill_walls(launch.region);
  times_.halo += timer.lap();
  if (overlap_ != Overlap::on) return queue(launch, launch.region, norm, Phase::sweep);
  const TraceRange range(Phase::shells);
  isotherm::sweep_rest(*rows_.sweep.row, sweep_args(launch.region, norm), interior(launch), plan(launch),
                       compute_);
  settle(compute_);
  const double seconds = timer.lap();
  times_.sweep += seconds;
  times_.shells += seconds;
}

template <class T>
void Solver<T>::exchange_and_sweep(const PeriodLaunch& launch, UpdateNorm& norm, Timer& timer) {
  const FieldView<T> u = current_.view();
  halo_.start(u, compute_, halo_stream_);
  sweep_at_hand(launch, norm, timer);
  halo_.finish(u, compute_, halo_stream_);
  sweep_rest(launch, norm, timer);
}

template <class T>
void Solver<T>::exchange() {
  halo_.start(current_.view(), compute_, halo_stream_);
  halo_.finish(current_.view(), compute_, halo_stream_);
}

template <class T>
void Solver<T>::bring_ghosts() {
  if (ghosts_ != Ghosts::absent) return;
  exchange();
  halo_.hand_ghosts(current_.view(), compute_);
  ghosts_ = Ghosts::here;
}

// No exchange but the first, and one behind a sweep with a norm, which has no room for stores: what others
// leave at their faces they store into the neighbours' ghosts themselves.
template <class T>
void Solver<T>::sweep_and_store(const PeriodLaunch& launch, UpdateNorm& norm, Timer& timer) {
  bring_ghosts();
  const bool stores = norm.result == nullptr;
  if (!stores && ghosts_ == Ghosts::under_way) halo_.take_ghosts(current_.view(), compute_);
  fill_walls(launch.region);
  times_.halo += timer.lap();
  const TraceRange range(Phase::sweep);
  SweepArgs<T> args = sweep_args(launch.region, norm);
  if (stores) args.stores = halo_.stores(current_.view(), next_.view(), compute_);
  rows_.sweep.row->launch(args, plan(launch), compute_);
  settle(compute_);
  ghosts_ = stores ? Ghosts::under_way : Ghosts::absent;
}

// Can the row do so, on all ranks?
template <class T>
bool Solver<T>::sweeps_store() const {
  const StencilKernel<T>& row = *rows_.sweep.row;
  const bool column_above = decomposition_.neighbour(communicator_.rank(), {1, 0, 0}).has_value();
  const bool mine = halo_.serves_sweeps() && fused() == 1 && row.stores_faces &&
                    row.stores_faces({{0, 0, 0}, block_.extent()}, column_above, rows_.sweep.policy);
  return communicator_.all_reduce(std::int64_t{mine}, ReduceOp::min) != 0;
}

template <class T>
Overlap Solver<T>::settle_overlap() {
  const Overlap wanted = config_.parallel.overlap;
  if (wanted == Overlap::automatic)
    return overlaps(wanted, device_.backend(), communicator_.size()) ? Overlap::on : Overlap::off;
  if (wanted != Overlap::in_sweep) return wanted;
  if (communicator_.size() == 1) return Overlap::off;
  if (sweeps_store()) return wanted;
  throw CollectiveError(
      ExitCode::unavailable,
      fmt::format(
          "{}: sweeps cannot store their faces here (that takes kernel bulk_pipeline, depth 1, transport "
          "peer "
          "between all neighbours, a GPU for each rank, whole tiles along x where x is cut, and no periodic "
          "axis that is not cut); use auto",
          config_.at("parallel.overlap")));
}

template <class T>
void Solver<T>::step(const PeriodLaunch& launch, bool first, bool with_norm) {
  Timer timer;
  UpdateNorm norm;
  if (with_norm) norm = check_.norm_of_sweep();
  if (copying_ && sweeps_ > copying_->sweep) wait_for_copy();
  if (walls_.vary_in_time()) {
    walls_.update(time(), compute_);
    times_.sweep += timer.lap();  // no communication
  }
  if (overlap_ == Overlap::in_sweep) {
    sweep_and_store(launch, norm, timer);
  } else if (first) {
    exchange_and_sweep(launch, norm, timer);
  } else {
    fill_walls(launch.region);
    times_.halo += timer.lap();
    queue(launch, launch.region, norm, Phase::sweep);
  }
  std::swap(current_, next_);
  sweeps_ += launch.sweeps;
  has_before_ = launch.sweeps == 1;
  times_.sweep += timer.lap();
}

// `looked_at`: the last of them ends what sweep() was asked for.
template <class T>
std::vector<PeriodLaunch> Solver<T>::launches(int count, bool looked_at) const {
  return launches_of_period(block_.extent(), sides_, count,
                            {fused(), looked_at && (last_alone_ || end_alone_)});
}

// One exchange and `count` sweeps, of which the last covers the block and may return its norm.
template <class T>
void Solver<T>::period(int count, bool looked_at) {
  const bool norm_wanted = looked_at && rows_.reduction->fused;
  const std::vector<PeriodLaunch> all = launches(count, looked_at);
  for (const PeriodLaunch& launch : all)
    step(launch, &launch == &all.front(), norm_wanted && &launch == &all.back());
}

template <class T>
void Solver<T>::sweep(std::int64_t count, bool last_alone) {
  const std::int64_t end = sweeps_ + count;
  end_alone_ = last_alone;
  // A launch that returns a norm is not in the graph, nor is one that stands alone.
  const bool own_end = rows_.reduction->fused || ((last_alone_ || end_alone_) && fused() > 1);
  while (sweeps_ < end) {
    poll_residual();
    if (rows_.graph && sweep_by_graph(own_end ? end - 1 : end)) continue;
    const auto length = static_cast<int>(std::min<std::int64_t>(depth_, end - sweeps_));
    period(length, sweeps_ + length == end);
  }
}

// As many sweeps as a graph holds, where they end by `until`; false where they do not, or where the other
// field is the current one. It holds whole periods, so that the exchanges of a rank are the same with graphs
// and without; the stream of the halos forks from `compute_` in each exchange, and joins it again.
template <class T>
bool Solver<T>::sweep_by_graph(std::int64_t until) {
  const std::int64_t count = sweeps_of_a_graph();
  if (sweeps_ + count > until) return false;
  if (copying_) wait_for_copy();  // its second sweep would overwrite the field
  const T* const here = current_.view().origin;
  if (graph_ && here != graph_starts_at_) return false;
  if (overlap_ == Overlap::in_sweep) bring_ghosts();  // not in the graph
  if (!graph_) {
    const std::int64_t before = sweeps_;
    device_.begin_recording(compute_);
    while (sweeps_ < before + count) period(depth_, false);
    graph_.emplace(device_, device_.end_recording(compute_));
    graph_starts_at_ = here;
    sweeps_ = before;  // nothing was done yet
  }
  const TraceRange range(Phase::graph);
  Timer timer;
  device_.launch(graph_->get(), compute_);
  sweeps_ += count;
  has_before_ = fused() == 1;
  times_.sweep += timer.seconds();
  return true;
}

template void Solver<float>::fill_walls(Box);
template void Solver<double>::fill_walls(Box);
template SweepArgs<float> Solver<float>::sweep_args(Box, const UpdateNorm&);
template SweepArgs<double> Solver<double>::sweep_args(Box, const UpdateNorm&);
template void Solver<float>::queue(const PeriodLaunch&, Box, UpdateNorm&, Phase);
template void Solver<double>::queue(const PeriodLaunch&, Box, UpdateNorm&, Phase);
template void Solver<float>::settle(Stream);
template void Solver<double>::settle(Stream);
template Box Solver<float>::interior(const PeriodLaunch&) const;
template Box Solver<double>::interior(const PeriodLaunch&) const;
template void Solver<float>::sweep_at_hand(const PeriodLaunch&, UpdateNorm&, Timer&);
template void Solver<double>::sweep_at_hand(const PeriodLaunch&, UpdateNorm&, Timer&);
template void Solver<float>::sweep_rest(const PeriodLaunch&, UpdateNorm&, Timer&);
template void Solver<double>::sweep_rest(const PeriodLaunch&, UpdateNorm&, Timer&);
template void Solver<float>::exchange_and_sweep(const PeriodLaunch&, UpdateNorm&, Timer&);
template void Solver<double>::exchange_and_sweep(const PeriodLaunch&, UpdateNorm&, Timer&);
template void Solver<float>::bring_ghosts();
template void Solver<double>::bring_ghosts();
template void Solver<float>::exchange();
template void Solver<double>::exchange();
template void Solver<float>::sweep_and_store(const PeriodLaunch&, UpdateNorm&, Timer&);
template void Solver<double>::sweep_and_store(const PeriodLaunch&, UpdateNorm&, Timer&);
template bool Solver<float>::sweeps_store() const;
template bool Solver<double>::sweeps_store() const;
template Overlap Solver<float>::settle_overlap();
template Overlap Solver<double>::settle_overlap();
template void Solver<float>::step(const PeriodLaunch&, bool, bool);
template void Solver<double>::step(const PeriodLaunch&, bool, bool);
template std::vector<PeriodLaunch> Solver<float>::launches(int, bool) const;
template std::vector<PeriodLaunch> Solver<double>::launches(int, bool) const;
template void Solver<float>::period(int, bool);
template void Solver<double>::period(int, bool);
template void Solver<float>::sweep(std::int64_t, bool);
template void Solver<double>::sweep(std::int64_t, bool);
template bool Solver<float>::sweep_by_graph(std::int64_t);
template bool Solver<double>::sweep_by_graph(std::int64_t);

}  // namespace isotherm
