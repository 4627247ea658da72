// Linear combinations, defects and changes of fields, OpenMP over rows.
#include "kernels/field_algebra.hpp"

#include "kernels/host/rows.hpp"

namespace isotherm::host {
namespace {

template <class T>
void combine(const FieldPair<T>& pair, Stream) {
  const Index lo = pair.region.lo.x, count = pair.region.extent().x;
  for_each_row(pair.region, [&](Index y, Index z) {
    T *const row = &pair.x(lo, y, z), *const other = &pair.y(lo, y, z);
    for (Index i = 0; i < count; ++i) combine_cell(pair, row[i], other[i]);
  });
}

template <class T, class Change>
void find_defect(const Defect<T, Change>& d, Stream) {
  const Index lo = d.region.lo.x, count = d.region.extent().x;
  for_each_row(d.region, [&](Index y, Index z) {
    const T* const t = &d.field(lo, y, z);
    Change* const out = &d.defect(lo, y, z);
    with_row(row_from(d.source, {lo, y, z}), d.unit.heat, [&](auto source) {
      for (Index i = 0; i < count; ++i)
        out[i] = defect_of(d, update_of(d.unit, t + i, d.field.pitch_y, d.field.pitch_z, source(i)));
    });
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

ISOTHERM_FUNCTIONS(functions<ISOTHERM_ISA>, FieldAlgebra, combine<T>)
ISOTHERM_FUNCTIONS(functions<ISOTHERM_ISA>, OwnChange, nullptr, find_defect<T, T>, add<T, T>)
ISOTHERM_FUNCTIONS_OF(double, functions<ISOTHERM_ISA>, FloatChange, nullptr, find_defect<T, float>,
                      add<T, float>)

}  // namespace isotherm::host
