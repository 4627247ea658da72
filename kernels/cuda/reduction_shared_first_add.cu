// Reduction row `shared_first_add`: the first level of the tree is taken while loading.
//
// Algebra   r = join over the cells of the region of part(a - b), in fp64 from the first difference on; join
//           is + or the larger. 0 over no cells.
// Mapping   two cells a thread, 256 cells apart, so that both reads are coalesced: they are joined in a
//           register before anything is shared. The tree is that of shared_sequential. A second stage
//           (join.hpp) joins the blocks' values. No atomics: every run gives the same bits.
// Lives in  shared memory: 256 doubles, 2 KB a block. Registers: one value.
// Traffic   each field once, and 8 bytes of partial results for 512 cells.
// Faster    than shared_sequential: half as many blocks to launch and trees to climb for the same cells, no
//           thread is idle in the first level, and each has two loads in flight instead of one.
// Slower    than it need be: the last levels of the tree keep one warp busy and make eight wait at barriers.
#include "kernels/cuda/block_reduction.hpp"

namespace isotherm::cuda {
namespace {

// As in the lectures; the ladder compares rungs, so all of them have the same block.
constexpr int block_threads = 256;

template <class T, ReductionOp op>
__global__ void __launch_bounds__(block_threads)
    join_cells(PartOfCell<T, op> part_of_cell, Index cells, Index first, double* partials) {
  __shared__ double values[block_threads];
  const int me = threadIdx.x;
  const Index cell = first + Index{blockIdx.x} * (2 * block_threads) + me;
  double mine = cell < cells ? part_of_cell(cell) : 0.0;
  if (cell + block_threads < cells) mine = Join<op>{}(mine, part_of_cell(cell + block_threads));
  values[me] = mine;
  __syncthreads();
  for (int stride = static_cast<int>(blockDim.x) / 2; stride > 0; stride /= 2) {
    if (me < stride) values[me] = Join<op>{}(values[me], values[me + stride]);
    __syncthreads();
  }
  if (me == 0) partials[blockIdx.x] = values[0];
}

struct Rung {
  static constexpr const char* name = "shared_first_add: join_cells";
  static constexpr int threads = block_threads;
  static constexpr Index cells_a_block = 2 * threads;
  template <class T, ReductionOp op>
  static constexpr auto kernel() {
    return join_cells<T, op>;
  }
};

}  // namespace

template <class T>
void reduction_shared_first_add(ReductionKernel<T>& row) {
  complete<Rung>(row);
}

template void reduction_shared_first_add(ReductionKernel<float>&);
template void reduction_shared_first_add(ReductionKernel<double>&);

}  // namespace isotherm::cuda
