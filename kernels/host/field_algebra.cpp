// Linear combinations of fields, OpenMP over rows.
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

}  // namespace

ISOTHERM_FUNCTIONS(functions<ISOTHERM_ISA>, FieldAlgebra, combine<T>)

}  // namespace isotherm::host
