// One serial loop in fp64, x fastest.
#include "kernels/host/reduction_step.hpp"
#include "kernels/host/rows.hpp"

namespace isotherm::host {
namespace {

template <ReductionOp op, class T>
double reduce(const ReductionArgs<T>& args) {
  const Box box = args.region;
  double total = 0;
  for (Index z = box.lo.z; z < box.hi.z; ++z) {
    for (Index y = box.lo.y; y < box.hi.y; ++y) {
      for (Index x = box.lo.x; x < box.hi.x; ++x) {
        const double a = args.a(x, y, z);
        total = accumulate<op>(total, args.b.empty() ? a : a - static_cast<double>(args.b(x, y, z)));
      }
    }
  }
  return total;
}

}  // namespace

template <class Isa, class T>
void reduction_reference(ReductionKernel<T>& row) {
  row.launch = [](const ReductionArgs<T>& args, Stream) {
    *args.result = for_op(args.op, [&](auto op) { return reduce<op.value>(args); });
  };
  row.scratch_bytes = [](Box) { return std::size_t{0}; };
}

template void reduction_reference<ISOTHERM_ISA>(ReductionKernel<float>&);
template void reduction_reference<ISOTHERM_ISA>(ReductionKernel<double>&);

}  // namespace isotherm::host
