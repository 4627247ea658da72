// Throttle of thread blocks that walk along z. For .cu files only.
//
// The cells that a thread block reads at the edges of its tile are in L2 if the neighbouring blocks have read
// them shortly before. But multiprocessors get different shares of the bandwidth: some tens of planes later
// L2 has evicted the neighbours' lines, and they are read from memory again, a quarter more in all for a tile
// of 64 cells. The throttle keeps blocks together: none requests its n-th plane before n times the time of a
// plane at a bandwidth that the memory can sustain. A block that is behind its schedule is not delayed until
// it has caught up. docs/tuning-log has the measurements.
#pragma once

#include <algorithm>

#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {

// Peak memory bandwidth of the current device, in bytes per cycle of its multiprocessors, from memory clock
// and bus width, with two transfers per clock. A copy reaches some 84 percent of it.
inline double peak_bytes_per_cycle() {
  const double transfers = 2.0 * attribute_of_current_device(cudaDevAttrMemoryClockRate);
  const double width = attribute_of_current_device(cudaDevAttrGlobalMemoryBusWidth) / 8.0;
  return transfers * width / std::max(attribute_of_current_device(cudaDevAttrClockRate), 1);
}

// The cycles between two planes of a thread block. Blocks that do not fit on the device at once run in waves.
// The last wave may have fewer blocks, and each then gets a larger share of the bandwidth.
struct Schedule {
  unsigned cycles = 0, last_cycles = 0;  // 0: no throttle
  unsigned first_of_last = 0;            // first block of the last wave

  // For `blocks` thread blocks of `planes` planes each, of which the device holds `slots` at once, that move
  // `bytes` in all at `percent` of the peak. No throttle for percent 0 and for fields that fit in L2.
  static Schedule of(double bytes, Index blocks, Index planes, Index slots, int percent) {
    static const double peak = peak_bytes_per_cycle();  // one device per process
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

// When a thread block may request its planes; used by the thread that requests. Consecutive blocks start a
// quarter of a plane's time apart, so that the memory has requests at all times.
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

// A throttle for kernels without a free register: a fixed number of cycles between planes. It is stored in
// shared memory; one thread uses it.
struct SharedThrottle {
  long long due;

  __device__ __forceinline__ void begin() { due = clock64(); }
  // Waits until the next plane may be requested, in any column. cycles = 0: no throttle.
  __device__ __forceinline__ void wait(unsigned cycles) {
    if (cycles == 0) return;
    const long long mine = due;
    while (clock64() < mine) {
    }
    due = mine + cycles;
  }
};

}  // namespace isotherm::cuda
