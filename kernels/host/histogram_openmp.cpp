// Each thread has private counts, on its stack: a shared count would move between cores with every cell. The
// counts are added up once per thread. Traffic per cell: one read.
#include "kernels/host/rows.hpp"

namespace isotherm::host {
namespace {

template <class T>
void count(const HistogramArgs<T>& args, Stream) {
  const Box box = args.region;
  const Bins bins = args.bins;
  for (int i = 0; i < bins.slots(); ++i) args.counts[i] = 0;
#pragma omp parallel if (box.cells() >= cells_worth_threads)
  {
    std::uint64_t mine[Bins::most + 3];
    for (int i = 0; i < bins.slots(); ++i) mine[i] = 0;
    for_each_row_of_thread(box, [&](Index y, Index z) {
      const T* row = &args.field(0, y, z);
      for (Index x = box.lo.x; x < box.hi.x; ++x) ++mine[bins.slot(static_cast<double>(row[x]))];
    });
#pragma omp critical(isotherm_histogram)
    for (int i = 0; i < bins.slots(); ++i) args.counts[i] += mine[i];
  }
}

}  // namespace

template <class Isa, class T>
void histogram_openmp(HistogramKernel<T>& kernel) {
  kernel.launch = count<T>;
}

ISOTHERM_INSTANTIATE(histogram_openmp, HistogramKernel);

}  // namespace isotherm::host
