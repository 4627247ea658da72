// A process grid for tests: every axis is cut as soon as the rank count allows it, whatever a run would
// choose.
#pragma once

#include "core/box.hpp"

namespace isotherm {

// The prime factors of `ranks`, each on the axis with the fewest parts so far, z before y before x: 2 ->
// 1x1x2, 6 -> 1x3x2, 8 -> 2x2x2.
inline Int3 even_process_grid(int ranks) {
  Int3 grid{1, 1, 1};
  for (int factor = 2; ranks > 1;) {
    if (ranks % factor != 0) {
      ++factor;
      continue;
    }
    ranks /= factor;
    Index& least = grid.z <= grid.y && grid.z <= grid.x ? grid.z : grid.y <= grid.x ? grid.y : grid.x;
    least *= factor;
  }
  return grid;
}

}  // namespace isotherm
