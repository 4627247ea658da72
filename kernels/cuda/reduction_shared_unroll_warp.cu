// Reduction kernel `shared_unroll_warp`: the last six levels of the tree without barriers of the block.
//
// Algebra   as in global_atomic.
// Mapping   two cells per thread, the tree of shared_first_add down to 64 values; those one warp combines by
//           itself (reduction_variant.hpp), with barriers of the warp. A second stage combines the blocks, as
//           in shared_interleaved.
// Storage   shared memory: 256 doubles, 2 KB a block.
// Traffic   as in shared_first_add.
// Faster    than shared_first_add: six of eight barriers are gone, and with them the seven warps that came to
//           each only to leave again; the unrolled levels have neither loop counter nor branch. Lectures from
//           before Volta leave the warp's barriers out as well, for a warp marched in step then: today that
//           is a race.
// Slower    than it need be: the loop above still counts and compares at run time.
#include "kernels/cuda/reduction_variant.hpp"

namespace isotherm::cuda {
namespace {

struct Variant {
  static constexpr const char* name = "shared_unroll_warp: combine_cells";
  static constexpr int cells_per_thread = 2;

  template <ReductionOp op>
  __device__ static __forceinline__ void join(double* values) {
    const int me = threadIdx.x;
    for (int stride = static_cast<int>(blockDim.x) / 2; stride > warp_size; stride /= 2) {
      if (me < stride) values[me] = Combine<op>{}(values[me], values[me + stride]);
      __syncthreads();
    }
    if (me < warp_size) combine_last_warp<op>(values);
  }
};

}  // namespace

template <class T>
void reduction_shared_unroll_warp(ReductionKernel<T>& kernel) {
  complete<Variant>(kernel);
}

template void reduction_shared_unroll_warp(ReductionKernel<float>&);
template void reduction_shared_unroll_warp(ReductionKernel<double>&);

}  // namespace isotherm::cuda
