// What a solver finds out by its own steps before the first of the run: whether they are best made beside the
// exchanges, in which policy, and as graphs, and what of the halos the sweeps hide.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "solver/solver.hpp"

namespace isotherm {
namespace {

constexpr double sample = 2e-3;       // s: long against what a launch and a wait cost
constexpr double step_sample = 8e-3;  // s, of a way to make a step: some sweeps more, that a clock settles
constexpr int samples = 3;            // of each way, at least
// s, of a sweep beside which the launches of a step, some ten of some us, are nothing.
constexpr double long_sweep = 2e-3;
// Of the fastest step: a way that costs so much is not tried with further choices.
constexpr double far = 1.1;
constexpr double never = 1e30;  // s

}  // namespace

// Of a sweep, on the slowest rank: all decide by the same figures.
template <class T>
double Solver<T>::trial_seconds(bool as_graph, std::int64_t count, int times) {
  communicator_.barrier();
  const Timer timer;
  for (int i = 0; i < times; ++i) {
    if (as_graph && sweep_by_graph(sweeps_ + count)) continue;
    for (const std::int64_t end = sweeps_ + count; sweeps_ < end;) period(depth_, false);
  }
  synchronize();
  return communicator_.all_reduce(timer.seconds(), ReduceOp::max) / static_cast<double>(times * count);
}

// A period is as long as a launch, where nothing is exchanged.
template <class T>
void Solver<T>::take_sweep(const SweepChoice<T>& choice) {
  rows_.sweep = choice;
  depth_ = period_of(config_, sides_, fused());
}

// An exchange beside a sweep costs the sweep more than its own time where it upsets the order in which blocks
// come to what they share, and a policy that is best alone may be the one that suffers most: no figure of one
// rank tells. And a pace that memory holds over the planes of a trial it may not hold over those of a block,
// so one rank tries as well. Leaves a field that nobody painted, and
// nothing else: the number of launches is even, so that each field is where it was.
template <class T>
void Solver<T>::try_steps() {
  // The median: what memory cannot always give has good samples and bad ones, and a run has both.
  const auto typical = [&] {
    const std::int64_t count = even_periods(1, depth_, fused());
    trial_seconds(false, count, 1);  // loads the kernels
    std::vector<double> seconds{trial_seconds(false, count, 1)};
    const double step = seconds.front() * static_cast<double>(count);
    const int times = static_cast<int>(std::clamp(step_sample / step, 1.0, 50.0));
    for (int i = 0; i < samples && step < 5 * step_sample; ++i)
      seconds.push_back(trial_seconds(false, count, times));
    std::sort(seconds.begin(), seconds.end());
    return seconds[(seconds.size() - 1) / 2];
  };
  std::vector<SweepChoice<T>> choices = rows_.close;
  choices.insert(choices.begin(), rows_.sweep);
  std::vector<Overlap> ways = {overlap_};
  if (rows_.try_overlap) ways = {Overlap::on, Overlap::off, Overlap::in_sweep};
  if (choices.size() * ways.size() == 1) return;
  double best = never;
  std::map<Overlap, double> best_of_way;
  std::pair<SweepChoice<T>, Overlap> fastest{rows_.sweep, overlap_};
  for (const SweepChoice<T>& choice : choices) {
    take_sweep(choice);
    for (const Overlap overlap : ways) {
      if (overlap == Overlap::in_sweep && !sweeps_store()) continue;
      const auto of_way = best_of_way.try_emplace(overlap, never).first;
      if (of_way->second < never && of_way->second > far * best) continue;
      overlap_ = overlap;
      ghosts_ = Ghosts::absent;
      const double seconds = typical();
      step_trials_.push_back({choice.row->name, choice.row->policies[static_cast<std::size_t>(choice.policy)],
                              choice.depth, overlap, seconds});
      of_way->second = std::min(of_way->second, seconds);
      if (seconds >= best) continue;
      best = seconds;
      fastest = {choice, overlap};
    }
  }
  take_sweep(fastest.first);
  overlap_ = fastest.second;
  sweeps_ = 0;
  times_ = {};
}

// Leaves what try_steps() leaves.
template <class T>
std::optional<GraphTrial> Solver<T>::try_graph() {
  const std::int64_t count = sweeps_of_a_graph();
  const auto best = [&](bool as_graph) {
    trial_seconds(as_graph, count, 1);  // loads the kernels, or records
    double least = trial_seconds(as_graph, count, 1);
    const double times = sample / (least * static_cast<double>(count));
    for (int i = 0; i < samples && least < long_sweep; ++i)
      least = std::min(least, trial_seconds(as_graph, count, static_cast<int>(std::clamp(times, 1.0, 20.0))));
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
  const PeriodLaunch first = launches(depth_, false).front();
  const bool in_sweep = overlap_ == Overlap::in_sweep;
  ghosts_ = Ghosts::absent;
  if (in_sweep) bring_ghosts();
  const auto queue = [&](StepPart part) {
    Timer timer;
    UpdateNorm norm;
    if (part == StepPart::exchange) return exchange();
    if (part == StepPart::both)
      return in_sweep ? sweep_and_store(first, norm, timer) : exchange_and_sweep(first, norm, timer);
    sweep_at_hand(first, norm, timer);
    sweep_rest(first, norm, timer);
  };
  const HaloCost cost = isotherm::measure_halo_cost(communicator_, device_, compute_, queue, rows_.graph);
  times_ = {};
  return cost;
}

template double Solver<float>::trial_seconds(bool, std::int64_t, int);
template double Solver<double>::trial_seconds(bool, std::int64_t, int);
template void Solver<float>::take_sweep(const SweepChoice<float>&);
template void Solver<double>::take_sweep(const SweepChoice<double>&);
template void Solver<float>::try_steps();
template void Solver<double>::try_steps();
template std::optional<GraphTrial> Solver<float>::try_graph();
template std::optional<GraphTrial> Solver<double>::try_graph();
template HaloCost Solver<float>::measure_halo_cost();
template HaloCost Solver<double>::measure_halo_cost();

}  // namespace isotherm
