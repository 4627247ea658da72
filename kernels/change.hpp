// Defect correction: solves for a change of a field on the same grid, in the same precision or a lower one.
// One struct per backend.
#pragma once

#include "core/field_view.hpp"
#include "core/stream.hpp"
#include "kernels/grid_transfer.hpp"

namespace isotherm {

template <class T, class Change>
struct Defect {
  FieldView<const T> field;   // K; valid one cell around the region
  FieldView<const T> source;  // as in SweepArgs
  Coefficients<T> unit;       // of a sweep of the unit weight
  FieldView<Change> defect;   // result, in the region: scale times the update of that sweep
  Box region;                 // interior indices
  T scale;
};

template <class T, class Change>
struct ChangeTransfer {
  void (*find_defect)(const Defect<T, Change>& defect, Stream stream);
  void (*add)(FieldView<const Change> change, FieldView<T> field, Box region, Stream stream);
};

template <class T>
using OwnChange = ChangeTransfer<T, T>;
template <class T>
using FloatChange = ChangeTransfer<T, float>;

// float with float, double with either; throws as face_copy() does.
template <class T, class Change>
const ChangeTransfer<T, Change>& change_transfer(Backend backend);

// Of one cell.
template <class T, class Change>
ISOTHERM_HOST_DEVICE Change defect_of(const Defect<T, Change>& d, const T* t, T source) {
  return static_cast<Change>(d.scale * update_of(d.unit, t, d.field.pitch_y, d.field.pitch_z, source));
}

}  // namespace isotherm
