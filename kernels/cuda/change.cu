// Defects and changes of a field on the GPU.
//
// Mapping   a thread takes a cell.
// Traffic   a read of the field and its source, a write of the defect; a read of the change, a read and a
//           write of the field.
#include "kernels/change.hpp"
#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {
namespace {

constexpr dim3 wide(warp_size, 8, 1);

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
  const dim3 block = fit_block(wide, d.region.extent());
  cover(d.region, block, [&](dim3 grid, Int3 first) {
    launch("find_defect", find_cells<T, Change>, {grid, block}, stream, d, first);
  });
}

template <class T, class Change>
void add(FieldView<const Change> change, FieldView<T> field, Box region, Stream stream) {
  const dim3 block = fit_block(wide, region.extent());
  cover(region, block, [&](dim3 grid, Int3 first) {
    launch("add_change", add_cells<T, Change>, {grid, block}, stream, change, field, region, first);
  });
}

}  // namespace

ISOTHERM_FUNCTIONS(functions, OwnChange, find_defect<T, T>, add<T, T>)
ISOTHERM_FUNCTIONS_OF(double, functions, FloatChange, find_defect<T, float>, add<T, float>)

}  // namespace isotherm::cuda
