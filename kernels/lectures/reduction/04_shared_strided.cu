// Reduction kernel `shared_strided`: the same tree, computed by neighbouring threads.
//
// Algebra   as in global_atomic.
// Mapping   as in shared_interleaved, but thread i combines the values 2 s i and 2 s i + s: the same pairs,
//           by the first threads of the block. Whole warps are idle and are skipped; a warp diverges in the
//           last five levels only. A second stage combines the blocks, as in shared_interleaved.
// Storage   shared memory: 256 doubles, 2 KB per block.
// Traffic   as in shared_interleaved.
// Faster    than shared_interleaved: in the level of stride s, 256 / (64 s) warps issue instead of 8, and no
//           remainder is taken.
// Slower    than necessary: bank conflicts. Shared memory has 32 banks of 4 bytes, and the 32 lanes of a warp
//           read doubles that are 2 s apart: 16 s bytes. With s = 1 every bank has twice the requests of
//           contiguous reads; with s = 8 and more all lanes read from the same two banks, one after another.
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
    const int left = 2 * stride * me;
    if (left < static_cast<int>(blockDim.x))
      values[left] = Combine<op>{}(values[left], values[left + stride]);
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
      check_launch("shared_strided: combine_cells");
    });
    combine_partials<op>(partials, count, args.result, stream);
  });
}

}  // namespace

template <class T>
void reduction_shared_strided(ReductionKernel<T>& kernel) {
  kernel.launch = reduce<T>;
  kernel.scratch_bytes = [](Box region) { return partials_bytes(ceil_div(region.cells(), cells_per_block)); };
  kernel.resources = [] { return resources_of(combine_cells<T, ReductionOp::sum_squares>, block_threads); };
}

ISOTHERM_BOTH_PRECISIONS(reduction_shared_strided, ReductionKernel);

}  // namespace isotherm::cuda
