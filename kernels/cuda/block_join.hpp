// Joining one value of each thread to one of the block, by shuffles: registers within a warp, one shared
// value a warp between them. The order is fixed. For .cu files only.
#pragma once

#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {

// The join of all lanes, valid in lane 0. `join` takes two values to one.
template <class Join>
__device__ __forceinline__ double join_warp(double mine, Join join) {
#pragma unroll
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2) {
    mine = join(mine, __shfl_down_sync(0xffffffffu, mine, lanes));
  }
  return mine;
}

// The join of all threads, valid in thread 0; 0 joins as nothing. To be called once a kernel, by all threads
// of a block of whole warps.
template <int threads, class Join>
__device__ __forceinline__ double join_block(double mine, int thread, Join join) {
  __shared__ double of_warp[threads / warp_size];
  const int lane = thread % warp_size, warp = thread / warp_size;
  mine = join_warp(mine, join);
  if (lane == 0) of_warp[warp] = mine;
  __syncthreads();
  if (warp != 0) return mine;
  return join_warp(lane < threads / warp_size ? of_warp[lane] : 0.0, join);
}

}  // namespace isotherm::cuda
