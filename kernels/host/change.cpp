// Defects and changes of a field, OpenMP over rows.
#include "kernels/change.hpp"

#include "kernels/host/host_kernels.hpp"

namespace isotherm::host {
namespace {

// body(y, z) for every row of the box.
template <class Body>
void for_each_row(Box box, const Body& body) {
  if (box.empty()) return;
#pragma omp parallel for collapse(2) schedule(static) if (box.cells() >= cells_worth_threads)
  for (Index z = box.lo.z; z < box.hi.z; ++z) {
    for (Index y = box.lo.y; y < box.hi.y; ++y) body(y, z);
  }
}

template <class T, class Change>
void find_defect(const Defect<T, Change>& d, Stream) {
  const Index lo = d.region.lo.x, count = d.region.extent().x;
  for_each_row(d.region, [&](Index y, Index z) {
    const T* const t = &d.field(lo, y, z);
    Change* const out = &d.defect(lo, y, z);
    if (d.source.empty()) {
      for (Index i = 0; i < count; ++i) out[i] = defect_of(d, t + i, T(0));
    } else {
      const T* const s = &d.source(lo, y, z);
      for (Index i = 0; i < count; ++i) out[i] = defect_of(d, t + i, s[i]);
    }
  });
}

template <class T, class Change>
void add(FieldView<const Change> change, FieldView<T> field, Box region, Stream) {
  const Index lo = region.lo.x, count = region.extent().x;
  for_each_row(region, [&](Index y, Index z) {
    const Change* const from = &change(lo, y, z);
    T* const to = &field(lo, y, z);
    for (Index i = 0; i < count; ++i) to[i] += static_cast<T>(from[i]);
  });
}

}  // namespace

template <class Isa, class T, class Change>
const ChangeTransfer<T, Change> ChangeFunctions<Isa, T, Change>::functions = {find_defect<T, Change>,
                                                                              add<T, Change>};

template struct ChangeFunctions<ISOTHERM_ISA, float, float>;
template struct ChangeFunctions<ISOTHERM_ISA, double, double>;
template struct ChangeFunctions<ISOTHERM_ISA, double, float>;

}  // namespace isotherm::host
