// The per-cell work around a halo exchange: pack a box into a dense buffer, unpack it, copy a box within a
// field, fill the ghosts beyond boundaries, fill a field. One struct a backend.
#pragma once

#include "core/field_view.hpp"
#include "core/stream.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

template <class T>
struct FaceCopy {
  // Dense order: x fastest, then y, then z of the box. Boxes are in interior indices and may lie
  // in the ghosts.
  void (*pack)(FieldView<const T> field, Box box, T* dense, Stream stream);
  void (*unpack)(const T* dense, FieldView<T> field, Box box, Stream stream);
  // Cells of `to` become those of the equally large `from`, of the same field; the boxes do not overlap.
  void (*copy_within)(FieldView<T> field, Box from, Box to, Stream stream);
  // The first ghost layer beyond each boundary that `region` ends at, over the region's whole side there:
  // what a sweep of the region looks into. It reaches beyond no boundary, but may reach into other ghosts.
  void (*fill_boundaries)(FieldView<T> field, Boundaries<T> boundaries, Box region, Stream stream);
  // Every cell of the padded block, ghosts included, by the threads that will sweep it (first touch
  // on the host).
  void (*fill)(FieldView<T> field, T value, Stream stream);
};

template <class T>
const FaceCopy<T>& face_copy(
    Backend backend);  // throws Error(unavailable) for a backend that is not in this build

}  // namespace isotherm
