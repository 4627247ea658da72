// One serial loop, x fastest.
#include "kernels/host/rows.hpp"

namespace isotherm::host {
namespace {

template <class T>
void count(const HistogramArgs<T>& args, Stream) {
  for (int i = 0; i < args.bins.slots(); ++i) args.counts[i] = 0;
  const Box box = args.region;
  for (Index z = box.lo.z; z < box.hi.z; ++z) {
    for (Index y = box.lo.y; y < box.hi.y; ++y) {
      for (Index x = box.lo.x; x < box.hi.x; ++x) {
        ++args.counts[args.bins.slot(static_cast<double>(args.field(x, y, z)))];
      }
    }
  }
}

}  // namespace

template <class Isa, class T>
void histogram_reference(HistogramKernel<T>& row) {
  row.launch = count<T>;
}

template void histogram_reference<ISOTHERM_ISA>(HistogramKernel<float>&);
template void histogram_reference<ISOTHERM_ISA>(HistogramKernel<double>&);

}  // namespace isotherm::host
