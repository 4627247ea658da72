// What the rungs whose blocks each leave one value share: cells dealt to blocks by number, what a thread
// loads, the host's side. What the rungs differ in, how a block joins its values, stands in their own files.
// For .cu files only.
//
// A rung is a struct with `name`, `cells_a_thread` (1 or 2) and join<op>(double* values), called by
// all threads of a block when its block_threads values are there: values[0] becomes their join, valid
// in thread 0.
#pragma once

#include "kernels/cuda/grids.hpp"
#include "kernels/cuda/join.hpp"
#include "kernels/cuda/part_of_cell.hpp"
#include "kernels/cuda/resources.hpp"
#include "kernels/cuda/rows.hpp"

namespace isotherm::cuda {

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
    join_cells(PartOfCell<T, op> part_of_cell, Index cells, Index first, double* partials) {
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
      launch(Rung::name, join_cells<Rung, T, op>, {blocks, block_threads}, stream, part_of_cell,
             args.region.cells(), first * cells_a_block<Rung>, partials + first);
    });
    join_partials<op>(partials, count, args.result, stream);
  });
}

template <class Rung, class T>
void complete(ReductionKernel<T>& row) {
  row.launch = reduce_by_blocks<Rung, T>;
  row.scratch_bytes = [](Box region) { return partials_bytes(partial_count<Rung>(region)); };
  row.resources = [] { return resources_of(join_cells<Rung, T, ReductionOp::sum_squares>, block_threads); };
}

}  // namespace isotherm::cuda
