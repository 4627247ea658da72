// Reduction kernel `shared_first_add`: threads compute the first level of the tree as they load the cells.
//
// Algebra   as in global_atomic.
// Mapping   two cells per thread, 256 cells apart, so that both reads are coalesced. The thread combines them
//           in a register and stores the result in shared memory. The tree is that of shared_sequential. A
//           second stage combines the blocks, as in shared_interleaved.
// Storage   shared memory: 256 doubles, 2 KB per block. Registers: one value.
// Traffic   each field once, and 8 bytes of partial results for 512 cells.
// Faster    than shared_sequential: half as many blocks and trees for the same cells; no thread is idle in
//           the first level, and each has two loads in flight instead of one.
// Slower    than necessary: in the last levels of the tree one warp works, and all eight wait at barriers.
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
  for (int stride = static_cast<int>(blockDim.x) / 2; stride > 0; stride /= 2) {
    if (me < stride) values[me] = Combine<op>{}(values[me], values[me + stride]);
    __syncthreads();
  }
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
      check_launch("shared_first_add: combine_cells");
    });
    combine_partials<op>(partials, count, args.result, stream);
  });
}

}  // namespace

template <class T>
void reduction_shared_first_add(ReductionKernel<T>& kernel) {
  kernel.launch = reduce<T>;
  kernel.scratch_bytes = [](Box region) { return partials_bytes(ceil_div(region.cells(), cells_per_block)); };
  kernel.resources = [] { return resources_of(combine_cells<T, ReductionOp::sum_squares>, block_threads); };
}

ISOTHERM_BOTH_PRECISIONS(reduction_shared_first_add, ReductionKernel);

}  // namespace isotherm::cuda
