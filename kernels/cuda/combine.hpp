// Shared by the reduction kernels on the GPU: a cell's contribution, and its combination over threads, warps
// and blocks in a fixed order. All in fp64; all four operations start from 0. For .cu files only.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "kernels/cuda/launch.hpp"
#include "kernels/reduction.hpp"

namespace isotherm::cuda {

// d of one cell; `b` null where there is no second field.
template <class T>
__device__ __forceinline__ double difference(const T* a, const T* b) {
  return b ? static_cast<double>(*a) - static_cast<double>(*b) : static_cast<double>(*a);
}

template <ReductionOp op>
__device__ __forceinline__ double part(double d) {
  if constexpr (op == ReductionOp::sum) return d;
  if constexpr (op == ReductionOp::sum_squares) return d * d;
  return fabs(d);  // sum_abs, max_abs
}

template <ReductionOp op>
struct Combine {
  __device__ __forceinline__ double operator()(double a, double b) const {
    if constexpr (op == ReductionOp::max_abs) {
      return a > b || a != a ? a : b;  // NaN if either is NaN; fmax would drop it
    } else {
      return a + b;
    }
  }
};

// Combines the values of all lanes; valid in lane 0.
template <class Combine>
__device__ __forceinline__ double combine_warp(double mine, Combine combine) {
#pragma unroll
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2) {
    mine = combine(mine, __shfl_down_sync(0xffffffffu, mine, lanes));
  }
  return mine;
}

// Combines the values of all threads; valid in thread 0. Call once per kernel, by all threads.
template <int threads, class Combine>
__device__ __forceinline__ double combine_block(double mine, Combine combine) {
  __shared__ double of_warp[threads / warp_size];
  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  mine = combine_warp(mine, combine);
  if (lane == 0) of_warp[warp] = mine;
  __syncthreads();
  if (warp != 0) return mine;
  return combine_warp(lane < threads / warp_size ? of_warp[lane] : 0.0, combine);
}

// The second stage: one or several blocks combine the partial results of all blocks.
struct CombineShape {
  static constexpr int threads = 1024;
  static constexpr Index values_per_block = 8 * threads;  // most for a single block
  static constexpr Index most_blocks = 1024;
};

// Block i stores its result in to[i], or combines it with the value there.
template <ReductionOp op>
__global__ void __launch_bounds__(CombineShape::threads)
    combine_values(const double* values, Index count, double* to, bool accumulate) {
  const Index threads = Index{gridDim.x} * CombineShape::threads;
  double mine = 0;
  for (Index i = Index{blockIdx.x} * CombineShape::threads + threadIdx.x; i < count; i += threads) {
    mine = Combine<op>{}(mine, values[i]);
  }
  mine = combine_block<CombineShape::threads>(mine, Combine<op>{});
  if (threadIdx.x == 0) to[blockIdx.x] = accumulate ? Combine<op>{}(to[blockIdx.x], mine) : mine;
}

// The number of blocks of a first pass, which reduces many values to few; 0 if one block combines them all.
inline Index combining_blocks(Index count) {
  if (count <= CombineShape::values_per_block) return 0;
  return std::min(ceil_div(count, CombineShape::values_per_block), CombineShape::most_blocks);
}

// The bytes of `count` partial results, followed by those of the second stage.
inline std::size_t partials_bytes(Index count) {
  return static_cast<std::size_t>(count + combining_blocks(count)) * sizeof(double);
}

// Combines `count` partial results into *result; 0 if there are none. A kernel that stores one partial result
// per some hundred cells stores too many for one block: a single SM that reads megabytes would take longer
// than the kernel itself.
template <ReductionOp op>
void combine_partials(double* partials, Index count, double* result, Stream stream) {
  const Index blocks = combining_blocks(count);
  if (blocks > 0) {
    launch("join_values", combine_values<op>, {static_cast<unsigned>(blocks), CombineShape::threads}, stream,
           partials, count, partials + count, false);
    partials += count;
    count = blocks;
  }
  launch("join_values", combine_values<op>, {1, CombineShape::threads}, stream, partials, count, result,
         false);
}

}  // namespace isotherm::cuda
