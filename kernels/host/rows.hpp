// Distributes the rows of a box over threads.
#pragma once

#include "kernels/host/host_kernels.hpp"

namespace isotherm::host {

// body(y, z) for this thread's rows of the box, in a parallel region; without a barrier.
template <class Body>
void for_each_row_of_thread(Box box, const Body& body) {
#pragma omp for collapse(2) schedule(static) nowait
  for (Index z = box.lo.z; z < box.hi.z; ++z) {
    for (Index y = box.lo.y; y < box.hi.y; ++y) body(y, z);
  }
}

// body(y, z) for every row of the box; by one thread if the box has fewer than `worth` cells.
template <class Body>
void for_each_row(Box box, const Body& body, Index worth = cells_worth_threads) {
  if (box.empty()) return;
#pragma omp parallel if (box.cells() >= worth)
  for_each_row_of_thread(box, body);
}
// The same for rows with more work per cell than a copy.
template <class Body>
void for_each_busy_row(Box box, const Body& body) {
  for_each_row(box, body, cells_worth_threads / 8);
}

// The cells from `first` on along x; null for an empty field.
template <class T>
static inline T* row_from(FieldView<T> field, Int3 first) {
  return field.empty() ? nullptr : &field(first);
}
// Calls body(value), where value(i) is row[i], or `otherwise` without a row.
template <class T, class Body>
static inline void with_row(const T* row, T otherwise, const Body& body) {
  if (!row) return body([otherwise](Index) { return otherwise; });
  body([row](Index i) { return row[i]; });
}

}  // namespace isotherm::host
