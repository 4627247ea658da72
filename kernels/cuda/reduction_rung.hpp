// What rungs of the reduction ladder share: the host's side of rows whose blocks each leave one value, and
// the tree in shared memory. For .cu files only.
#pragma once

#include "kernels/cuda/cells.hpp"
#include "kernels/cuda/join.hpp"
#include "kernels/cuda/rows.hpp"

namespace isotherm::cuda {

// The tree of the upper shared-memory rungs: sequential addressing, its last six levels by one warp.

// By the block's first warp, all its lanes: values[0] becomes the join of values[0] to values[63]. No block
// barrier: the other warps have nothing to say any more. But lanes do not march in step since Volta, so each
// level is two steps with a barrier of the warp behind each: all read, then all write. Lanes that the tree
// has dropped go on and write what nobody reads, which is cheaper than a branch.
template <ReductionOp op>
__device__ __forceinline__ void join_last_warp(double* values) {
  const int me = threadIdx.x;
#pragma unroll
  for (int stride = warp_size; stride > 0; stride /= 2) {
    const double joined = Join<op>{}(values[me], values[me + stride]);
    __syncwarp();
    values[me] = joined;
    __syncwarp();
  }
}

// values[0] becomes the join of all `threads` values, valid in thread 0. The block's size is known to the
// compiler, so the loop is none: each level has its stride as a constant.
template <ReductionOp op, int threads>
__device__ __forceinline__ void join_tree(double* values) {
  static_assert(threads >= 2 * warp_size && (threads & (threads - 1)) == 0);
  const int me = threadIdx.x;
#pragma unroll
  for (int stride = threads / 2; stride > warp_size; stride /= 2) {
    if (me < stride) values[me] = Join<op>{}(values[me], values[me + stride]);
    __syncthreads();
  }
  if (me < warp_size) join_last_warp<op>(values);
}

// Rungs whose blocks each leave one value of the cells that their numbers say. A rung is a struct with
// `name`, `cells_a_thread` (1 or 2) and join<op>(double* values), called by all threads of a block when its
// block_threads values are there: values[0] becomes their join, valid in thread 0.

// As in the lectures; the ladder compares rungs, so all of them have the same block.
inline constexpr int block_threads = 256;

template <class Rung>
inline constexpr Index cells_a_block = Index{Rung::cells_a_thread} * block_threads;

// The join of the parts of `cell` and, where a thread has two, of the cell a block further on; cells beyond
// the region count as 0. Neighbouring threads read neighbouring cells.
template <int cells_a_thread, class T, ReductionOp op>
__device__ __forceinline__ double load_parts(const PartOfCell<T, op>& part_of_cell, Index cell, Index cells) {
  static_assert(cells_a_thread == 1 || cells_a_thread == 2);
  double mine = cell < cells ? part_of_cell(cell) : 0.0;
  if constexpr (cells_a_thread == 2) {
    if (cell + block_threads < cells) mine = Join<op>{}(mine, part_of_cell(cell + block_threads));
  }
  return mine;
}

// Block i joins its share of the cells from cell `first` on into partials[i].
template <class Rung, class T, ReductionOp op>
__global__ void __launch_bounds__(block_threads)
    join_block_of_cells(PartOfCell<T, op> part_of_cell, Index cells, Index first, double* partials) {
  __shared__ double values[block_threads];
  const Index cell = first + Index{blockIdx.x} * cells_a_block<Rung> + threadIdx.x;
  values[threadIdx.x] = load_parts<Rung::cells_a_thread>(part_of_cell, cell, cells);
  __syncthreads();
  Rung::template join<op>(values);
  if (threadIdx.x == 0) partials[blockIdx.x] = values[0];
}

template <class Rung>
Index partial_count(Box region) {
  return ceil_div(region.cells(), cells_a_block<Rung>);
}

template <class Rung, class T>
void reduce_by_blocks(const ReductionArgs<T>& args, Stream stream) {
  double* partials = static_cast<double*>(args.scratch);
  with_operation(args.op, [&]<ReductionOp op>() {
    const PartOfCell<T, op> part_of_cell(args);
    const Index count = partial_count<Rung>(args.region);
    for_grids(count, [&](unsigned blocks, Index first) {
      launch(Rung::name, join_block_of_cells<Rung, T, op>, {blocks, block_threads}, stream, part_of_cell,
             args.region.cells(), first * cells_a_block<Rung>, partials + first);
    });
    join_partials<op>(partials, count, args.result, stream);
  });
}

template <class Rung, class T>
void complete(ReductionKernel<T>& row) {
  row.launch = reduce_by_blocks<Rung, T>;
  row.scratch_bytes = [](Box region) { return partials_bytes(partial_count<Rung>(region)); };
  row.resources = [] {
    return resources_of(join_block_of_cells<Rung, T, ReductionOp::sum_squares>, block_threads);
  };
}

// Rows whose blocks, so many at the most, share all cells. A row is a struct with `threads` of a block,
// blocks(Box region), kernel<T, op>() for its resources, and join<op>(unsigned blocks, args, double*
// partials, stream), which launches that kernel: block i leaves the join of its cells in partials[i].

template <class Row, class T>
void reduce_by_grid(const ReductionArgs<T>& args, Stream stream) {
  const Index blocks = Row::blocks(args.region);
  double* partials = static_cast<double*>(args.scratch);
  with_operation(args.op, [&]<ReductionOp op>() {
    if (blocks > 0) Row::template join<op>(static_cast<unsigned>(blocks), args, partials, stream);
    join_partials<op>(partials, blocks, args.result, stream);
  });
}

template <class Row, class T>
void complete_by_grid(ReductionKernel<T>& row) {
  row.launch = reduce_by_grid<Row, T>;
  row.scratch_bytes = [](Box region) { return partials_bytes(Row::blocks(region)); };
  row.resources = [] {
    return resources_of(Row::template kernel<T, ReductionOp::sum_squares>(), Row::threads);
  };
}

}  // namespace isotherm::cuda
