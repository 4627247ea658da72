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

Box interior_box(Int3 extent, Box region, const std::array<bool, face_count>& remote, Index reach) {
  Box interior = region;
  // The upper bound is cut at the lower: a block thinner than twice the reach has none.
  for (int axis = 0; axis < 3; ++axis) {
    const auto is_remote = [&](bool max) { return remote[static_cast<std::size_t>(face(axis, max))]; };
    if (is_remote(false)) interior.lo[axis] = std::min(extent[axis], reach);
    if (is_remote(true)) interior.hi[axis] = std::max(interior.lo[axis], extent[axis] - reach);
  }
  return interior;
}

}  // namespace isotherm
