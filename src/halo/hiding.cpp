#include "halo/hiding.hpp"

#include <algorithm>
#include <vector>

#include "core/statistics.hpp"

namespace isotherm {
namespace {

constexpr double batch_seconds = 0.003;  // of one span: long compared with the cost of its ends
constexpr double budget = 0.2;           // s, of all samples together
constexpr int most_batch_repeats = 16;   // of a batch
constexpr int fewest_samples = 3, most_samples = 15;

int times_in(double span, double seconds, int least, int most) {
  return static_cast<int>(std::clamp<double>(span / std::max(seconds, 1e-9), least, most));
}

}  // namespace

std::optional<double> HaloCost::hidden_share() const {
  if (!(exchange > 0)) return std::nullopt;
  return std::clamp(1 - exposed / exchange, 0.0, 1.0);
}

HaloCost halo_cost(std::span<const StepSeconds> samples) {
  std::vector<double> exchange, exposed;
  for (const StepSeconds& s : samples) {
    exchange.push_back(s.exchange);
    exposed.push_back(s.both - s.sweep);
  }
  return {median(exchange), std::max(median(exposed), 0.0)};
}

HaloCost measure_halo_cost(const Communicator& communicator, Device& device, Stream compute,
                           const std::function<void(StepPart)>& queue, bool as_graphs) {
  Stopwatch watch(device, compute);
  std::vector<Owned<Graph>> graphs;  // by StepPart, of batches; none until they are recorded
  const auto repeat = [&](StepPart part, int times) {
    for (int i = 0; i < times; ++i) queue(part);
  };
  const auto queue_batch = [&](StepPart part, int repeats) {
    if (graphs.empty()) return repeat(part, repeats);
    device.launch(graphs[static_cast<int>(part)].get(), compute);
  };
  // Per repetition, on the slowest rank. The host is ahead of its device, as in a run: queueing is no part
  // of the exchange. The exchange before the start synchronises neighbours.
  const auto seconds = [&](StepPart part, int repeats) {
    communicator.barrier();
    if (device.backend() != Backend::host) queue_batch(StepPart::sweep, repeats);
    queue(StepPart::exchange);
    const double mine = watch.seconds([&] { queue_batch(part, repeats); });
    return communicator.all_reduce(mine, ReduceOp::max) / repeats;
  };
  seconds(StepPart::both, 1);  // loads the kernels
  const double once = seconds(StepPart::both, 1);
  const int repeats = times_in(batch_seconds, once, 1, most_batch_repeats);
  const double sample = 6 * once * repeats;  // three spans, and as many sweeps before them
  if (as_graphs)
    for (const StepPart part : {StepPart::exchange, StepPart::sweep, StepPart::both}) {
      device.begin_recording(compute);
      repeat(part, repeats);
      graphs.emplace_back(device, device.end_recording(compute));
    }
  std::vector<StepSeconds> samples(times_in(budget, sample, fewest_samples, most_samples));
  for (StepSeconds& s : samples) {
    s.exchange = seconds(StepPart::exchange, repeats);
    s.sweep = seconds(StepPart::sweep, repeats);
    s.both = seconds(StepPart::both, repeats);
  }
  return halo_cost(samples);
}

double measure_seconds(const Communicator& communicator, Device& device, Stream compute,
                       const std::function<void()>& queue) {
  Stopwatch watch(device, compute);
  const auto seconds = [&](int repeats) {
    communicator.barrier();
    const double mine = watch.seconds([&] {
      for (int i = 0; i < repeats; ++i) queue();
    });
    return communicator.all_reduce(mine, ReduceOp::max) / repeats;
  };
  seconds(1);  // loads the kernels
  const int repeats = times_in(batch_seconds, seconds(1), 1, most_batch_repeats);
  std::vector<double> samples(fewest_samples);
  for (double& sample : samples) sample = seconds(repeats);
  return median(samples);
}

}  // namespace isotherm
