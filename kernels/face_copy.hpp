// The per-cell work around a halo exchange: pack a box into a dense buffer, unpack it, copy a box within a
// field, fill the ghosts beyond boundaries, fill a field. One struct per backend.
#pragma once

#include "core/field_view.hpp"
#include "core/stream.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

template <class T>
struct FaceCopy {
  // Throws Error(unavailable) for a backend that is not in this build.
  static const FaceCopy& on(Backend backend);
  // `dense`: as in dense_view() of the box. Boxes are in interior indices and may include ghosts.
  void (*pack)(FieldView<const T> field, Box box, T* dense, Stream stream);
  void (*unpack)(const T* dense, FieldView<T> field, Box box, Stream stream);
  // Copies the box `from` to the box `to` of the same field. Both have the same extent and do not overlap.
  void (*copy_within)(FieldView<T> field, Box from, Box to, Stream stream);
  // Fills the ghosts beyond boundaries that a sweep of `region` reads: one layer over each side of the region
  // that is at a boundary. The region may include ghosts, but none beyond a boundary.
  void (*fill_boundaries)(FieldView<T> field, Boundaries<T> boundaries, Box region, Stream stream);
  // Fills the padded subdomain, ghosts included, by the threads that will sweep it (first touch on the host).
  void (*fill)(FieldView<T> field, T value, Stream stream);
};

}  // namespace isotherm
