// Stands in for the CUDA C++ language and its launches: a kernel is a function, a block's threads are fibers.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cuda_runtime_api.h"

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __CUDA_ARCH_LIST__ 900

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};
// A misaligned access faults here too: the compiler may use aligned moves.
#define EMULATED_VECTOR(name, bytes, ...)         \
  struct [[gnu::may_alias]] alignas(bytes) name { \
    __VA_ARGS__;                                  \
  };
EMULATED_VECTOR(double2, 16, double x, y)
EMULATED_VECTOR(float4, 16, float x, y, z, w)
EMULATED_VECTOR(uint4, 16, unsigned x, y, z, w)
#undef EMULATED_VECTOR

namespace emulation {

struct Thread {
  uint3 thread{}, block{};
  dim3 block_dim, grid_dim;
};
// The thread of the running fiber.
extern Thread current;

// Runs `body` once for every thread of every block.
void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& body);
void* dynamic_shared_memory();

void block_barrier();
void warp_barrier(unsigned mask);
// Lets other threads of the block run; for loops that poll.
void yield();
// Returns the value of lane `from` of `mask`, or the own value if the mask lacks that lane.
std::uint64_t exchange(unsigned mask, std::uint64_t mine, int from);
int lane();

template <class T>
T exchange_value(unsigned mask, T value, int from) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = exchange(mask, bits, from);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace emulation

inline const uint3 &threadIdx = emulation::current.thread, &blockIdx = emulation::current.block;
inline const dim3 &blockDim = emulation::current.block_dim, &gridDim = emulation::current.grid_dim;

inline void __syncthreads() { emulation::block_barrier(); }
inline void __syncwarp(unsigned mask = 0xffffffffu) { emulation::warp_barrier(mask); }
inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
// Polling loops call it: the awaited store may be another thread's or another process's.
inline void __nanosleep(unsigned) {
  sched_yield();
  emulation::yield();
}
inline int __syncthreads_and(int predicate) {
  static int all;
  __syncthreads();
  all = 1;
  __syncthreads();
  if (!predicate) all = 0;
  __syncthreads();
  return all;  // the next call changes it only when all have returned
}

template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const int base = emulation::lane() / width * width;
  return emulation::exchange_value(mask, value, base + from % width);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int from = emulation::lane() + static_cast<int>(delta), end = (emulation::lane() / width + 1) * width;
  return emulation::exchange_value(mask, value, from < end ? from : emulation::lane());
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int from = emulation::lane() - static_cast<int>(delta), base = emulation::lane() / width * width;
  return emulation::exchange_value(mask, value, from >= base ? from : emulation::lane());
}

inline int __all_sync(unsigned mask, int predicate) {
  int all = predicate != 0;
  for (int distance = 16; distance > 0; distance /= 2)
    all &= emulation::exchange_value(mask, all, emulation::lane() ^ distance);
  return all;
}

inline long long clock64() {  // nanoseconds
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline long long __double_as_longlong(double value) { return std::bit_cast<long long>(value); }
template <class T>
T __ldg(const T* from) {
  return *from;
}

// Fibers take turns only at barriers, so plain reads and writes are atomic.
template <class T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  return std::exchange(*at, static_cast<T>(*at + value));
}
template <class T>
T atomicMin(T* at, std::type_identity_t<T> value) {
  return std::exchange(*at, std::min(*at, value));
}
template <class T>
T atomicMax(T* at, std::type_identity_t<T> value) {
  return std::exchange(*at, std::max(*at, value));
}

using std::max;
using std::min;

template <class T>
cudaError_t cudaMallocManaged(T** pointer, std::size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};

inline bool emulated_launch_is_valid(const cudaLaunchConfig_t& c) {
  const auto within = [](unsigned value, unsigned most) { return value >= 1 && value <= most; };
  return within(c.gridDim.x, 0x7fffffffu) && within(c.gridDim.y, 65535) && within(c.gridDim.z, 65535) &&
         within(c.blockDim.x, 1024) && within(c.blockDim.y, 1024) && within(c.blockDim.z, 64) &&
         c.blockDim.x * c.blockDim.y * c.blockDim.z <= 1024 && c.dynamicSmemBytes <= std::size_t{227} << 10;
}

template <class... Formal, class... Actual>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Formal...),
                               Actual&&... arguments) {
  if (!emulated_launch_is_valid(*config)) return emulation::result(cudaErrorInvalidConfiguration);
  const std::tuple<std::decay_t<Formal>...> values(std::forward<Actual>(arguments)...);
  emulation::queue(config->stream, [=, threads = *config] {
    emulation::run_grid(threads.gridDim, threads.blockDim, threads.dynamicSmemBytes,
                        [&] { std::apply(kernel, values); });
  });
  return cudaSuccess;
}

namespace emulation {
// TranslateLaunches.cmake turns kernel<<<grid, block, shared_bytes, stream>>> into it; (...) follows.
template <class... Formal>
auto launcher(void (*kernel)(Formal...), dim3 grid, dim3 block, std::size_t shared_bytes = 0,
              cudaStream_t stream = nullptr) {
  return [=](auto&&... arguments) {
    const cudaLaunchConfig_t config{grid, block, shared_bytes, stream};
    cudaLaunchKernelEx(&config, kernel, std::forward<decltype(arguments)>(arguments)...);
  };
}
}  // namespace emulation

template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Kernel*) {
  *attributes = {0, 0, 32, 1024};
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int) {
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel*, int threads, std::size_t) {
  *blocks = std::max(1, 2048 / std::max(1, threads));
  return cudaSuccess;
}
