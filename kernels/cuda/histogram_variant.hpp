// What the histogram kernels on the GPU share: counts set to zero, a block's own counts, and the launch of
// kernels with one thread per cell. For .cu files only.
#pragma once

#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/histogram.hpp"

namespace isotherm::cuda {

inline constexpr int most_slots = Bins::most + 3;

// CUDA's atomics know this type of 64 bits.
using Count = unsigned long long;
static_assert(sizeof(Count) == sizeof(std::uint64_t));

namespace {

__global__ void clear_counts(Count* counts, int slots) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < slots) counts[i] = 0;
}

}  // namespace

// Every row adds to the counts: they start from zero. Returns them in the type of the atomics.
inline Count* cleared(std::uint64_t* counts, const Bins& bins, Stream stream) {
  constexpr unsigned threads = 256;
  const int slots = bins.slots();
  Count* const these = reinterpret_cast<Count*>(counts);
  launch("clear_counts", clear_counts, {static_cast<unsigned>(ceil_div(slots, threads)), threads}, stream,
         these, slots);
  return these;
}

// A block's counts in shared memory, by all its `threads` threads. A block counts fewer than 2^32 cells.
template <int threads>
__device__ __forceinline__ void clear_block(unsigned* own, int slots) {
  const int thread = static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
  for (int i = thread; i < slots; i += threads) own[i] = 0;
  __syncthreads();
}
template <int threads>
__device__ __forceinline__ void add_block(const unsigned* own, int slots, Count* counts) {
  __syncthreads();
  const int thread = static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
  for (int i = thread; i < slots; i += threads) {
    if (own[i] != 0) atomicAdd(&counts[i], Count{own[i]});
  }
}

// Of the kernels of one thread per cell. Full whatever the box: a block's threads may have more to share than
// its cells.
struct CountingBlock {
  static constexpr int x = 32, y = 8, z = 1;
  static constexpr int threads = x * y * z;
};

// `name`: of the launch.
template <class T>
void count_by_cell(const char* name, void (*kernel)(FieldView<const T>, Int3 first, Int3 hi, Bins, Count*),
                   const HistogramArgs<T>& args, Stream stream) {
  Count* const counts = cleared(args.counts, args.bins, stream);
  const dim3 block(CountingBlock::x, CountingBlock::y, CountingBlock::z);
  cover(args.region, block, [&](dim3 grid, Int3 first) {
    launch(name, kernel, {grid, block}, stream, args.field, first, args.region.hi, args.bins, counts);
  });
}

}  // namespace isotherm::cuda
