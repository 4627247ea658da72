// Stencil kernel `vectorised`: the plain loops with two pragmas, threads over rows and vectors along x.
//
// Algebra   one sweep, stencil_update(); boundaries are in the ghosts.
// Mapping   threads share the rows of the region; the cells of a row are swept in vectors of 4 to 16, if
//           the instruction set has these (`omp simd` in row.hpp).
// Storage   vector registers: the seven values.
// Traffic   seven vector loads and a store. x neighbours are in L1; y neighbours are three rows of one plane,
//           in L1 or L2; z neighbours are in cache as long as it holds three planes of a thread's rows.
//           Otherwise memory delivers each cell three times; `cache_blocked` avoids this. A store first reads
//           its line, so memory moves at least three values per cell; `openmp` has stores that bypass the
//           caches.
#include "kernels/lectures/cpu/row.hpp"

namespace isotherm::host {
namespace {

template <class T>
void sweep(const SweepArgs<T>& args, SweepPlan, Stream) {
  const Box box = args.region;
  if (box.empty()) return;
#pragma omp parallel for collapse(2) schedule(static) if (box.cells() >= cells_worth_threads)
  for (Index z = box.lo.z; z < box.hi.z; ++z) {
    for (Index y = box.lo.y; y < box.hi.y; ++y) sweep_row(args, y, z);
  }
}

}  // namespace

template <class Isa, class T>
void stencil_vectorised(StencilKernel<T>& kernel) {
  kernel.launch = sweep<T>;
}

ISOTHERM_INSTANTIATE(stencil_vectorised, StencilKernel);

}  // namespace isotherm::host
