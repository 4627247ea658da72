// Fields whose cell values encode their index, with poisoned ghosts.
#pragma once

#include <limits>

#include "core/box.hpp"
#include "grid/field.hpp"

namespace isotherm {

template <class Use>
void for_each_cell(Int3 extent, Use use) {
  for_each_cell(Box{{0, 0, 0}, extent}, use);
}
inline std::size_t index_of(Int3 cell, Int3 extent) {
  return static_cast<std::size_t>(cell.x + extent.x * (cell.y + extent.y * cell.z));
}

namespace test {

// Exact in fp32 for the grids of tests, and different in every cell. A divisor makes sums depend on their
// order.
template <class T>
T value_at(Int3 cell, Int3 cells, double divisor = 1) {
  return static_cast<T>((300 + static_cast<double>(index_of(cell, cells)) / 4) / divisor);
}

template <class T>
Field<T> field_by_index(Device& device, Box block, Int3 cells, int ghosts = 1, double divisor = 1) {
  Field<T> field(device, block.extent(), ghosts);
  const FieldView<T> view = field.view();
  for_each_cell(view.padded(), [&](Int3 c) {
    view(c) = view.interior().contains(c) ? value_at<T>(c + block.lo, cells, divisor)
                                          : std::numeric_limits<T>::quiet_NaN();
  });
  return field;
}

}  // namespace test
}  // namespace isotherm
