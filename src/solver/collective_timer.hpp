// What a piece of work costs where all ranks do it at the same time, as a run does: the seconds of the
// slowest.
#pragma once

#include <algorithm>

#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/timer.hpp"

namespace isotherm {

// Everything here is collective, and every rank returns the same: decisions by these numbers are taken alike.
class CollectiveTimer {
 public:
  // All three outlive it. `work` is queued on `stream`, or done at once.
  CollectiveTimer(const Communicator& communicator, Device& device, Stream stream)
      : communicator_(communicator), device_(device), stream_(stream) {}

  // Seconds of one call. The best of some samples, as disturbances only add; after the first where it is
  // hopeless against `best_so_far`.
  template <class Work>
  double seconds(const Work& work, double best_so_far = 1e30) const {
    once(work, 1);  // loads the kernel, and the caches
    double best = once(work, 1);
    const int calls = static_cast<int>(std::clamp(sample / best, 1.0, 200.0));
    for (int i = 0; i < samples && best < hopeless * best_so_far; ++i)
      best = std::min(best, once(work, calls));
    return best;
  }

 private:
  static constexpr double sample = 2e-3;  // s, of one: long against what a launch and a wait cost
  static constexpr int samples = 3;
  static constexpr double hopeless = 3;  // times the best so far: such a candidate gets no second sample

  template <class Work>
  double once(const Work& work, int calls) const {
    communicator_.barrier();
    const Timer timer;
    for (int i = 0; i < calls; ++i) work();
    device_.synchronize(stream_);
    return communicator_.all_reduce(timer.seconds(), ReduceOp::max) / calls;
  }

  const Communicator& communicator_;
  Device& device_;
  Stream stream_;
};

}  // namespace isotherm
