// Linear combinations of fields on the GPU.
//
// Mapping   a thread takes a cell.
// Traffic   a read and a write of each field.
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

}  // namespace

ISOTHERM_FUNCTIONS(functions, FieldAlgebra, combine<T>)

}  // namespace isotherm::cuda
