// Reduction kernel `shared_unroll_full`: the whole tree unrolled.
//
// Algebra   as in global_atomic.
// Mapping   two cells per thread; the tree of shared_unroll_warp, its block's size a template's argument
//           (reduction_variant.hpp). A second stage combines the blocks, as in shared_interleaved.
// Storage   shared memory: 256 doubles, 2 KB a block.
// Traffic   as in shared_first_add.
// Faster    than shared_unroll_warp by the loop's counter, comparison and jump in two levels: little, and
//           less on today's GPUs than in the lectures, where instructions were dearer beside memory. What it
//           teaches stays true: what the compiler knows costs nothing at run time.
// Slower    than it need be: a block still lives for 512 cells. Launching it, its place in the region (two
//           divisions a cell), the tree and its barriers are paid for two loads a thread, and two loads are
//           too few to fill the memory's pipe.
#include "kernels/cuda/reduction_variant.hpp"

namespace isotherm::cuda {
namespace {

struct Variant {
  static constexpr const char* name = "shared_unroll_full: combine_cells";
  static constexpr int cells_per_thread = 2;

  template <ReductionOp op>
  __device__ static __forceinline__ void join(double* values) {
    combine_tree<op, block_threads>(values);
  }
};

}  // namespace

template <class T>
void reduction_shared_unroll_full(ReductionKernel<T>& kernel) {
  complete<Variant>(kernel);
}

template void reduction_shared_unroll_full(ReductionKernel<float>&);
template void reduction_shared_unroll_full(ReductionKernel<double>&);

}  // namespace isotherm::cuda
