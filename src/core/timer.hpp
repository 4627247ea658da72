// Wall-clock seconds of one thread, from a clock that never jumps.
#pragma once

#include <chrono>

namespace isotherm {

class Timer {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  // Seconds from the start of another to the start of this one.
  double since(const Timer& earlier) const {
    return std::chrono::duration<double>(start_ - earlier.start_).count();
  }
  // Seconds since the last lap or the start.
  double lap() {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - start_).count();
    start_ = now;
    return seconds;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace isotherm
