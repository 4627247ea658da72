// The copy that the roof is measured with: each thread its part, streaming stores.
#include <omp.h>

#include "kernels/host/partition.hpp"
#include "kernels/host/rows.hpp"
#include "kernels/host/vector.hpp"

namespace isotherm::host {

template <class Isa>
void Copy<Isa>::fill(double* to, std::size_t count, double value) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < count; ++i) to[i] = value;
}

template <class Isa>
void Copy<Isa>::run(double* to, const double* from, std::size_t count) {
  using V = Vector<Isa, double, widest<Isa>>;
  const Index vectors = static_cast<Index>(count) / V::lanes;
#pragma omp parallel
  {
    const Range mine = part_of({0, vectors}, omp_get_thread_num(), omp_get_num_threads());
    for (Index i = mine.lo * V::lanes; i < mine.hi * V::lanes; i += V::lanes) {
      V::store_streaming(to + i, V::load(from + i));
    }
    stream_fence();
  }
  for (Index i = vectors * V::lanes; i < static_cast<Index>(count); ++i) to[i] = from[i];
}

template struct Copy<ISOTHERM_ISA>;

}  // namespace isotherm::host
