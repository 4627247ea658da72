// Linear combinations of whole fields, cell by cell, for methods that combine the results of several runs of
// sweeps. One struct per backend.
#pragma once

#include "core/field_view.hpp"
#include "core/stream.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// Replaces two fields of the same layout by two combinations of both, in place:
//
//     x, y  <-  xx x + xy y, yx x + yy y        each fma(first, x, second * y)
//
// With 1 and 0 that copies one field to the other, or swaps them.
template <class T>
struct FieldPair {
  FieldView<T> x, y;
  Box region;  // of both, in interior indices
  T xx, xy, yx, yy;
};

template <class T>
struct FieldAlgebra {
  void (*combine)(const FieldPair<T>& pair, Stream stream);
};

template <class T>
const FieldAlgebra<T>& field_algebra(Backend backend);  // throws as face_copy() does

// Of one cell.
template <class T>
ISOTHERM_HOST_DEVICE void combine_cell(const FieldPair<T>& p, T& x, T& y) {
  const T before = x;
  x = fused_multiply_add(p.xx, before, p.xy * y);
  y = fused_multiply_add(p.yx, before, p.yy * y);
}

}  // namespace isotherm
