// Whole fields, cell by cell: linear combinations, for methods that combine the results of several runs of
// sweeps; and defect correction, which solves for a change of a field on the same grid, in the same precision
// or a lower one. One struct per backend for each.
#pragma once

#include "core/field_view.hpp"
#include "core/stream.hpp"
#include "kernels/grid_transfer.hpp"

namespace isotherm {

// Replaces two fields of the same layout by two combinations of both, in place:
//
//     x, y  <-  xx x + xy y, yx x + yy y        each fma(first, x, second * y)
//
// With factors 1 and 0 this copies one field to the other, or swaps them.
template <class T>
struct FieldPair {
  FieldView<T> x, y;
  Box region;  // of both, in interior indices
  T xx, xy, yx, yy;
};

template <class T>
struct FieldAlgebra {
  static const FieldAlgebra& on(Backend backend);  // throws as FaceCopy::on()
  void (*combine)(const FieldPair<T>& pair, Stream stream);
};

// Combines one cell of both fields.
template <class T>
ISOTHERM_HOST_DEVICE void combine_cell(const FieldPair<T>& p, T& x, T& y) {
  const T before = x;
  x = fused_multiply_add(p.xx, before, p.xy * y);
  y = fused_multiply_add(p.yx, before, p.yy * y);
}

template <class T, class Change>
struct Defect {
  FieldView<const T> field;   // K; valid one cell around the region
  FieldView<const T> source;  // as in SweepArgs
  Coefficients<T> unit;       // of a sweep of the unit weight
  FieldView<Change> defect;   // result, in the region: scale times the update of that sweep; may be empty
  Box region;                 // interior indices, from (0, 0, 0) on
  T scale;
  UpdateNorm norm = {};  // of that update, where norm_scratch_bytes is not null
};

template <class T, class Change>
struct ChangeTransfer {
  // T with T, and double with float; throws as FaceCopy::on().
  static const ChangeTransfer& on(Backend backend);
  std::size_t (*norm_scratch_bytes)(Box region);  // null: find_defect() finds no norms
  void (*find_defect)(const Defect<T, Change>& defect, Stream stream);
  void (*add)(FieldView<const Change> change, FieldView<T> field, Box region, Stream stream);
};

template <class T>
using OwnChange = ChangeTransfer<T, T>;
template <class T>
using FloatChange = ChangeTransfer<T, float>;

// Returns the defect of a cell from its update.
template <class T, class Change>
ISOTHERM_HOST_DEVICE Change defect_of(const Defect<T, Change>& d, T update) {
  return static_cast<Change>(d.scale * update);
}

}  // namespace isotherm
