// Reduction kernel `shared_sequential`: the tree with the largest stride first, without bank conflicts.
//
// Algebra   as in global_atomic. The pairs differ from those of earlier kernels, and so do the last digits.
// Mapping   one thread per cell. In the level of stride s, 128 first, thread i < s combines the values i and
//           i + s: working threads are neighbours, and so are the values that they read. A second stage
//           combines the blocks, as in shared_interleaved.
// Storage   shared memory: 256 doubles, 2 KB per block.
// Traffic   as in shared_interleaved.
// Faster    than shared_strided: 32 lanes read 32 neighbours, all banks evenly.
// Slower    than necessary: half of the threads load a cell and then do nothing, even in the first level; and
//           a block of 256 threads reduces only 256 cells.
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

constexpr Index cells_per_block = block_threads;

// Block i combines its share of the cells from cell `first` on into partials[i].
template <class T, ReductionOp op>
__global__ void __launch_bounds__(block_threads)
    combine_cells(CellTerm<T, op> cell_term, Index cells, Index first, double* partials) {
  __shared__ double values[block_threads];
  const int me = threadIdx.x;
  const Index cell = first + Index{blockIdx.x} * cells_per_block + me;
  values[me] = cell < cells ? cell_term(cell) : 0.0;
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
      check_launch("shared_sequential: combine_cells");
    });
    combine_partials<op>(partials, count, args.result, stream);
  });
}

}  // namespace

template <class T>
void reduction_shared_sequential(ReductionKernel<T>& kernel) {
  kernel.launch = reduce<T>;
  kernel.scratch_bytes = [](Box region) { return partials_bytes(ceil_div(region.cells(), cells_per_block)); };
  kernel.resources = [] { return resources_of(combine_cells<T, ReductionOp::sum_squares>, block_threads); };
}

ISOTHERM_BOTH_PRECISIONS(reduction_shared_sequential, ReductionKernel);

}  // namespace isotherm::cuda
