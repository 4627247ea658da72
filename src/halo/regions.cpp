#include "halo/regions.hpp"

#include <algorithm>

namespace isotherm {

Box ghost_box(Int3 extent, int ghosts, Direction d) {
  Box box{{0, 0, 0}, extent};
  for (int axis = 0; axis < 3; ++axis) {
    if (d[axis] < 0) {
      box.lo[axis] = -ghosts;
      box.hi[axis] = 0;
    } else if (d[axis] > 0) {
      box.lo[axis] = extent[axis];
      box.hi[axis] = extent[axis] + ghosts;
    }
  }
  return box;
}

Box edge_box(Int3 extent, int ghosts, Direction d) {
  Box box{{0, 0, 0}, extent};
  for (int axis = 0; axis < 3; ++axis) {
    if (d[axis] < 0) box.hi[axis] = ghosts;
    if (d[axis] > 0) box.lo[axis] = extent[axis] - ghosts;
  }
  return box;
}

Split split_block(Int3 extent, const std::array<bool, face_count>& remote, Index reach) {
  Split split{{{0, 0, 0}, extent}, {}};
  // Each axis, z first, takes its shells off what the axes before left over. The upper bound is cut at the
  // lower, so that the shells of a block thinner than twice the reach do not overlap.
  for (int axis = 2; axis >= 0; --axis) {
    Box& left = split.interior;
    Box lower = left, upper = left;
    const auto thickness = [&](bool max) { return remote[static_cast<int>(face(axis, max))] ? reach : 0; };
    lower.hi[axis] = std::min(extent[axis], thickness(false));
    upper.lo[axis] = std::max(lower.hi[axis], extent[axis] - thickness(true));
    left.lo[axis] = lower.hi[axis];
    left.hi[axis] = upper.lo[axis];
    for (const Box& shell : {lower, upper}) {
      if (!shell.empty()) split.shells.push_back(shell);
    }
  }
  return split;
}

}  // namespace isotherm
