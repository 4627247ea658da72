// Reduction kernel `global_atomic`: every thread adds to one address. The slowest kernel of the ladder.
//
// Algebra   r = the combination of part(a - b) of all cells of the region, by + or by the maximum; in fp64
//           from the first difference on; 0 over no cells. The parts of a maximum are never negative. The
//           bits of such doubles, read as integers, have the same order, so the kernel takes an integer
//           maximum, in which a NaN is above infinity.
// Mapping   one thread per cell, by the cell's number (cells.hpp): reads are coalesced.
// Storage   registers: the cell's part. Shared memory: nothing.
// Traffic   each field once from memory; one atomic operation per cell on the same 8 bytes in L2.
// Slower    than any other: atomic operations on one address are serialised, whichever SM sends them, so the
//           limit is one L2 slice, not memory. Values are also added in the order of arrival: the sums of two
//           runs differ in their last digits. Sums by pairs (global_pairwise) or by blocks (shared_*) do not
//           depend on the order of arrival.
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

// Combines *to with a cell's part. Sums are in the order of arrival. The maximum is of magnitudes, whose bits
// are ordered as the numbers; the sign bit of a NaN is cleared, so that a NaN is above all numbers.
template <ReductionOp op>
__device__ __forceinline__ void atomic_combine(double* to, double part) {
  if constexpr (op == ReductionOp::max_abs) {
    static_assert(sizeof(unsigned long long) == sizeof(double));
    const auto bits = __builtin_bit_cast(unsigned long long, part) & 0x7fffffffffffffffull;
    atomicMax(reinterpret_cast<unsigned long long*>(to), bits);
  } else {
    atomicAdd(to, part);
  }
}

template <class T, ReductionOp op>
__global__ void __launch_bounds__(block_threads)
    combine_cells(CellTerm<T, op> cell_term, Index cells, Index first, double* result) {
  const Index cell = first + Index{blockIdx.x} * block_threads + threadIdx.x;
  if (cell < cells) atomic_combine<op>(result, cell_term(cell));
}

template <class T>
void reduce(const ReductionArgs<T>& args, Stream stream) {
  const Index cells = args.region.cells();
  with_operation(args.op, [&]<ReductionOp op>() {
    combine_partials<op>(nullptr, 0, args.result, stream);  // stores 0
    for_grids(ceil_div(cells, block_threads), [&](unsigned blocks, Index first) {
      combine_cells<T, op><<<blocks, block_threads, 0, native(stream)>>>(CellTerm<T, op>(args), cells,
                                                                         first * block_threads, args.result);
      check_launch("global_atomic: combine_cells");
    });
  });
}

}  // namespace

template <class T>
void reduction_global_atomic(ReductionKernel<T>& kernel) {
  kernel.launch = reduce<T>;
  kernel.scratch_bytes = [](Box) { return std::size_t{0}; };
  kernel.resources = [] { return resources_of(combine_cells<T, ReductionOp::sum_squares>, block_threads); };
  kernel.sum_bits = SumBits::vary;
}

ISOTHERM_BOTH_PRECISIONS(reduction_global_atomic, ReductionKernel);

}  // namespace isotherm::cuda
