// The plain loops that every other row is compared with.
#include "kernels/host/rows.hpp"

namespace isotherm::host {

template <class Isa, class T>
void StencilReference<Isa, T>::launch(const SweepArgs<T>& args, int, Stream) {
  const FieldView<const T> in = args.in;
  const Box box = args.region;
  for (Index z = box.lo.z; z < box.hi.z; ++z) {
    for (Index y = box.lo.y; y < box.hi.y; ++y) {
      for (Index x = box.lo.x; x < box.hi.x; ++x) {
        const T s = args.source.empty() ? T(0) : args.source(x, y, z);
        args.out(x, y, z) =
            stencil_update(args.c, in(x, y, z), in(x - 1, y, z), in(x + 1, y, z), in(x, y - 1, z),
                           in(x, y + 1, z), in(x, y, z - 1), in(x, y, z + 1), s);
      }
    }
  }
}

template struct StencilReference<ISOTHERM_ISA, float>;
template struct StencilReference<ISOTHERM_ISA, double>;

}  // namespace isotherm::host
