// What is left of a box without a box within it.
#pragma once

#include <vector>

#include "core/box.hpp"

namespace isotherm {

// Disjoint boxes, none empty: whole planes below and above `inner`, then whole rows before and behind it
// along y, then what is beside it along x. All of `whole` where `inner` is empty.
inline std::vector<Box> boxes_around(Box whole, Box inner) {
  if (inner.empty()) inner = {whole.lo, whole.lo};
  std::vector<Box> around;
  for (int axis = 2; axis >= 0; --axis) {
    Box lower = whole, upper = whole;
    lower.hi[axis] = whole.lo[axis] = inner.lo[axis];
    upper.lo[axis] = whole.hi[axis] = inner.hi[axis];
    for (const Box& box : {lower, upper}) {
      if (!box.empty()) around.push_back(box);
    }
  }
  return around;
}

}  // namespace isotherm
