// Reduction kernel `shared_interleaved`: the textbook's tree in shared memory, and the first of six
// versions of it.
//
// Algebra   as in global_atomic.
// Mapping   one thread per cell, by the cell's number (cells.hpp): coalesced. A block puts its 256 parts
//           into shared memory and combines neighbours, then neighbours of neighbours: in the level of stride
//           s the threads whose number divides by 2 s work; a second stage (join.hpp) combines the blocks'
//           values. No atomics: every run gives the same bits.
// Storage   shared memory: 256 doubles, 2 KB a block. Registers: a handful.
// Traffic   each field once, and 8 bytes of partial results for 256 cells: less than 1 % more.
// Slower    than it need be for three reasons, which the next kernels take away one by one. Here it is
//           divergence: with tid % (2 s) == 0 the working threads are spread over all warps, so that every
//           warp issues every level with half, a quarter, ... one of its 32 lanes; and the remainder by a
//           number that is no constant costs more than the addition it guards.
#include "kernels/cuda/reduction_variant.hpp"

namespace isotherm::cuda {
namespace {

struct Variant {
  static constexpr const char* name = "shared_interleaved: combine_cells";
  static constexpr int cells_per_thread = 1;

  template <ReductionOp op>
  __device__ static __forceinline__ void join(double* values) {
    const int me = threadIdx.x;
    for (int stride = 1; stride < static_cast<int>(blockDim.x); stride *= 2) {
      if (me % (2 * stride) == 0) values[me] = Combine<op>{}(values[me], values[me + stride]);
      __syncthreads();
    }
  }
};

}  // namespace

template <class T>
void reduction_shared_interleaved(ReductionKernel<T>& kernel) {
  complete<Variant>(kernel);
}

template void reduction_shared_interleaved(ReductionKernel<float>&);
template void reduction_shared_interleaved(ReductionKernel<double>&);

}  // namespace isotherm::cuda
