// What a rank adds to the file of a part of the field.
#pragma once

#include "core/field_view.hpp"
#include "output/dense_copy.hpp"
#include "output/slabs.hpp"

namespace isotherm {

template <class T>
struct PartCells {
  FieldView<const T> cells;  // a look at the field; empty where the rank has none
  Box in_file;               // where they stand in it
};

// The cells that `part` and this rank's `block` (both global) have in common.
template <class T>
PartCells<T> cut(FieldView<const T> field, Box block, Box part) {
  const Box common = intersect(block, part);
  if (common.empty()) return {};
  return {view_of(field, common.shifted(Int3{} - block.lo)), common.shifted(Int3{} - part.lo)};
}

}  // namespace isotherm
