// Flags by which GPUs wait for each other, released and acquired at system scope. For .cu files only.
#pragma once

#include <cuda/atomic>

#include "kernels/peer_copy.hpp"

namespace isotherm::cuda {

template <class Value>
using SystemAtomic = ::cuda::atomic_ref<Value, ::cuda::thread_scope_system>;

__device__ __forceinline__ void publish(std::uint64_t& flag, std::uint64_t number) {
  SystemAtomic<std::uint64_t>(flag).store(number, ::cuda::std::memory_order_release);
}

// Waits until the flag is at least `number`; false if the wait is abandoned. A waiting thread polls the flag
// and sleeps; at times it also polls `abandoned`.
__device__ __forceinline__ bool await(std::uint64_t& flag, std::uint64_t number, std::uint32_t& abandoned) {
  constexpr unsigned sleep_ns = 32, polls = 1024;
  SystemAtomic<std::uint64_t> peers(flag);
  SystemAtomic<std::uint32_t> given_up(abandoned);
  for (unsigned poll = 1;; ++poll) {
    if (peers.load(::cuda::std::memory_order_acquire) >= number) return true;
    if (poll % polls == 0 && given_up.load(::cuda::std::memory_order_relaxed) != 0) return false;
    __nanosleep(sleep_ns);
  }
}

}  // namespace isotherm::cuda
