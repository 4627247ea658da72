// Linear combinations, defects and changes of fields on the GPU.
//
// Mapping   a thread takes a cell.
// Traffic   a combination: a read and a write of each field; a defect: a read of the field and its source, a
//           write of the defect; a change: its read, a read and a write of the field.
#include "kernels/cuda/launch.hpp"
#include "kernels/field_algebra.hpp"

namespace isotherm::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(256) combine_cells(FieldPair<T> pair, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, pair.region.hi)) return;
  combine_cell(pair, pair.x(cell), pair.y(cell));
}

template <class T>
void combine(const FieldPair<T>& pair, Stream stream) {
  launch_over("combine_cells", combine_cells<T>, pair.region, stream, pair);
}

template <class T, class Change>
__global__ void __launch_bounds__(256) find_cells(Defect<T, Change> d, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, d.region.hi)) return;
  d.defect(cell) = defect_of(d, &d.field(cell), d.source.empty() ? T(0) : d.source(cell));
}

template <class T, class Change>
__global__ void __launch_bounds__(256)
    add_cells(FieldView<const Change> change, FieldView<T> field, Box region, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, region.hi)) return;
  field(cell) += static_cast<T>(change(cell));
}

template <class T, class Change>
void find_defect(const Defect<T, Change>& d, Stream stream) {
  launch_over("find_defect", find_cells<T, Change>, d.region, stream, d);
}

template <class T, class Change>
void add(FieldView<const Change> change, FieldView<T> field, Box region, Stream stream) {
  launch_over("add_change", add_cells<T, Change>, region, stream, change, field, region);
}

}  // namespace

ISOTHERM_FUNCTIONS(functions, FieldAlgebra, combine<T>)
ISOTHERM_FUNCTIONS(functions, OwnChange, find_defect<T, T>, add<T, T>)
ISOTHERM_FUNCTIONS_OF(double, functions, FloatChange, find_defect<T, float>, add<T, float>)

}  // namespace isotherm::cuda
