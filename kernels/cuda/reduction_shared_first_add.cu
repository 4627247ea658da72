// Reduction kernel `shared_first_add`: the first level of the tree is taken while loading.
//
// Algebra   as in global_atomic.
// Mapping   two cells per thread, 256 cells apart, so that both reads are coalesced: they are combined in a
//           register before anything is shared. The tree is that of shared_sequential. A second stage
//           combines the blocks, as in shared_interleaved.
// Storage   shared memory: 256 doubles, 2 KB a block. Registers: one value.
// Traffic   each field once, and 8 bytes of partial results for 512 cells.
// Faster    than shared_sequential: half as many blocks to launch and trees to climb for the same cells, no
//           thread is idle in the first level, and each has two loads in flight instead of one.
// Slower    than it need be: the last levels of the tree keep one warp busy and make eight wait at barriers.
#include "kernels/cuda/reduction_variant.hpp"

namespace isotherm::cuda {
namespace {

struct Variant {
  static constexpr const char* name = "shared_first_add: combine_cells";
  static constexpr int cells_per_thread = 2;

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
void reduction_shared_first_add(ReductionKernel<T>& kernel) {
  complete<Variant>(kernel);
}

template void reduction_shared_first_add(ReductionKernel<float>&);
template void reduction_shared_first_add(ReductionKernel<double>&);

}  // namespace isotherm::cuda
