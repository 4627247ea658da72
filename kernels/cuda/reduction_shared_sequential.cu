// Reduction kernel `shared_sequential`: the tree from its other end, free of bank conflicts.
//
// Algebra   as in global_atomic. Other pairs than in the kernels below, so other last digits.
// Mapping   one thread per cell. In the level of stride s, 128 first, thread i < s combines the values i and
//           i + s: working threads are neighbours, and so is what they read. A second stage combines the
//           blocks, as in shared_interleaved.
// Storage   shared memory: 256 doubles, 2 KB a block.
// Traffic   as in shared_interleaved.
// Faster    than shared_strided: 32 lanes read 32 neighbours, all banks evenly.
// Slower    than it need be: half of the threads do nothing after they have loaded their cell, not even in
//           the first level, and a block of 256 threads lives for 256 cells.
#include "kernels/cuda/reduction_variant.hpp"

namespace isotherm::cuda {
namespace {

struct Variant {
  static constexpr const char* name = "shared_sequential: combine_cells";
  static constexpr int cells_per_thread = 1;

  template <ReductionOp op>
  __device__ static __forceinline__ void join(double* values) {
    const int me = threadIdx.x;
    for (int stride = static_cast<int>(blockDim.x) / 2; stride > 0; stride /= 2) {
      if (me < stride) values[me] = Combine<op>{}(values[me], values[me + stride]);
      __syncthreads();
    }
  }
};

}  // namespace

template <class T>
void reduction_shared_sequential(ReductionKernel<T>& kernel) {
  complete<Variant>(kernel);
}

template void reduction_shared_sequential(ReductionKernel<float>&);
template void reduction_shared_sequential(ReductionKernel<double>&);

}  // namespace isotherm::cuda
