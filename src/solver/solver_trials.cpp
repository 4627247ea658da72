// What a solver finds out by its own steps before the first of the run: whether graphs pay where halos are
// among the sweeps, and what of the halos the sweeps hide.
#include <algorithm>

#include "solver/solver.hpp"

namespace isotherm {
namespace {

constexpr double sample = 2e-3;  // s: long against what a launch and a wait cost
constexpr int samples = 3;       // of each way; the best counts, as disturbances only add
// s, of a sweep beside which the launches of a step, some ten of some us, are nothing.
constexpr double long_sweep = 2e-3;

}  // namespace

// Leaves a field that nobody painted, and nothing else: the number of sweeps is even, so that each field is
// where it was.
template <class T>
std::optional<GraphTrial> Solver<T>::try_graph() {
  const std::int64_t count = sweeps_of_a_graph(depth());
  // Of a sweep, on the slowest rank: all decide by the same figures.
  const auto seconds = [&](bool as_graph, int times) {
    communicator_.barrier();
    const Timer timer;
    for (int i = 0; i < times; ++i) {
      if (as_graph && sweep_by_graph(sweeps_ + count)) continue;
      for (const std::int64_t end = sweeps_ + count; sweeps_ < end;) period(depth(), false);
    }
    synchronize();
    return communicator_.all_reduce(timer.seconds(), ReduceOp::max) / static_cast<double>(times * count);
  };
  const auto best = [&](bool as_graph) {
    seconds(as_graph, 1);  // loads the kernels, or records
    double least = seconds(as_graph, 1);
    const double times = sample / (least * static_cast<double>(count));
    for (int i = 0; i < samples && least < long_sweep; ++i)
      least = std::min(least, seconds(as_graph, static_cast<int>(std::clamp(times, 1.0, 20.0))));
    return least;
  };
  std::optional<GraphTrial> trial;
  if (const double launches = best(false); launches < long_sweep) trial = GraphTrial{launches, best(true)};
  rows_.graph = trial && trial->graph < worth_a_graph * trial->launches;
  if (!rows_.graph) graph_.reset();
  sweeps_ = 0;
  times_ = {};
  return trial;
}

// Leaves the current field as it is, but for ghosts, and in the other what the first sweep will put there.
template <class T>
HaloCost Solver<T>::measure_halo_cost() {
  const PeriodSweep& first = period_.back();
  const auto queue = [&](StepPart part) {
    Timer timer;
    UpdateNorm norm;
    if (part == StepPart::both) return exchange_and_sweep(first, norm, timer);
    if (part == StepPart::exchange) {
      halo_.start(current_.view(), compute_, halo_stream_);
      return halo_.finish(current_.view(), compute_, halo_stream_);
    }
    sweep_at_hand(first, norm, timer);
    sweep_rest(first, norm, timer);
  };
  const HaloCost cost = isotherm::measure_halo_cost(communicator_, device_, compute_, queue, rows_.graph);
  times_ = {};
  return cost;
}

template std::optional<GraphTrial> Solver<float>::try_graph();
template std::optional<GraphTrial> Solver<double>::try_graph();
template HaloCost Solver<float>::measure_halo_cost();
template HaloCost Solver<double>::measure_halo_cost();

}  // namespace isotherm
