// One serial loop, x fastest.
#include "kernels/host/rows.hpp"

namespace isotherm::host {

template <class Isa, class T>
void HistogramReference<Isa, T>::launch(const HistogramArgs<T>& args, Stream) {
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

template struct HistogramReference<ISOTHERM_ISA, float>;
template struct HistogramReference<ISOTHERM_ISA, double>;

}  // namespace isotherm::host
