// Reduction row `grid_stride`: many cells a thread, then one tree.
//
// Algebra   as in global_atomic.
// Mapping   as many blocks as fill a large GPU several times, whatever the region. Each thread joins the
//           cells i, i + n, i + 2 n, ... by number, n the threads of the whole grid, in one register; then
//           the tree of shared_unroll_full, once a block. The number of blocks is a constant, not one of
//           the GPU: every run, and every GPU, gives the same bits.
// Lives in  registers: the running result and four loads. Shared memory: 256 doubles, 2 KB a block.
// Traffic   each field once; at most 32 KB of partial results.
// Faster    than shared_unroll_full: launch, tree and barriers are paid once in some hundred or thousand
//           cells instead of 512, and four loads of a thread are under way at a time (two fields: eight).
// Slower    than it need be: a cell's place costs two divisions by multiplication, where warp_shuffle walks
//           along rows; and the tree goes through shared memory, where registers can be shuffled.
#include "kernels/cuda/cells.hpp"
#include "kernels/cuda/reduction_rung.hpp"

namespace isotherm::cuda {
namespace {

struct Policy {
  static constexpr int threads = 256;
  static constexpr Index least_cells = 4 * threads;  // below it a block would not fill its loads in flight
  static constexpr Index most_blocks = 4096;
};

template <class T, ReductionOp op>
__global__ void __launch_bounds__(Policy::threads)
    join_cells(PartOfCell<T, op> part_of_cell, Index cells, double* partials) {
  __shared__ double values[Policy::threads];
  const int me = threadIdx.x;
  const Index threads = Index{gridDim.x} * Policy::threads;
  double mine = 0;
#pragma unroll 4
  for (Index cell = Index{blockIdx.x} * Policy::threads + me; cell < cells; cell += threads) {
    mine = Join<op>{}(mine, part_of_cell(cell));
  }
  values[me] = mine;
  __syncthreads();
  join_tree<op, Policy::threads>(values);
  if (me == 0) partials[blockIdx.x] = values[0];
}

struct Row {
  static constexpr int threads = Policy::threads;

  static Index blocks(Box region) {
    return std::min(ceil_div(region.cells(), Policy::least_cells), Policy::most_blocks);
  }
  template <class T, ReductionOp op>
  static constexpr auto kernel() {
    return join_cells<T, op>;
  }
  template <ReductionOp op, class T>
  static void join(unsigned blocks, const ReductionArgs<T>& args, double* partials, Stream stream) {
    launch("grid_stride: join_cells", join_cells<T, op>, {blocks, threads}, stream, PartOfCell<T, op>(args),
           args.region.cells(), partials);
  }
};

}  // namespace

template <class T>
void reduction_grid_stride(ReductionKernel<T>& row) {
  complete_by_grid<Row>(row);
}

template void reduction_grid_stride(ReductionKernel<float>&);
template void reduction_grid_stride(ReductionKernel<double>&);

}  // namespace isotherm::cuda
