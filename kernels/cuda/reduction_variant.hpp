// What kernels of the reduction ladder share: the host's side of rows whose blocks each leave one value, and
// the tree in shared memory. For .cu files only.
#pragma once

#include "kernels/cuda/cells.hpp"
#include "kernels/cuda/combine.hpp"
#include "kernels/cuda/cuda_kernels.hpp"

namespace isotherm::cuda {

// The tree of the upper shared-memory kernels: sequential addressing, its last six levels by one warp.

// By the block's first warp, all its lanes: values[0] becomes the combination of values[0] to values[63]. No
// block barrier: the other warps have nothing to say any more. But lanes do not march in step since Volta, so
// each level is two steps with a barrier of the warp behind each: all read, then all write. Lanes that the
// tree has dropped go on and write what nobody reads, which is cheaper than a branch.
template <ReductionOp op>
__device__ __forceinline__ void combine_last_warp(double* values) {
  const int me = threadIdx.x;
#pragma unroll
  for (int stride = warp_size; stride > 0; stride /= 2) {
    const double combined = Combine<op>{}(values[me], values[me + stride]);
    __syncwarp();
    values[me] = combined;
    __syncwarp();
  }
}

// values[0] becomes the combination of all `threads` values, valid in thread 0. The block's size is known to
// the compiler, so the loop is none: each level has its stride as a constant.
template <ReductionOp op, int threads>
__device__ __forceinline__ void combine_tree(double* values) {
  static_assert(threads >= 2 * warp_size && (threads & (threads - 1)) == 0);
  const int me = threadIdx.x;
#pragma unroll
  for (int stride = threads / 2; stride > warp_size; stride /= 2) {
    if (me < stride) values[me] = Combine<op>{}(values[me], values[me + stride]);
    __syncthreads();
  }
  if (me < warp_size) combine_last_warp<op>(values);
}

// Kernels whose blocks each leave one value of the cells that their numbers say. A kernel is a struct with
// `name`, `cells_a_thread` (1 or 2) and join<op>(double* values), called by all threads of a block when its
// block_threads values are there: values[0] becomes their combination, valid in thread 0.

// As in the lectures; the ladder compares kernels, so all of them have the same block.
inline constexpr int block_threads = 256;

template <class Variant>
inline constexpr Index cells_per_block = Index{Variant::cells_per_thread} * block_threads;

// The join of the parts of `cell` and, where a thread has two, of the cell a block further on; cells beyond
// the region count as 0. Neighbouring threads read neighbouring cells.
template <int cells_per_thread, class T, ReductionOp op>
__device__ __forceinline__ double load_parts(const CellTerm<T, op>& cell_term, Index cell, Index cells) {
  static_assert(cells_per_thread == 1 || cells_per_thread == 2);
  double mine = cell < cells ? cell_term(cell) : 0.0;
  if constexpr (cells_per_thread == 2) {
    if (cell + block_threads < cells) mine = Combine<op>{}(mine, cell_term(cell + block_threads));
  }
  return mine;
}

// Block i combines its share of the cells from cell `first` on into partials[i].
template <class Variant, class T, ReductionOp op>
__global__ void __launch_bounds__(block_threads)
    join_block_of_cells(CellTerm<T, op> cell_term, Index cells, Index first, double* partials) {
  __shared__ double values[block_threads];
  const Index cell = first + Index{blockIdx.x} * cells_per_block<Variant> + threadIdx.x;
  values[threadIdx.x] = load_parts<Variant::cells_per_thread>(cell_term, cell, cells);
  __syncthreads();
  Variant::template join<op>(values);
  if (threadIdx.x == 0) partials[blockIdx.x] = values[0];
}

template <class Variant>
Index partial_count(Box region) {
  return ceil_div(region.cells(), cells_per_block<Variant>);
}

template <class Variant, class T>
void reduce_by_blocks(const ReductionArgs<T>& args, Stream stream) {
  double* partials = static_cast<double*>(args.scratch);
  with_operation(args.op, [&]<ReductionOp op>() {
    const CellTerm<T, op> cell_term(args);
    const Index count = partial_count<Variant>(args.region);
    for_grids(count, [&](unsigned blocks, Index first) {
      launch(Variant::name, join_block_of_cells<Variant, T, op>, {blocks, block_threads}, stream, cell_term,
             args.region.cells(), first * cells_per_block<Variant>, partials + first);
    });
    combine_partials<op>(partials, count, args.result, stream);
  });
}

template <class Variant, class T>
void complete(ReductionKernel<T>& kernel) {
  kernel.launch = reduce_by_blocks<Variant, T>;
  kernel.scratch_bytes = [](Box region) { return partials_bytes(partial_count<Variant>(region)); };
  kernel.resources = [] {
    return resources_of(join_block_of_cells<Variant, T, ReductionOp::sum_squares>, block_threads);
  };
}

// Rows whose blocks, so many at the most, share all cells. A row is a struct with `threads` of a block,
// blocks(Box region), kernel<T, op>() for its resources, and join<op>(unsigned blocks, args, double*
// partials, stream), which launches that kernel: block i leaves the combination of its cells in partials[i].

template <class Entry, class T>
void reduce_by_grid(const ReductionArgs<T>& args, Stream stream) {
  const Index blocks = Entry::blocks(args.region);
  double* partials = static_cast<double*>(args.scratch);
  with_operation(args.op, [&]<ReductionOp op>() {
    if (blocks > 0) Entry::template join<op>(static_cast<unsigned>(blocks), args, partials, stream);
    combine_partials<op>(partials, blocks, args.result, stream);
  });
}

template <class Entry, class T>
void complete_by_grid(ReductionKernel<T>& entry) {
  entry.launch = reduce_by_grid<Entry, T>;
  entry.scratch_bytes = [](Box region) { return partials_bytes(Entry::blocks(region)); };
  entry.resources = [] {
    return resources_of(Entry::template kernel<T, ReductionOp::sum_squares>(), Entry::threads);
  };
}

}  // namespace isotherm::cuda
