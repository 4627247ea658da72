// Linear combinations of fields, OpenMP over rows.
#include "kernels/field_algebra.hpp"

#include "kernels/host/host_kernels.hpp"

namespace isotherm::host {
namespace {

template <class T>
void combine(const FieldPair<T>& pair, Stream) {
  const Box box = pair.region;
  if (box.empty()) return;
  const Index count = box.extent().x;
#pragma omp parallel for collapse(2) schedule(static) if (box.cells() >= cells_worth_threads)
  for (Index z = box.lo.z; z < box.hi.z; ++z) {
    for (Index y = box.lo.y; y < box.hi.y; ++y) {
      T *const row = &pair.x(box.lo.x, y, z), *const other = &pair.y(box.lo.x, y, z);
      for (Index i = 0; i < count; ++i) combine_cell(pair, row[i], other[i]);
    }
  }
}

}  // namespace

template <class Isa, class T>
const FieldAlgebra<T> FieldAlgebraFunctions<Isa, T>::functions = {combine<T>};

template struct FieldAlgebraFunctions<ISOTHERM_ISA, float>;
template struct FieldAlgebraFunctions<ISOTHERM_ISA, double>;

}  // namespace isotherm::host
