// Boxes of coarse cells or of the chunks of a file, and slabs of whole ones.
#pragma once

#include <algorithm>
#include <vector>

#include "core/box.hpp"

namespace isotherm {

// Coarse cells, or chunks, are boxes of `factor` cells. The first that begins at `cell` or later, by axis:
constexpr Int3 first_begun_from(Int3 cell, Int3 factor) {
  return {ceil_div(cell.x, factor.x), ceil_div(cell.y, factor.y), ceil_div(cell.z, factor.z)};
}
// Coarse cells whose first cell (of least indices) is in `cells`: no coarse cell is in two disjoint boxes.
constexpr Box coarse_begun_in(Box cells, Int3 factor) {
  const Box begun{first_begun_from(cells.lo, factor), first_begun_from(cells.hi, factor)};
  return begun.empty() ? Box{} : begun;
}
constexpr Box fine_of(Box coarse, Int3 factor) {
  return {{coarse.lo.x * factor.x, coarse.lo.y * factor.y, coarse.lo.z * factor.z},
          {coarse.hi.x * factor.x, coarse.hi.y * factor.y, coarse.hi.z * factor.z}};
}

// Boxes of at most `max_cells` (>= 1) that cover `box` in memory order: z planes, rows, or parts of rows.
// Only the faces of `box` cut chunks, as HDF5 compresses or decompresses a large chunk again for each slab
// that cuts it. A slab has at least one chunk, even if that exceeds `max_cells`. chunk {1, 1, 1}: slabs may
// be cut anywhere.
inline std::vector<Box> cut_into_slabs(Box box, Int3 chunk, Index max_cells) {
  if (box.empty()) return {};
  const Int3 first{box.lo.x / chunk.x, box.lo.y / chunk.y, box.lo.z / chunk.z};
  const Int3 n = first_begun_from(box.hi, chunk) - first;
  const Index most = std::max<Index>(1, max_cells / chunk.product());
  // Quotients, not products: a plane may have more cells than an index can count bytes.
  const Index dx = std::min(n.x, most);
  const Index dy = std::clamp<Index>(most / n.x, 1, n.y);
  const Index dz = dy < n.y ? 1 : std::clamp<Index>(most / (n.x * n.y), 1, n.z);
  std::vector<Box> slabs;
  for (Index z = 0; z < n.z; z += dz)
    for (Index y = 0; y < n.y; y += dy)
      for (Index x = 0; x < n.x; x += dx) {
        const Int3 lo = first + Int3{x, y, z};
        slabs.push_back(fine_of({lo, lo + Int3{dx, dy, dz}}, chunk).within(box));
      }
  return slabs;
}

template <class T>
Index slab_cells(Index slab_bytes) {
  return std::max<Index>(1, slab_bytes / static_cast<Index>(sizeof(T)));
}

}  // namespace isotherm
