// Where the cells of a halo exchange lie in a block. Arithmetic only.
#pragma once

#include <array>

#include "core/box.hpp"
#include "grid/decomposition.hpp"

namespace isotherm {

// The ghosts, `ghosts` layers deep, that lie in direction `d` of a block.
Box ghost_box(Int3 extent, int ghosts, Direction d);
// The block's own cells, as many, next to that side: what the neighbour in direction `d` needs. Neighbours
// share their extents along the axes that `d` does not cross, so the two boxes of a message agree.
Box edge_box(Int3 extent, int ghosts, Direction d);

// By Face, what lies beyond it.
struct GhostSides {
  std::array<bool, face_count>
      filled{};  // cells of a neighbour, which an exchange puts into the ghosts; no boundary
  std::array<bool, face_count> remote{};  // ... and the neighbour is another rank, not this one itself
};
GhostSides ghost_sides(const Decomposition& decomposition, int rank);

// The block and so many layers of ghosts beyond the faces with `sides`: those of the faces, and of the edges
// and corners between two such faces.
Box widened_block(Int3 extent, const std::array<bool, face_count>& sides, Index layers);

// The cells of `region`, the block or a widened one, that can be computed before remote ghosts arrive; may be
// empty. `reach`: how many cells away a computed cell reads; 1 for a single sweep, d for d fused ones.
// `remote`: by Face, whether the ghosts beyond it come from another rank.
Box interior_box(Int3 extent, Box region, const std::array<bool, face_count>& remote, Index reach);

}  // namespace isotherm
