// Reduction kernel `global_pairwise`: pairs are combined in passes over memory, each half as long.
//
// Algebra   as in global_atomic. A tree over all cells: a sum of n values is rounded log2 n times not n
//           times, so its error grows with log n (N. J. Higham, "The accuracy of floating point summation",
//           SIAM J. Sci. Comput. 14 (1993)). All later kernels have this property in part.
// Mapping   pass 0: thread i < h = n/2 rounded up combines the parts of cells i and i + h into value i. Each
//           pass after that halves the values the same way, in place, until one is left: reads are coalesced,
//           and no thread reads what another one writes.
// Storage   registers: two values. Device memory: one double for two cells, as much as half a field in fp64
//           or a whole one in fp32.
// Traffic   each field once; then 4, 2, 1, ... bytes per cell written, and as many read again: 16 bytes per
//           cell more than the 4 to 16 that are needed. One launch per pass, 27 for 512^3 cells; the last
//           passes take less time than their launches.
// Faster    than global_atomic by far: no thread waits for another.
// Slower    than necessary: memory holds partial results that could stay in the SM (shared_*).
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

// Stores in to[i]: of(i), combined with of(i + half) if there is one. Thread 0 of the grid has i = first.
template <ReductionOp op, class ValueOf>
__device__ __forceinline__ void combine_pair(const ValueOf& of, Index count, Index half, Index first,
                                             double* to) {
  const Index i = first + Index{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= half) return;
  const double left = of(i);
  to[i] = i + half < count ? Combine<op>{}(left, of(i + half)) : left;
}

template <class T, ReductionOp op>
__global__ void __launch_bounds__(block_threads)
    combine_pairs_of_cells(CellTerm<T, op> cell_term, Index cells, Index half, Index first, double* to) {
  combine_pair<op>(cell_term, cells, half, first, to);
}

// `to` may be `values`.
template <ReductionOp op>
__global__ void __launch_bounds__(block_threads)
    combine_pairs(const double* values, Index count, Index half, Index first, double* to) {
  combine_pair<op>([values](Index i) { return values[i]; }, count, half, first, to);
}

constexpr Index half_of(Index count) { return (count + 1) / 2; }

template <class T>
void reduce(const ReductionArgs<T>& args, Stream stream) {
  double* values = static_cast<double*>(args.scratch);
  with_operation(args.op, [&]<ReductionOp op>() {
    Index count = args.region.cells();
    if (count == 0) return combine_partials<op>(nullptr, 0, args.result, stream);
    const auto pass = [&](const char* name, auto kernel, const auto& of) {
      const Index half = half_of(count);
      double* const to = half == 1 ? args.result : values;
      for_grids(ceil_div(half, block_threads), [&](unsigned blocks, Index first) {
        kernel<<<blocks, block_threads, 0, native(stream)>>>(of, count, half, first * block_threads, to);
        check_launch(name);
      });
      count = half;
    };
    pass("global_pairwise: combine_pairs_of_cells", combine_pairs_of_cells<T, op>, CellTerm<T, op>(args));
    while (count > 1) pass("global_pairwise: combine_pairs", combine_pairs<op>, values);
  });
}

}  // namespace

template <class T>
void reduction_global_pairwise(ReductionKernel<T>& kernel) {
  kernel.launch = reduce<T>;
  kernel.scratch_bytes = [](Box region) {
    return static_cast<std::size_t>(half_of(region.cells())) * sizeof(double);
  };
  kernel.resources = [] {
    return resources_of(combine_pairs_of_cells<T, ReductionOp::sum_squares>, block_threads);
  };
}

ISOTHERM_BOTH_PRECISIONS(reduction_global_pairwise, ReductionKernel);

}  // namespace isotherm::cuda
