// Reduction row `shared_unroll_full`: the whole tree unrolled.
//
// Algebra   r = join over the cells of the region of part(a - b), in fp64 from the first difference on; join
//           is + or the larger. 0 over no cells.
// Mapping   two cells a thread; the tree of shared_unroll_warp, its block's size a template's argument
//           (shared_tree.hpp). A second stage (join.hpp) joins the blocks' values. No atomics: every run
//           gives the same bits.
// Lives in  shared memory: 256 doubles, 2 KB a block.
// Traffic   as in shared_first_add.
// Faster    than shared_unroll_warp by the loop's counter, comparison and jump in two levels: little, and
//           less on today's GPUs than in the lectures, where instructions were dearer beside memory. What it
//           teaches stays true: what the compiler knows costs nothing at run time.
// Slower    than it need be: a block still lives for 512 cells. Launching it, its place in the region (two
//           divisions a cell), the tree and its barriers are paid for two loads a thread, and two loads are
//           too few to fill the memory's pipe.
#include "kernels/cuda/block_reduction.hpp"
#include "kernels/cuda/shared_tree.hpp"

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
  join_tree<op, block_threads>(values);
  if (me == 0) partials[blockIdx.x] = values[0];
}

struct Rung {
  static constexpr const char* name = "shared_unroll_full: join_cells";
  static constexpr int threads = block_threads;
  static constexpr Index cells_a_block = 2 * threads;
  template <class T, ReductionOp op>
  static constexpr auto kernel() {
    return join_cells<T, op>;
  }
};

}  // namespace

template <class T>
void reduction_shared_unroll_full(ReductionKernel<T>& row) {
  complete<Rung>(row);
}

template void reduction_shared_unroll_full(ReductionKernel<float>&);
template void reduction_shared_unroll_full(ReductionKernel<double>&);

}  // namespace isotherm::cuda
