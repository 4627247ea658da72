// Code that several lectures on a GPU share. A lecture is one file: its kernel, the grid and the thread
// blocks of its launch, its registry entry. For .cu files only.
//
// A lecture calls functions of a few files. kernels/stencil.hpp has the formula stencil_update() and
// SweepArgs; kernels/cuda/launch.hpp has check_launch(), cover() and cell_of_thread();
// kernels/cuda/combine.hpp has the terms of a reduction and their combination; kernels/cuda/cells.hpp has
// cells by number or by segments of rows.
//
// A kernel is launched by kernel<<<grid, block, shared_bytes, stream>>>(...), and check_launch(name) after it
// throws when the launch itself has failed.
#pragma once

#include "kernels/cuda/cells.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/histogram.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"

namespace isotherm::cuda {

// Threads of a block of a reduction. The ladder compares kernels, so all of them have the same block.
inline constexpr int block_threads = 256;

// Reductions: the unrolled tree in shared memory of kernels 07 to 09, with sequential addressing.

// Combines values[0] to values[63] in values[0]; called by all lanes of the block's first warp. No block
// barrier: the other warps have nothing to add any more. But since Volta lanes do not run in lockstep, so
// each level has two steps with a warp barrier after each: all read, then all write. Lanes that are no longer
// in the tree still write values that no lane reads, which is cheaper than a branch.
template <ReductionOp op>
__device__ __forceinline__ void combine_last_warp(double* values) {
  const int me = threadIdx.x;
#pragma unroll
  for (int stride = warp_size; stride > 0; stride /= 2) {
    const double combined = Combine<op>{}(values[me], values[me + stride]);
    __syncwarp();
    values[me] = combined;
    __syncwarp();
  }
}

// Combines all `threads` values in values[0], valid in thread 0. The compiler knows the block's size, so no
// loop remains: each level has its stride as a constant.
template <ReductionOp op, int threads>
__device__ __forceinline__ void combine_tree(double* values) {
  static_assert(threads >= 2 * warp_size && (threads & (threads - 1)) == 0);
  const int me = threadIdx.x;
#pragma unroll
  for (int stride = threads / 2; stride > warp_size; stride /= 2) {
    if (me < stride) values[me] = Combine<op>{}(values[me], values[me + stride]);
    __syncthreads();
  }
  if (me < warp_size) combine_last_warp<op>(values);
}

// Histograms: counts set to zero, and the counts of one block.

inline constexpr int most_slots = Bins::most + 3;

// The 64-bit type that CUDA's atomics accept.
using Count = unsigned long long;
static_assert(sizeof(Count) == sizeof(std::uint64_t));

// Every kernel adds to the counts, so this sets them to zero. Returns them in the type of the atomics.
inline Count* cleared(std::uint64_t* counts, const Bins& bins, Stream stream) {
  const auto bytes = static_cast<std::size_t>(bins.slots()) * sizeof(Count);
  check(cudaMemsetAsync(counts, 0, bytes, native(stream)), "cudaMemsetAsync");
  return reinterpret_cast<Count*>(counts);
}

// A block's counts in shared memory; all its `threads` threads call this. It counts fewer than 2^32 cells.
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

}  // namespace isotherm::cuda
