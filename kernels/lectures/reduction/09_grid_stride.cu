// Reduction kernel `grid_stride`: many cells per thread, then one tree.
//
// Algebra   as in global_atomic.
// Mapping   as many blocks as fill a large GPU several times, whatever the region. Each thread combines the
//           cells of number i, i + n, i + 2 n, ... in one register, where n is the number of threads of the
//           grid; then follows the tree of shared_unroll_full, once per block. The number of blocks is a
//           constant, not a property of the GPU: every run, and every GPU, gives the same bits.
// Storage   registers: the running result and four loads. Shared memory: 256 doubles, 2 KB per block.
// Traffic   each field once; at most 32 KB of partial results.
// Faster    than shared_unroll_full: one launch, tree and set of barriers serve some hundred or thousand
//           cells per thread, and four loads of a thread are in flight (two fields: eight).
// Slower    than necessary: a cell's position takes two divisions by multiplication, while warp_shuffle walks
//           along rows; and the tree is in shared memory, while warp_shuffle shuffles registers.
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

constexpr Index least_cells = 4 * block_threads;  // below it a block would not fill its loads in flight
constexpr Index most_blocks = 4096;

template <class T, ReductionOp op>
__global__ void __launch_bounds__(block_threads)
    combine_cells(CellTerm<T, op> cell_term, Index cells, double* partials) {
  __shared__ double values[block_threads];
  const int me = threadIdx.x;
  const Index threads = Index{gridDim.x} * block_threads;
  double mine = 0;
#pragma unroll 4
  for (Index cell = Index{blockIdx.x} * block_threads + me; cell < cells; cell += threads) {
    mine = Combine<op>{}(mine, cell_term(cell));
  }
  values[me] = mine;
  __syncthreads();
  combine_tree<op, block_threads>(values);
  if (me == 0) partials[blockIdx.x] = values[0];
}

Index blocks_of(Box region) { return std::min(ceil_div(region.cells(), least_cells), most_blocks); }

template <class T>
void reduce(const ReductionArgs<T>& args, Stream stream) {
  double* const partials = static_cast<double*>(args.scratch);
  const Index blocks = blocks_of(args.region);
  with_operation(args.op, [&]<ReductionOp op>() {
    if (blocks > 0) {
      combine_cells<T, op><<<static_cast<unsigned>(blocks), block_threads, 0, native(stream)>>>(
          CellTerm<T, op>(args), args.region.cells(), partials);
      check_launch("grid_stride: combine_cells");
    }
    combine_partials<op>(partials, blocks, args.result, stream);
  });
}

}  // namespace

template <class T>
void reduction_grid_stride(ReductionKernel<T>& kernel) {
  kernel.launch = reduce<T>;
  kernel.scratch_bytes = [](Box region) { return partials_bytes(blocks_of(region)); };
  kernel.resources = [] { return resources_of(combine_cells<T, ReductionOp::sum_squares>, block_threads); };
}

ISOTHERM_BOTH_PRECISIONS(reduction_grid_stride, ReductionKernel);

}  // namespace isotherm::cuda
