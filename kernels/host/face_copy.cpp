// The per-cell work around a halo exchange, OpenMP over rows.
#include "kernels/face_copy.hpp"

#include <omp.h>

#include "kernels/host/rows.hpp"

namespace isotherm::host {
namespace {

// Copies all cells of a view to another of the same extent.
template <class T>
void copy(FieldView<const T> from, FieldView<T> to) {
  for_each_row(to.interior(), [&](Index y, Index z) {
    const T* const source = &from(0, y, z);
    T* const target = &to(0, y, z);
    for (Index x = 0; x < to.extent.x; ++x) target[x] = source[x];
  });
}

template <class T>
void pack(FieldView<const T> field, Box box, T* dense, Stream) {
  copy(field.part(box), dense_view(dense, box.extent()));
}

template <class T>
void unpack(const T* dense, FieldView<T> field, Box box, Stream) {
  copy(dense_view(dense, box.extent()), field.part(box));
}

template <class T>
void copy_within(FieldView<T> field, Box from, Box to, Stream) {
  copy<T>(field.part(from), field.part(to));
}

// The ghosts beyond the boundary that a sweep of the region reads; empty if the region ends before it.
Box ghosts_beyond(Face boundary, Int3 extent, Box region) {
  const int axis = axis_of(boundary);
  if (is_max(boundary) ? region.hi[axis] != extent[axis] : region.lo[axis] != 0) return {};
  Box box = region;
  box.lo[axis] = is_max(boundary) ? extent[axis] : -1;
  box.hi[axis] = box.lo[axis] + 1;
  return box;
}

template <class T>
void fill_boundaries(FieldView<T> field, Boundaries<T> boundaries, Box region, Stream) {
  if (region.empty()) return;
  for (int f = 0; f < face_count; ++f) {
    const Boundary<T> boundary = boundaries.faces[f];
    if (!boundary.is_boundary) continue;
    const Face at = static_cast<Face>(f);
    const int axis = axis_of(at);
    Int3 inward;  // from the ghost to the cell at the boundary
    inward[axis] = is_max(at) ? -1 : 1;
    const Box box = ghosts_beyond(at, field.extent, region);
    for_each_row(box, [&](Index y, Index z) {
      T* ghost = &field(0, y, z);
      const T* cell = &field(inward.x, y + inward.y, z + inward.z);
      for (Index x = box.lo.x; x < box.hi.x; ++x) {
        const Index p = axis == 0 ? y : x, q = axis == 2 ? y : z;
        ghost[x] = boundary.ghost(p, q, cell[x]);
      }
    });
  }
}

// Each thread writes the cells that it will sweep, and the ghosts next to them: on a NUMA machine the first
// touch decides in which memory a page is.
template <class T>
void fill(FieldView<T> field, T value, Stream) {
  const Int3 extent = field.extent;
  const Index g = field.ghosts;
#pragma omp parallel if (field.padded().cells() >= cells_worth_threads)
  {
    Box mine = share(field.interior(), omp_get_thread_num(), omp_get_num_threads());
    if (!mine.empty()) {
      for (int axis = 0; axis < 3; ++axis) {
        if (mine.lo[axis] == 0) mine.lo[axis] -= g;
        if (mine.hi[axis] == extent[axis]) mine.hi[axis] += g;
      }
      for (Index z = mine.lo.z; z < mine.hi.z; ++z) {
        for (Index y = mine.lo.y; y < mine.hi.y; ++y) {
          T* row = &field(0, y, z);
          for (Index x = mine.lo.x; x < mine.hi.x; ++x) row[x] = value;
        }
      }
    }
  }
}

}  // namespace

ISOTHERM_FUNCTIONS(functions<ISOTHERM_ISA>, FaceCopy, pack<T>, unpack<T>, copy_within<T>, fill_boundaries<T>,
                   fill<T>)

}  // namespace isotherm::host
