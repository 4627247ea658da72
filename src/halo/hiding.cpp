#include "halo/hiding.hpp"

#include <algorithm>
#include <vector>

#include "core/statistics.hpp"

namespace isotherm {
namespace {

constexpr double batch_seconds = 0.003;  // of one span: long against what its ends cost
constexpr double budget = 0.2;           // s, of all
constexpr int most_batch_repeats = 16;   // of a batch
constexpr int fewest_samples = 3, most_samples = 15;

class Batches {
 public:
  Batches(const Communicator& communicator, Device& device, Stream compute,
          const std::function<void(StepPart)>& queue)
      : communicator_(communicator),
        device_(device),
        compute_(compute),
        queue_(queue),
        watch_(device, compute) {}

  // From here on batches are of so many, and graphs.
  void record(int repeats) {
    for (const StepPart part : {StepPart::exchange, StepPart::sweep, StepPart::both}) {
      device_.begin_recording(compute_);
      repeat(part, repeats);
      graphs_.emplace_back(device_, device_.end_recording(compute_));
    }
  }

  // Seconds of one, on the slowest rank. In a run the host is ahead of its device, so here it gets ahead
  // too: what it takes to queue would be taken for a part of the exchange. The exchange before the start
  // brings neighbours to it together.
  double seconds(StepPart part, int repeats) {
    communicator_.barrier();
    if (device_.backend() != Backend::host) queue_batch(StepPart::sweep, repeats);
    queue_(StepPart::exchange);
    const double mine = watch_.seconds([&] { queue_batch(part, repeats); });
    return communicator_.all_reduce(mine, ReduceOp::max) / repeats;
  }

 private:
  void repeat(StepPart part, int times) {
    for (int i = 0; i < times; ++i) queue_(part);
  }
  void queue_batch(StepPart part, int repeats) {
    if (graphs_.empty()) return repeat(part, repeats);
    device_.launch(graphs_[static_cast<std::size_t>(part)].get(), compute_);
  }

  const Communicator& communicator_;
  Device& device_;
  Stream compute_;
  const std::function<void(StepPart)>& queue_;
  Stopwatch watch_;
  std::vector<Owned<Graph>> graphs_;  // by StepPart
};

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
  Batches batches(communicator, device, compute, queue);
  batches.seconds(StepPart::both, 1);  // loads the kernels
  const double once = batches.seconds(StepPart::both, 1);
  const int repeats = times_in(batch_seconds, once, 1, most_batch_repeats);
  const double sample = 6 * once * repeats;  // three spans, and as many sweeps before them
  if (as_graphs) batches.record(repeats);
  std::vector<StepSeconds> samples(
      static_cast<std::size_t>(times_in(budget, sample, fewest_samples, most_samples)));
  for (StepSeconds& s : samples) {
    s.exchange = batches.seconds(StepPart::exchange, repeats);
    s.sweep = batches.seconds(StepPart::sweep, repeats);
    s.both = batches.seconds(StepPart::both, repeats);
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
