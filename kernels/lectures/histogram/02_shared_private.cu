// Histogram kernel `shared_private`: each block counts for itself, then adds its counts to those of all
// (privatisation; Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 4th edition, chapter 9).
//
// Algebra   as in global_atomic.
// Mapping   one thread per cell, as in global_atomic.
// Storage   shared memory: 32-bit counts of one block, 16 KB for the largest number of bins.
// Traffic   one read per cell; atomics stay within the multiprocessor. But a block of 256 cells clears and
//           adds up all its counts: with as many bins as cells this takes more work than the counting.
//           shared_private_coarsened avoids this.
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(block_threads)
    count_privately(FieldView<const T> field, Int3 first, Int3 hi, Bins bins, Count* counts) {
  __shared__ unsigned own[most_slots];
  clear_block<block_threads>(own, bins.slots());
  const Int3 cell = cell_of_thread(first);
  if (!beyond(cell, hi)) atomicAdd(&own[bins.slot(static_cast<double>(field(cell)))], 1u);
  add_block<block_threads>(own, bins.slots(), counts);
}

template <class T>
void count(const HistogramArgs<T>& args, Stream stream) {
  Count* const counts = cleared(args.counts, args.bins, stream);
  const dim3 block(32, 8);
  cover(args.region, block, [&](dim3 grid, Int3 first) {
    count_privately<T>
        <<<grid, block, 0, native(stream)>>>(args.field, first, args.region.hi, args.bins, counts);
    check_launch("shared_private: count_privately");
  });
}

}  // namespace

template <class T>
void histogram_shared_private(HistogramKernel<T>& kernel) {
  kernel.launch = count<T>;
  kernel.resources = [] { return resources_of(count_privately<T>, block_threads); };
}

ISOTHERM_BOTH_PRECISIONS(histogram_shared_private, HistogramKernel);

}  // namespace isotherm::cuda
