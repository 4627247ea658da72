// Reduction kernel `shared_interleaved`: the textbook's tree in shared memory, and the first of six versions
// of it.
//
// Algebra   as in global_atomic.
// Mapping   one thread per cell, by the cell's number (cells.hpp): coalesced. A block puts its 256 parts into
//           shared memory and combines neighbours, then neighbours of neighbours: in the level of stride s
//           the threads work whose number is a multiple of 2 s. A second stage (combine.hpp) combines the
//           blocks' values. No atomics: every run gives the same bits.
// Storage   shared memory: 256 doubles, 2 KB per block. Registers: a few.
// Traffic   each field once, and 8 bytes of partial results for 256 cells: less than 1 % more.
// Slower    than necessary for three reasons, which the next kernels remove one by one. The first is
//           divergence: with tid % (2 s) == 0 the working threads are spread over all warps, so every warp
//           executes every level with half, a quarter, ... one of its 32 lanes. Also, the remainder by a
//           number that is no constant costs more than the addition that depends on it.
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
  for (int stride = 1; stride < static_cast<int>(blockDim.x); stride *= 2) {
    if (me % (2 * stride) == 0) values[me] = Combine<op>{}(values[me], values[me + stride]);
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
      check_launch("shared_interleaved: combine_cells");
    });
    combine_partials<op>(partials, count, args.result, stream);
  });
}

}  // namespace

template <class T>
void reduction_shared_interleaved(ReductionKernel<T>& kernel) {
  kernel.launch = reduce<T>;
  kernel.scratch_bytes = [](Box region) { return partials_bytes(ceil_div(region.cells(), cells_per_block)); };
  kernel.resources = [] { return resources_of(combine_cells<T, ReductionOp::sum_squares>, block_threads); };
}

ISOTHERM_BOTH_PRECISIONS(reduction_shared_interleaved, ReductionKernel);

}  // namespace isotherm::cuda
