// Reduction kernel `warp_shuffle`: sums and maxima in registers, shared memory only between warps.
//
// Algebra   as in global_atomic.
// Mapping   rows of the region are cut into segments of 1024 cells; warps take segments in grid strides,
//           and their lanes read 32 neighbours in x at a time: reads are coalesced, and a lane divides once
//           per 32 reads to find its segment (cells.hpp). Each lane first combines all its cells in one
//           register; then five shuffles combine a warp, and one shared value per warp and five more shuffles
//           combine a block. Each block stores one value, and a second kernel of one block combines these:
//           without atomics, and in an order that depends on the region alone, so every run, and every GPU,
//           gives the same bits.
// Storage   registers: the running result. Shared memory: one value per warp (64 bytes per block).
// Traffic   each field once: 4 (8) bytes per cell in fp32 (fp64), twice that with a second field; 16 KB of
//           partial results are negligible. Each lane loads four cells before it uses the first: with the 48
//           warps that fit, 24 KB (one field, fp32) to 96 KB (two, fp64) are in flight on a multiprocessor,
//           and an H200 needs about 23 KB to use its memory fully.
// Faster    than grid_stride: no division per cell, one barrier per block instead of three, and no shared
//           memory in the tree.
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

// Two to three waves on a large GPU; more blocks give the second stage more work (docs/tuning-log). A
// constant, not the number of multiprocessors, which would change the order of the sum from GPU to GPU.
constexpr Index most_blocks = 2048;

template <class T, ReductionOp op>
__global__ void __launch_bounds__(block_threads)
    combine_cells(FieldView<const T> a, FieldView<const T> b, Box region, double* partials) {
  double mine = 0;
  visit_cells<block_threads>(a, b, region, [&](double d) { mine = Combine<op>{}(mine, part<op>(d)); });
  mine = combine_block<block_threads>(mine, Combine<op>{});
  if (threadIdx.x == 0) partials[blockIdx.x] = mine;
}

Index blocks_of(Box region) { return RowSegments::blocks(region, block_threads, most_blocks); }

template <class T>
void reduce(const ReductionArgs<T>& args, Stream stream) {
  double* const partials = static_cast<double*>(args.scratch);
  const Index blocks = blocks_of(args.region);
  with_operation(args.op, [&]<ReductionOp op>() {
    if (blocks > 0) {
      combine_cells<T, op><<<static_cast<unsigned>(blocks), block_threads, 0, native(stream)>>>(
          args.a, args.b, args.region, partials);
      check_launch("warp_shuffle: combine_cells");
    }
    combine_partials<op>(partials, blocks, args.result, stream);
  });
}

}  // namespace

template <class T>
void reduction_warp_shuffle(ReductionKernel<T>& kernel) {
  kernel.launch = reduce<T>;
  kernel.scratch_bytes = [](Box region) { return partials_bytes(blocks_of(region)); };
  kernel.resources = [] { return resources_of(combine_cells<T, ReductionOp::sum_squares>, block_threads); };
}

ISOTHERM_BOTH_PRECISIONS(reduction_warp_shuffle, ReductionKernel);

}  // namespace isotherm::cuda
