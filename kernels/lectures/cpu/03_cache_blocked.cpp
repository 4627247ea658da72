// Stencil kernel `cache_blocked`: rows in blocks of which three planes fit in cache.
//
// Algebra   one sweep, stencil_update(); boundaries are in the ghosts.
// Mapping   each thread has one box of the region, the part whose memory it touched first (share()). It walks
//           through its box in blocks of rows: along x, then the rows of the block, then the planes, then the
//           next block. Rows are not cut: long runs suit the processor's prefetchers.
// Storage   vector registers: the seven values. L2, half of it: three planes of a block.
// Traffic   a plane of a block is read from memory once for its three uses, with two more rows per block. A
//           store first reads its line, so memory moves three values per cell, for any size of the field.
//           `openmp` (kernels/host) adds several planes per pass, prefetching, stores that bypass the caches.
#include <omp.h>

#include "kernels/lectures/cpu/row.hpp"

namespace isotherm::host {
namespace {

template <class T>
void sweep(const SweepArgs<T>& args, SweepPlan, Stream) {
  const Box box = args.region;
  if (box.empty()) return;
  const Index plane_bytes = static_cast<Index>(second_level_cache_bytes()) / 2 / 3;
  const Index rows = larger(plane_bytes / (box.extent().x * static_cast<Index>(sizeof(T))), Index{4});
#pragma omp parallel if (box.cells() >= cells_worth_threads)
  {
    const Box mine = share(box, omp_get_thread_num(), omp_get_num_threads());
    for (Index block = mine.lo.y; block < mine.hi.y; block += rows) {
      const Index end = smaller(block + rows, mine.hi.y);
      for (Index z = mine.lo.z; z < mine.hi.z; ++z) {
        for (Index y = block; y < end; ++y) sweep_row(args, y, z);
      }
    }
  }
}

}  // namespace

template <class Isa, class T>
void stencil_cache_blocked(StencilKernel<T>& kernel) {
  kernel.launch = sweep<T>;
}

ISOTHERM_INSTANTIATE(stencil_cache_blocked, StencilKernel);

}  // namespace isotherm::host
