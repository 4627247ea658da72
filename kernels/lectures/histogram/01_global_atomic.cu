// Histogram kernel `global_atomic`: every cell is one atomic addition to global memory. The slowest kernel.
//
// Algebra   counts[bin] += 1 for each cell, bin by Bins::slot(): edges decide, so rounding moves no value.
//           Integers: any order gives the same counts.
// Mapping   one thread per cell, blocks of 32 x 8: a warp reads 32 neighbours in x.
// Storage   registers: nothing but the cell's slot. The counts are in L2, where atomics are executed.
// Traffic   one read of 4 (8) bytes per cell, and one atomic of 8 bytes to L2. Neighbouring cells of a smooth
//           field fall into the same bin: their additions wait for each other at one address, and the fewer
//           bins hold cells, the longer they wait.
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(block_threads)
    count_globally(FieldView<const T> field, Int3 first, Int3 hi, Bins bins, Count* counts) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, hi)) return;
  atomicAdd(&counts[bins.slot(static_cast<double>(field(cell)))], Count{1});
}

template <class T>
void count(const HistogramArgs<T>& args, Stream stream) {
  Count* const counts = cleared(args.counts, args.bins, stream);
  const dim3 block(32, 8);
  cover(args.region, block, [&](dim3 grid, Int3 first) {
    count_globally<T>
        <<<grid, block, 0, native(stream)>>>(args.field, first, args.region.hi, args.bins, counts);
    check_launch("global_atomic: count_globally");
  });
}

}  // namespace

template <class T>
void histogram_global_atomic(HistogramKernel<T>& kernel) {
  kernel.launch = count<T>;
  kernel.resources = [] { return resources_of(count_globally<T>, block_threads); };
}

ISOTHERM_BOTH_PRECISIONS(histogram_global_atomic, HistogramKernel);

}  // namespace isotherm::cuda
