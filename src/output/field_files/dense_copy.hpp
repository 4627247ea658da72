// Rows between a padded field and a dense buffer, in host memory.
#pragma once

#include <algorithm>

#include "core/field_view.hpp"

namespace isotherm {

// `box` in interior indices of the field, to place `at` of a dense box of `extent`, whose order is x fastest,
// then y, then z. Rounds to the nearest where `To` is the narrower type.
template <class From, class To>
void copy_into_dense(FieldView<const From> field, Box box, To* dense, Int3 extent, Int3 at) {
  const Int3 n = box.extent();
  for (Index z = 0; z < n.z; ++z)
    for (Index y = 0; y < n.y; ++y) {
      const From* row = &field(box.lo.x, box.lo.y + y, box.lo.z + z);
      std::transform(row, row + n.x, dense + at.x + extent.x * (at.y + y + extent.y * (at.z + z)),
                     [](From value) { return static_cast<To>(value); });
    }
}

// `box` alone.
template <class From, class To>
void copy_to_dense(FieldView<const From> field, Box box, To* dense) {
  copy_into_dense(field, box, dense, box.extent(), {});
}

// The cells of `box`, in interior indices, as a field of their own without ghosts.
template <class T>
FieldView<const T> view_of(FieldView<const T> field, Box box) {
  return {field.origin + field.offset(box.lo.x, box.lo.y, box.lo.z), field.pitch_y, field.pitch_z,
          box.extent(), 0};
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
