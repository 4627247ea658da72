// Defects and changes of a field, OpenMP over rows.
#include "kernels/change.hpp"

#include "kernels/host/rows.hpp"

namespace isotherm::host {
namespace {

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
