// Rows between a padded field and a dense buffer, in host memory.
#pragma once

#include <algorithm>

#include "core/field_view.hpp"

namespace isotherm {

// `box` in interior indices of the field; dense order: x fastest, then y, then z of the box.
template <class T>
void copy_to_dense(FieldView<const T> field, Box box, T* dense) {
  const Index row = box.extent().x;
  for (Index z = box.lo.z; z < box.hi.z; ++z)
    for (Index y = box.lo.y; y < box.hi.y; ++y, dense += row) std::copy_n(&field(box.lo.x, y, z), row, dense);
}

// A dense buffer seen as a field without ghosts.
template <class T>
FieldView<const T> dense_view(const T* dense, Int3 extent) {
  return {dense, extent.x, extent.x * extent.y, extent, 0};
}

template <class T>
Index slab_cells(Index slab_bytes) {
  return std::max<Index>(1, slab_bytes / static_cast<Index>(sizeof(T)));
}

}  // namespace isotherm
