// Reduction row `warp_shuffle`: sums and maxima in registers, shared memory only between warps.
//
// Algebra   r = join over the cells of the region of part(a - b), in fp64 from the first difference on; join
// is +
//           or the larger. 0 over no cells.
// Mapping   rows of the region are cut into segments of 1024 cells; warps take segments in grid strides,
// their 32
//           lanes 32 neighbours in x at a time, so reads are coalesced and the division that finds a segment
//           is paid once in 32 reads of a lane. Each lane joins all its cells first, in one register; then
//           five shuffles join a warp, one shared value a warp and five more shuffles a block. Blocks leave
//           one value each, and a second kernel of one block joins these: without atomics, and in an order
//           that depends on the region alone, so that every run, and every GPU, gives the same bits.
// Lives in  registers: the running result. Shared memory: one value a warp (64 bytes a block).
// Traffic   each field once: 4 (8) bytes a cell in fp32 (fp64), twice that with a second field; 32 KB of
// partial
//           results are nothing beside it. Each lane loads four cells before it uses the first: with the 48
//           warps that fit, 24 KB (one field, fp32) to 96 KB (two, fp64) are in flight on a multiprocessor,
//           and an H200 needs about 23 KB to fill its memory's pipe.
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/reduction_operators.hpp"
#include "kernels/cuda/rows.hpp"

namespace isotherm::cuda {
namespace {

// As many blocks as several waves on a large GPU, so that the last wave is a small part of all; a constant,
// not the number of multiprocessors, which would change the order of the sum from GPU to GPU.
struct Policy {
  static constexpr int threads = 256;
  static constexpr int warps = threads / warp_size;
  static constexpr Index most_blocks = 4096;
  static constexpr Index segment = 1024;  // cells
  static constexpr int last_threads = 1024;
};

struct Segments {
  Index a_row, count;  // segments of one row, and of the region

  ISOTHERM_HOST_DEVICE static Segments of(Box region) {
    const Int3 n = region.extent();
    const Index a_row = (n.x + Policy::segment - 1) / Policy::segment;
    return {a_row, region.empty() ? 0 : a_row * n.y * n.z};
  }
};

Index block_count(Box region) {
  return std::min(ceil_div(Segments::of(region).count, Policy::warps), Policy::most_blocks);
}

// The join of all lanes, valid in lane 0.
template <ReductionOp op>
__device__ __forceinline__ double join_warp(double mine) {
#pragma unroll
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2) {
    mine = Join<op>{}(mine, __shfl_down_sync(0xffffffffu, mine, lanes));
  }
  return mine;
}

// The join of all threads, valid in thread 0. To be called once a kernel, by all threads.
template <ReductionOp op, int threads>
__device__ __forceinline__ double join_block(double mine) {
  __shared__ double of_warp[threads / warp_size];
  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  mine = join_warp<op>(mine);
  if (lane == 0) of_warp[warp] = mine;
  __syncthreads();
  if (warp != 0) return mine;
  return join_warp<op>(lane < threads / warp_size ? of_warp[lane] : 0.0);
}

template <class T, ReductionOp op>
__global__ void __launch_bounds__(Policy::threads)
    join_cells(FieldView<const T> a, FieldView<const T> b, Box region, double* partials) {
  const Segments segments = Segments::of(region);
  const Index rows_y = region.extent().y;
  const Index lane = threadIdx.x % warp_size;
  const Index warps = Index{gridDim.x} * Policy::warps;
  double mine = 0;
  for (Index i = Index{blockIdx.x} * Policy::warps + threadIdx.x / warp_size; i < segments.count;
       i += warps) {
    const Index row = i / segments.a_row;
    const Index y = region.lo.y + row % rows_y, z = region.lo.z + row / rows_y;
    const Index x = region.lo.x + (i - row * segments.a_row) * Policy::segment;
    const Index end = x + Policy::segment < region.hi.x ? x + Policy::segment : region.hi.x;
    const T* row_a = &a(0, y, z);
    const T* row_b = b.empty() ? nullptr : &b(0, y, z);
#pragma unroll 4
    for (Index cell = x + lane; cell < end; cell += warp_size) {
      mine = Join<op>{}(mine, part<op>(difference(row_a + cell, row_b ? row_b + cell : nullptr)));
    }
  }
  mine = join_block<op, Policy::threads>(mine);
  if (threadIdx.x == 0) partials[blockIdx.x] = mine;
}

template <ReductionOp op>
__global__ void __launch_bounds__(Policy::last_threads)
    join_partials(const double* partials, Index count, double* result) {
  double mine = 0;
  for (Index i = threadIdx.x; i < count; i += Policy::last_threads) mine = Join<op>{}(mine, partials[i]);
  mine = join_block<op, Policy::last_threads>(mine);
  if (threadIdx.x == 0) *result = mine;
}

std::size_t scratch_bytes(Box region) {
  return static_cast<std::size_t>(block_count(region)) * sizeof(double);
}

template <class T>
void reduce(const ReductionArgs<T>& args, Stream stream) {
  const Index blocks = block_count(args.region);
  double* partials = static_cast<double*>(args.scratch);
  with_operation(args.op, [&]<ReductionOp op>() {
    if (blocks > 0) {
      launch("warp_shuffle: join_cells", join_cells<T, op>, {static_cast<unsigned>(blocks), Policy::threads},
             stream, args.a, args.b, args.region, partials);
    }
    launch("warp_shuffle: join_partials", join_partials<op>, {1, Policy::last_threads}, stream, partials,
           blocks, args.result);
  });
}

}  // namespace

template <class T>
void reduction_warp_shuffle(ReductionKernel<T>& row) {
  row.launch = reduce<T>;
  row.scratch_bytes = scratch_bytes;
}

template void reduction_warp_shuffle(ReductionKernel<float>&);
template void reduction_warp_shuffle(ReductionKernel<double>&);

}  // namespace isotherm::cuda
