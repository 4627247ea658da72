// Histogram row `global_atomic`: every cell is one atomic addition to global memory. The lowest rung.
//
// Mapping   one thread a cell, blocks of 32 x 8: a warp reads 32 neighbours in x.
// Lives in  registers: nothing but the cell's slot. The counts live in L2, where atomics are carried out.
// Traffic   one read of 4 (8) bytes a cell, and one atomic of 8 bytes to L2. Neighbouring cells of a smooth
//           field fall into the same bin: their additions wait for each other at one address, and the fewer
//           bins hold cells, the longer they wait.
#include "kernels/cuda/histogram_cells.hpp"
#include "kernels/cuda/resources.hpp"
#include "kernels/cuda/rows.hpp"

namespace isotherm::cuda {
namespace {

struct Block {
  static constexpr int x = 32, y = 8, z = 1;
  static constexpr int threads = x * y * z;
};

template <class T>
__global__ void __launch_bounds__(Block::threads)
    count_globally(FieldView<const T> field, Int3 first, Int3 hi, Bins bins, Count* counts) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, hi)) return;
  atomicAdd(&counts[bins.slot(static_cast<double>(field(cell)))], Count{1});
}

template <class T>
void count(const HistogramArgs<T>& args, Stream stream) {
  Count* const counts = cleared(args.counts, args.bins, stream);
  if (args.region.empty()) return;
  const dim3 block = fit_block({Block::x, Block::y, Block::z}, args.region.extent());
  cover(args.region, block, [&](dim3 grid, Int3 first) {
    launch("global_atomic: count_globally", count_globally<T>, {grid, block}, stream, args.field, first,
           args.region.hi, args.bins, counts);
  });
}

}  // namespace

template <class T>
void histogram_global_atomic(HistogramKernel<T>& row) {
  row.launch = count<T>;
  row.resources = [] { return resources_of(count_globally<T>, Block::threads); };
}

template void histogram_global_atomic(HistogramKernel<float>&);
template void histogram_global_atomic(HistogramKernel<double>&);

}  // namespace isotherm::cuda
