// The pace of blocks that walk along z. For .cu files only.
//
// What a block reads at the edges of its tile is in L2 if the blocks beside it were there a moment ago. But
// multiprocessors get different shares of the bandwidth: some tens of planes later the neighbours' lines have
// left the cache and are read from memory again, a quarter more in all for a tile of 64 cells. Blocks that
// keep to a schedule stay together: none asks for its n-th plane before n times the time of a plane at a
// bandwidth that the memory can give. A block that is late is not delayed until it has caught up.
// docs/tuning-log has the measurements.
#pragma once

#include <algorithm>

#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {

// Bytes that the current device's memory could move in a cycle of its multiprocessors by its clock and its
// width, two transfers a clock; a copy reaches some 84 percent of it.
inline double peak_bytes_a_cycle() {
  const double transfers = 2.0 * attribute_of_current_device(cudaDevAttrMemoryClockRate);
  const double width = attribute_of_current_device(cudaDevAttrGlobalMemoryBusWidth) / 8.0;
  return transfers * width / std::max(attribute_of_current_device(cudaDevAttrClockRate), 1);
}

// The cycles between two planes of a block. Blocks that the device does not hold at once come in waves; the
// last wave may have fewer, each of which may then take a larger share.
struct Schedule {
  unsigned cycles = 0, last_cycles = 0;  // 0: none
  unsigned first_of_last = 0;            // block of the last wave

  // Where `blocks` of so many planes each, of which the device holds `slots` at once, move `bytes` in all, at
  // so many percent of the peak. None for percent 0 and for fields that L2 holds.
  static Schedule of(double bytes, Index blocks, Index planes, Index slots, int percent) {
    static const double peak = peak_bytes_a_cycle();  // one device a process
    static const double cache = attribute_of_current_device(cudaDevAttrL2CacheSize);
    if (percent == 0 || peak <= 0 || bytes <= cache) return {};
    const double each = bytes / static_cast<double>(blocks * planes) / (peak * percent / 100);
    const auto cycles = [&](Index together) {
      return static_cast<unsigned>(std::min(each * static_cast<double>(together), 1e6));
    };
    const Index last = (blocks - 1) % slots + 1;
    return {cycles(std::min(blocks, slots)), cycles(last), static_cast<unsigned>(blocks - last)};
  }
};

// When a block may ask for its planes; used by the thread that asks. Blocks beside each other ask a part of
// a plane's time apart, so that the memory has requests at all times.
class Throttle {
 public:
  __device__ __forceinline__ explicit Throttle(const Schedule& schedule) {
    constexpr unsigned phases = 4;
    cycles_ = blockIdx.x < schedule.first_of_last ? schedule.cycles : schedule.last_cycles;
    start_ = clock64() + cycles_ * (blockIdx.x % phases) / phases;
  }
  __device__ __forceinline__ void wait_for_plane(int n) const {
    const long long due = start_ + static_cast<long long>(cycles_) * n;
    while (clock64() < due) {
    }
  }

 private:
  unsigned cycles_;
  long long start_;
};

// The same for kernels that have no register to spare, by plain cycles between planes. In shared memory, and
// used by one thread.
struct SharedPace {
  long long due;

  __device__ __forceinline__ void begin() { due = clock64(); }
  // For the next plane, of whatever column. `cycles`: 0: no throttle.
  __device__ __forceinline__ void wait(unsigned cycles) {
    if (cycles == 0) return;
    const long long mine = due;
    while (clock64() < mine) {
    }
    due = mine + cycles;
  }
};

}  // namespace isotherm::cuda
