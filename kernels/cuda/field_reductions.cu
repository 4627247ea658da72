// The reductions of a field on the GPU: the extremes of its cells, and the sums of the jumps across its
// boundaries.
//
// Algebra   Extremes combine in any order to the same bits; so do exact sums (long_sum.hpp).
// Mapping   the values are numbered; threads take them in grid strides, neighbouring threads neighbouring
//           numbers, so reads are coalesced within a row. Extremes: a tree in shared memory combines a block,
//           each block stores one partial, and a second kernel of one block combines these.
// Storage   registers: a thread's extremes, 24 bytes, or its part of a sum, 32. Shared memory: one partial
//           per thread, 6 KB per block, or the block's digits, 560 bytes.
// Traffic   one read of 4 (8) bytes per cell, and two divisions by multiplication to find its position.
#include "kernels/cuda/grids.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/long_sum.hpp"
#include "kernels/field_reductions.hpp"

namespace isotherm::cuda {
namespace {

constexpr int threads = 256;
constexpr Index most_blocks = 1024;

// Maps a cell's number, x fastest, to its value.
template <class Cell>
struct CellValues {
  Cell cell;
  Int3 extent;
  FastDivide by_x, by_y;

  explicit CellValues(const Cell& of) : cell(of), extent(of.extent()), by_x(extent.x), by_y(extent.y) {}
  Index count() const { return extent.product(); }
  __device__ __forceinline__ double operator()(Index number) const {
    const Index row = by_x(number), z = by_y(row);
    return cell(number - row * extent.x, row - z * extent.y, z);
  }
};

// Combines the extremes of all threads; thread 0 stores the result.
__device__ __forceinline__ void combine_block(const Extremes& mine, Extremes* result) {
  __shared__ Extremes parts[threads];
  const int thread = static_cast<int>(threadIdx.x);
  parts[thread] = mine;
  __syncthreads();
  for (int half = threads / 2; half > 0; half /= 2) {
    if (thread < half) parts[thread].combine(parts[thread + half]);
    __syncthreads();
  }
  if (thread == 0) *result = parts[0];
}

// Calls visit(value) for the values of this thread.
template <class Values, class Visit>
__device__ __forceinline__ void visit_values(const Values& values, Index count, Visit visit) {
  const Index stride = Index{gridDim.x} * threads;
  for (Index i = Index{blockIdx.x} * threads + threadIdx.x; i < count; i += stride) visit(values(i));
}

template <class T>
__global__ void __launch_bounds__(threads)
    gather_extremes(CellValues<BodyCell<T>> cells, Index count, Extremes* parts) {
  Extremes mine = Extremes::none();
  visit_values(cells, count, [&](double value) { mine.add(value); });
  combine_block(mine, &parts[blockIdx.x]);
}

__global__ void __launch_bounds__(threads)
    combine_extremes(const Extremes* parts, Index count, Extremes* result) {
  Extremes mine = Extremes::none();
  for (Index i = threadIdx.x; i < count; i += threads) mine.combine(parts[i]);
  combine_block(mine, result);
}

template <class Values>
__global__ void __launch_bounds__(threads) add_values(Values values, Index count, LongAccumulator* sum) {
  add_block<threads>(sum, [&](auto add) { visit_values(values, count, add); });
}

Index block_count(Index values) { return std::min(ceil_div(values, threads), most_blocks); }

template <class T>
void extremes(const BodyCell<T>& cell, Extremes* result, void* scratch, Stream stream) {
  const CellValues<BodyCell<T>> cells(cell);
  const Index blocks = block_count(cells.count());
  auto* const parts = static_cast<Extremes*>(scratch);
  if (blocks > 0) {
    launch("field_reductions: gather_extremes", gather_extremes<T>, {static_cast<unsigned>(blocks), threads},
           stream, cells, cells.count(), parts);
  }
  launch("field_reductions: combine_extremes", combine_extremes, {1, threads}, stream, parts, blocks, result);
}

template <class Cell>
void sum_of_cells(const Cell& cell, LongAccumulator* result, Stream stream) {
  const CellValues<Cell> values(cell);
  const Index blocks = block_count(values.count());
  const auto launch_add = [&] {
    if (blocks == 0) return;
    launch("field_reductions: add_values", add_values<CellValues<Cell>>,
           {static_cast<unsigned>(blocks), threads}, stream, values, values.count(), result);
  };
  sum_exactly(result, launch_add, nullptr, result, stream);
}

constexpr std::size_t scratch_bytes = most_blocks * sizeof(Extremes);

}  // namespace

ISOTHERM_FUNCTIONS(functions, FieldReductions, extremes<T>, sum_of_cells<BoundaryJump<T>>,
                   sum_of_cells<CellHeat<T>>, sum_of_cells<VoidFlow<T>>, scratch_bytes)

}  // namespace isotherm::cuda
