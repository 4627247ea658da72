// The kernels `reference`: plain loops in one thread, x fastest. Tests compare all others with them.
//
// Algebra   the formulas as they are: stencil_update(), or material_update() with several materials;
//           a sum or a maximum in fp64; counts of bins.
// Mapping   one thread, one cell after another.
// Storage   registers: the values of a cell.
// Traffic   depends on the caches: at best each cell is read once, and written once by a sweep.
#include "kernels/host/update_norm.hpp"

namespace isotherm::host {
namespace {

template <class Body>
void plain_loops(Box box, const Body& body) {
  for (Index z = box.lo.z; z < box.hi.z; ++z) {
    for (Index y = box.lo.y; y < box.hi.y; ++y) {
      for (Index x = box.lo.x; x < box.hi.x; ++x) body(x, y, z);
    }
  }
}

// Stores cell_update(x, y, z) in each cell of the region.
template <class T, class CellUpdate>
void sweep_cells(const SweepArgs<T>& args, const CellUpdate& cell_update) {
  const FieldView<const T> in = args.in;
  with_update(args.norm, [&]<Update update>() {
    double norm = 0;
    plain_loops(args.region, [&](Index x, Index y, Index z) {
      const T value = cell_update(x, y, z);
      args.out(x, y, z) = value;
      if (update != Update::none) norm = add_update(args.norm.op, norm, value, in(x, y, z));
    });
    if (update != Update::none) finish_norm(args.norm, &norm, 1);
  });
}

template <class T>
void sweep(const SweepArgs<T>& args, SweepPlan, Stream) {
  const FieldView<const T> in = args.in;
  if (!args.materials.empty())
    return sweep_cells(args, [&](Index x, Index y, Index z) {
      return material_update(args.materials, x, y, z, in(x, y, z), in(x - 1, y, z), in(x + 1, y, z),
                             in(x, y - 1, z), in(x, y + 1, z), in(x, y, z - 1), in(x, y, z + 1),
                             args.source.empty() ? T(0) : args.source(x, y, z));
    });
  sweep_cells(args, [&](Index x, Index y, Index z) {
    const Coefficients<T>& c = args.c[0];
    const T s = scaled_source(c, args.source.empty() ? c.heat : args.source(x, y, z));
    return stencil_update(c, in(x, y, z), in(x - 1, y, z), in(x + 1, y, z), in(x, y - 1, z), in(x, y + 1, z),
                          in(x, y, z - 1), in(x, y, z + 1), s);
  });
}

// Reduces in fp64.
template <ReductionOp op, class T>
double reduce(const ReductionArgs<T>& args) {
  double total = 0;
  plain_loops(args.region, [&](Index x, Index y, Index z) {
    const double a = args.a(x, y, z);
    total = accumulate<op>(total, args.b.empty() ? a : a - static_cast<double>(args.b(x, y, z)));
  });
  return total;
}

template <class T>
void count(const HistogramArgs<T>& args, Stream) {
  for (int i = 0; i < args.bins.slots(); ++i) args.counts[i] = 0;
  plain_loops(args.region, [&](Index x, Index y, Index z) {
    ++args.counts[args.bins.slot(static_cast<double>(args.field(x, y, z)))];
  });
}

}  // namespace

template <class Isa, class T>
void stencil_reference(StencilKernel<T>& kernel) {
  kernel.launch = sweep<T>;
  kernel.norm_scratch_bytes = [](Box, int) { return std::size_t{0}; };
  kernel.sweeps_materials = true;
}

ISOTHERM_INSTANTIATE(stencil_reference, StencilKernel);

template <class Isa, class T>
void reduction_reference(ReductionKernel<T>& kernel) {
  kernel.launch = [](const ReductionArgs<T>& args, Stream) {
    *args.result = with_operation(args.op, [&]<ReductionOp op>() { return reduce<op>(args); });
  };
  kernel.scratch_bytes = [](Box) { return std::size_t{0}; };
}

ISOTHERM_INSTANTIATE(reduction_reference, ReductionKernel);

template <class Isa, class T>
void histogram_reference(HistogramKernel<T>& kernel) {
  kernel.launch = count<T>;
}

ISOTHERM_INSTANTIATE(histogram_reference, HistogramKernel);

}  // namespace isotherm::host
