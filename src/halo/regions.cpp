#include "halo/regions.hpp"

#include <algorithm>
#include <optional>

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

GhostSides ghost_sides(const Decomposition& decomposition, int rank) {
  GhostSides sides;
  const std::vector<Direction> faces = face_directions();  // in the order of Face
  for (std::size_t f = 0; f < face_count; ++f) {
    const std::optional<int> neighbour = decomposition.neighbour(rank, faces[f]);
    sides.filled[f] = neighbour.has_value();
    sides.remote[f] = neighbour && *neighbour != rank;
  }
  return sides;
}

Box widened_block(Int3 extent, const std::array<bool, face_count>& sides, Index layers) {
  Box box{{0, 0, 0}, extent};
  for (int axis = 0; axis < 3; ++axis) {
    if (sides[static_cast<std::size_t>(face(axis, false))]) box.lo[axis] -= layers;
    if (sides[static_cast<std::size_t>(face(axis, true))]) box.hi[axis] += layers;
  }
  return box;
}

Split split_region(Int3 extent, Box region, const std::array<bool, face_count>& remote, Index reach,
                   Index line) {
  Split split{region, {}};
  // Each axis, z first, takes its shells off what the axes before left over. The upper bound is cut at the
  // lower, so that the shells of a block thinner than twice the reach do not overlap.
  for (int axis = 2; axis >= 0; --axis) {
    Box& left = split.interior;
    Box lower = left, upper = left;
    const auto is_remote = [&](bool max) { return remote[static_cast<std::size_t>(face(axis, max))]; };
    const Index unit = axis == 0 ? line : 1;
    if (is_remote(false)) left.lo[axis] = std::min(extent[axis], (reach + unit - 1) / unit * unit);
    if (is_remote(true)) left.hi[axis] = std::max(left.lo[axis], (extent[axis] - reach) / unit * unit);
    lower.hi[axis] = left.lo[axis];
    upper.lo[axis] = left.hi[axis];
    for (const Box& shell : {lower, upper}) {
      if (!shell.empty()) split.shells.push_back(shell);
    }
  }
  return split;
}

}  // namespace isotherm
