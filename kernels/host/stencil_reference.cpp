// The plain loops that every other row is compared with.
#include "kernels/host/rows.hpp"
#include "kernels/host/update_norm.hpp"

namespace isotherm::host {
namespace {

template <class T>
void sweep(const SweepArgs<T>& args, SweepPlan, Stream) {
  const FieldView<const T> in = args.in;
  const Box box = args.region;
  with_update(args.norm, [&]<Update update>() {
    double norm = 0;
    for (Index z = box.lo.z; z < box.hi.z; ++z) {
      for (Index y = box.lo.y; y < box.hi.y; ++y) {
        for (Index x = box.lo.x; x < box.hi.x; ++x) {
          const T s = args.source.empty() ? T(0) : args.source(x, y, z);
          const T value =
              stencil_update(args.c, in(x, y, z), in(x - 1, y, z), in(x + 1, y, z), in(x, y - 1, z),
                             in(x, y + 1, z), in(x, y, z - 1), in(x, y, z + 1), s);
          args.out(x, y, z) = value;
          norm = add_update<update>(norm, value, in(x, y, z));
        }
      }
    }
    if (update != Update::none) finish_norm(args.norm, &norm, 1);
  });
}

}  // namespace

template <class Isa, class T>
void stencil_reference(StencilKernel<T>& row) {
  row.launch = sweep<T>;
  row.norm_scratch_bytes = [](Box, int) { return std::size_t{0}; };
}

template void stencil_reference<ISOTHERM_ISA>(StencilKernel<float>&);
template void stencil_reference<ISOTHERM_ISA>(StencilKernel<double>&);

}  // namespace isotherm::host
