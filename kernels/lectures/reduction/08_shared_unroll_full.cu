// Reduction kernel `shared_unroll_full`: the whole tree unrolled.
//
// Algebra   as in global_atomic.
// Mapping   two cells per thread; the tree of shared_unroll_warp; the block's size is a template argument
//           (lecture.hpp). A second stage combines the blocks, as in shared_interleaved.
// Storage   shared memory: 256 doubles, 2 KB per block.
// Traffic   as in shared_first_add.
// Faster    than shared_unroll_warp: two levels need no loop counter, comparison and jump. The gain is small,
//           and smaller on today's GPUs than on older ones, where instructions cost more compared with
//           memory. The lesson remains: a number known at compile time costs nothing at run time.
// Slower    than necessary: a block still reduces only 512 cells. Its launch, the indices (two divisions per
//           cell), the tree and its barriers serve two loads per thread, and two loads in flight are too few
//           for the memory.
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

constexpr Index cells_per_block = 2 * block_threads;

// Block i combines its share of the cells from cell `first` on into partials[i].
template <class T, ReductionOp op>
__global__ void __launch_bounds__(block_threads)
    combine_cells(CellTerm<T, op> cell_term, Index cells, Index first, double* partials) {
  __shared__ double values[block_threads];
  const int me = threadIdx.x;
  const Index cell = first + Index{blockIdx.x} * cells_per_block + me;
  double mine = cell < cells ? cell_term(cell) : 0.0;
  if (cell + block_threads < cells) mine = Combine<op>{}(mine, cell_term(cell + block_threads));
  values[me] = mine;
  __syncthreads();
  combine_tree<op, block_threads>(values);
  if (me == 0) partials[blockIdx.x] = values[0];
}

template <class T>
void reduce(const ReductionArgs<T>& args, Stream stream) {
  double* const partials = static_cast<double*>(args.scratch);
  const Index cells = args.region.cells(), count = ceil_div(cells, cells_per_block);
  with_operation(args.op, [&]<ReductionOp op>() {
    const CellTerm<T, op> cell_term(args);
    for_grids(count, [&](unsigned blocks, Index first) {
      combine_cells<T, op><<<blocks, block_threads, 0, native(stream)>>>(
          cell_term, cells, first * cells_per_block, partials + first);
      check_launch("shared_unroll_full: combine_cells");
    });
    combine_partials<op>(partials, count, args.result, stream);
  });
}

}  // namespace

template <class T>
void reduction_shared_unroll_full(ReductionKernel<T>& kernel) {
  kernel.launch = reduce<T>;
  kernel.scratch_bytes = [](Box region) { return partials_bytes(ceil_div(region.cells(), cells_per_block)); };
  kernel.resources = [] { return resources_of(combine_cells<T, ReductionOp::sum_squares>, block_threads); };
}

ISOTHERM_BOTH_PRECISIONS(reduction_shared_unroll_full, ReductionKernel);

}  // namespace isotherm::cuda
