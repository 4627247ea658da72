// Fields whose cells tell where they are, with poisoned ghosts.
#pragma once

#include <limits>

#include "core/box.hpp"
#include "grid/field.hpp"

namespace isotherm::test {

// Exact in fp32 for the grids of tests, and different in every cell.
template <class T>
T value_at(Int3 cell, Int3 cells) {
  return static_cast<T>(300) + static_cast<T>(cell.x + cells.x * (cell.y + cells.y * cell.z)) / 4;
}

template <class T>
Field<T> field_by_index(Device& device, Box block, Int3 cells, int ghosts = 1) {
  Field<T> field(device, block.extent(), ghosts);
  const FieldView<T> view = field.view();
  const Box all = view.padded(), inner = view.interior();
  for (Index z = all.lo.z; z < all.hi.z; ++z)
    for (Index y = all.lo.y; y < all.hi.y; ++y)
      for (Index x = all.lo.x; x < all.hi.x; ++x)
        view(x, y, z) = inner.contains({x, y, z}) ? value_at<T>(Int3{x, y, z} + block.lo, cells)
                                                  : std::numeric_limits<T>::quiet_NaN();
  return field;
}

}  // namespace isotherm::test
