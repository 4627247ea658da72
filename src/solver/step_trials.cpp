#include "solver/step_trials.hpp"

#include <algorithm>
#include <map>
#include <utility>

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

// Seconds of a sweep.
template <class T>
double trial_seconds(Level<T>& level, Step<T>& step, bool as_graph, std::int64_t count, int times) {
  step.use_graph(as_graph);
  level.communicator().barrier();
  const Timer timer;
  for (int i = 0; i < times; ++i) {
    if (step.graph(level.sweeps() + count)) continue;
    for (const std::int64_t end = level.sweeps() + count; level.sweeps() < end;) step.period();
  }
  level.synchronize();
  return level.communicator().all_reduce(timer.seconds(), ReduceOp::max) / static_cast<double>(times * count);
}

// The median: what memory cannot always give has good samples and bad ones, and a run has both.
template <class T>
double typical_seconds(Level<T>& level, Step<T>& step) {
  const std::int64_t count = even_periods(1, step.depth(), step.fused());
  trial_seconds(level, step, false, count, 1);  // loads the kernels
  std::vector<double> seconds{trial_seconds(level, step, false, count, 1)};
  const double one = seconds.front() * static_cast<double>(count);
  const int times = static_cast<int>(std::clamp(step_sample / one, 1.0, 50.0));
  for (int i = 0; i < samples && one < 5 * step_sample; ++i)
    seconds.push_back(trial_seconds(level, step, false, count, times));
  std::sort(seconds.begin(), seconds.end());
  return seconds[(seconds.size() - 1) / 2];
}

}  // namespace

// An exchange beside a sweep costs the sweep more than its own time where it upsets the order in which thread
// blocks read what they share, and a tile that is best alone may be the one that suffers most: no figure of
// one rank tells. And a throttle that memory holds over the planes of a trial it may not hold over those of a
// subdomain, so one rank tries as well. The number of launches is even, so that each field is where it was.
template <class T>
std::vector<StepTrial> try_steps(Level<T>& level, Step<T>& step, const SolverRows<T>& rows) {
  std::vector<SweepChoice<T>> choices = rows.close;
  choices.insert(choices.begin(), step.sweep());
  std::vector<Overlap> ways = {step.overlap()};
  if (rows.try_overlap) ways = {Overlap::on, Overlap::off, Overlap::in_sweep};
  if (choices.size() * ways.size() == 1) return {};
  std::vector<StepTrial> trials;
  double best = never;
  std::map<Overlap, double> best_of_way;
  std::pair<SweepChoice<T>, Overlap> fastest{step.sweep(), step.overlap()};
  for (const SweepChoice<T>& choice : choices) {
    step.use(choice);
    for (const Overlap overlap : ways) {
      if (overlap == Overlap::in_sweep && !step.can_store_faces()) continue;
      const auto of_way = best_of_way.try_emplace(overlap, never).first;
      if (of_way->second < never && of_way->second > far * best) continue;
      step.use(overlap);
      const double seconds = typical_seconds(level, step);
      trials.push_back({choice.row->name, choice.row->policies[static_cast<std::size_t>(choice.policy)],
                        choice.depth, overlap, seconds});
      of_way->second = std::min(of_way->second, seconds);
      if (seconds >= best) continue;
      best = seconds;
      fastest = {choice, overlap};
    }
  }
  step.use(fastest.first);
  step.use(fastest.second);
  return trials;
}

template <class T>
std::optional<GraphTrial> try_graph(Level<T>& level, Step<T>& step) {
  const std::int64_t count = step.sweeps_of_a_graph();
  const auto best = [&](bool as_graph) {
    trial_seconds(level, step, as_graph, count, 1);  // loads the kernels, or records
    double least = trial_seconds(level, step, as_graph, count, 1);
    const double times = sample / (least * static_cast<double>(count));
    for (int i = 0; i < samples && least < long_sweep; ++i)
      least = std::min(
          least, trial_seconds(level, step, as_graph, count, static_cast<int>(std::clamp(times, 1.0, 20.0))));
    return least;
  };
  std::optional<GraphTrial> trial;
  if (const double launches = best(false); launches < long_sweep) trial = GraphTrial{launches, best(true)};
  step.use_graph(trial && trial->graph < worth_a_graph * trial->launches);
  return trial;
}

template <class T>
HaloCost measure_halo_cost(Level<T>& level, Step<T>& step) {
  step.forget_ghosts();
  return measure_halo_cost(
      level.communicator(), level.device(), level.compute(), [&](StepPart part) { step.queue_part(part); },
      step.uses_graph());
}

template std::vector<StepTrial> try_steps(Level<float>&, Step<float>&, const SolverRows<float>&);
template std::vector<StepTrial> try_steps(Level<double>&, Step<double>&, const SolverRows<double>&);
template std::optional<GraphTrial> try_graph(Level<float>&, Step<float>&);
template std::optional<GraphTrial> try_graph(Level<double>&, Step<double>&);
template HaloCost measure_halo_cost(Level<float>&, Step<float>&);
template HaloCost measure_halo_cost(Level<double>&, Step<double>&);

}  // namespace isotherm
