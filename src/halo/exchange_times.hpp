// Where the time of exchanges goes, for who asks: seconds of the host's thread, a phase each.
#pragma once

#include "core/device.hpp"
#include "core/timer.hpp"
#include "core/trace.hpp"

namespace isotherm {

struct ExchangeTimes {
  double pack = 0, wire = 0, unpack = 0;  // s; `wire` holds the wait for the neighbours
};

// Of one transport. Until start() phases are ranges for tools alone, and cost no look at a clock.
class ExchangeClock {
 public:
  // From now on the host waits behind each phase for what that has queued: on a GPU it costs the overlap.
  void start(Device& device) {
    device_ = &device;
    times_ = {};
  }
  const ExchangeTimes& times() const { return times_; }

  template <class Work>
  void measure(Doing doing, double ExchangeTimes::*phase, Stream stream, const Work& work) {
    const TraceRange range(doing);
    if (!device_) return work();
    const Timer timer;
    work();
    device_->synchronize(stream);
    times_.*phase += timer.seconds();
  }

 private:
  Device* device_ = nullptr;
  ExchangeTimes times_;
};

}  // namespace isotherm
