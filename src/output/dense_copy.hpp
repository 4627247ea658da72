// Rows between a padded field and a dense buffer, in host memory.
#pragma once

#include <algorithm>

#include "core/field_view.hpp"

namespace isotherm {

// `box` in interior indices of the field; dense order: x fastest, then y, then z of the box. Rounds to the
// nearest where `To` is the narrower type.
template <class From, class To>
void copy_to_dense(FieldView<const From> field, Box box, To* dense) {
  const Index row = box.extent().x;
  for (Index z = box.lo.z; z < box.hi.z; ++z)
    for (Index y = box.lo.y; y < box.hi.y; ++y, dense += row)
      std::transform(&field(box.lo.x, y, z), &field(box.lo.x, y, z) + row, dense,
                     [](From value) { return static_cast<To>(value); });
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
