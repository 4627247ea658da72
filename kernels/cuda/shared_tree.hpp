// The tree of the upper shared-memory rungs: sequential addressing, its last six levels by one warp. For .cu
// files only.
#pragma once

#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/reduction_operators.hpp"

namespace isotherm::cuda {

// By the block's first warp, all its lanes: values[0] becomes the join of values[0] to values[63]. No block
// barrier: the other warps have nothing to say any more. But lanes do not march in step since Volta, so each
// level is two steps with a barrier of the warp behind each: all read, then all write. Lanes that the tree
// has dropped go on and write what nobody reads, which is cheaper than a branch.
template <ReductionOp op>
__device__ __forceinline__ void join_last_warp(double* values) {
  const int me = threadIdx.x;
#pragma unroll
  for (int stride = warp_size; stride > 0; stride /= 2) {
    const double joined = Join<op>{}(values[me], values[me + stride]);
    __syncwarp();
    values[me] = joined;
    __syncwarp();
  }
}

// values[0] becomes the join of all `threads` values, valid in thread 0. The block's size is known to the
// compiler, so the loop is none: each level has its stride as a constant.
template <ReductionOp op, int threads>
__device__ __forceinline__ void join_tree(double* values) {
  static_assert(threads >= 2 * warp_size && (threads & (threads - 1)) == 0);
  const int me = threadIdx.x;
#pragma unroll
  for (int stride = threads / 2; stride > warp_size; stride /= 2) {
    if (me < stride) values[me] = Join<op>{}(values[me], values[me + stride]);
    __syncthreads();
  }
  if (me < warp_size) join_last_warp<op>(values);
}

}  // namespace isotherm::cuda
