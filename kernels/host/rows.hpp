// Rows of a box, dealt out to threads.
#pragma once

#include "kernels/host/host_kernels.hpp"

namespace isotherm::host {

// body(y, z) for every row of the box; by one thread where it has fewer cells than are `worth` several.
template <class Body>
void for_each_row(Box box, const Body& body, Index worth = cells_worth_threads) {
  if (box.empty()) return;
#pragma omp parallel for collapse(2) schedule(static) if (box.cells() >= worth)
  for (Index z = box.lo.z; z < box.hi.z; ++z) {
    for (Index y = box.lo.y; y < box.hi.y; ++y) body(y, z);
  }
}

}  // namespace isotherm::host
