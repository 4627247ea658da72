// Reduction kernel `shared_strided`: the same tree, worked by neighbouring threads.
//
// Algebra   as in global_atomic.
// Mapping   as in shared_interleaved, but thread i combines the values 2 s i and 2 s i + s: the same pairs,
//           and the working threads are the first ones. Whole warps fall idle and are skipped; a warp
//           diverges in the last five levels only. A second stage combines the blocks, as in
//           shared_interleaved.
// Storage   shared memory: 256 doubles, 2 KB a block.
// Traffic   as in shared_interleaved.
// Faster    than shared_interleaved: in the level of stride s, 256 / (64 s) warps issue instead of 8, and no
//           remainder is taken.
// Slower    than it need be: bank conflicts. Shared memory has 32 banks of 4 bytes, and the 32 lanes of a
//           warp read doubles that lie 2 s apart: 16 s bytes. With s = 1 every bank is asked twice as often
//           as in a run of neighbours, with s = 8 and more all lanes ask the same two banks, and wait for
//           each other.
#include "kernels/cuda/reduction_variant.hpp"

namespace isotherm::cuda {
namespace {

struct Variant {
  static constexpr const char* name = "shared_strided: combine_cells";
  static constexpr int cells_per_thread = 1;

  template <ReductionOp op>
  __device__ static __forceinline__ void join(double* values) {
    const int me = threadIdx.x;
    for (int stride = 1; stride < static_cast<int>(blockDim.x); stride *= 2) {
      const int left = 2 * stride * me;
      if (left < static_cast<int>(blockDim.x))
        values[left] = Combine<op>{}(values[left], values[left + stride]);
      __syncthreads();
    }
  }
};

}  // namespace

template <class T>
void reduction_shared_strided(ReductionKernel<T>& kernel) {
  complete<Variant>(kernel);
}

template void reduction_shared_strided(ReductionKernel<float>&);
template void reduction_shared_strided(ReductionKernel<double>&);

}  // namespace isotherm::cuda
