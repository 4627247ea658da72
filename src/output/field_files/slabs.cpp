#include "output/field_files/slabs.hpp"

#include <algorithm>

#include "output/field_files/coarse_field.hpp"

namespace isotherm {

std::vector<Box> cut_into_slabs(Int3 extent, Index max_cells) {
  if (Box{{0, 0, 0}, extent}.empty()) return {};
  // Quotients, not products: a plane may have more cells than an index can count bytes.
  const Index dx = std::min(extent.x, max_cells);
  const Index dy = std::clamp<Index>(max_cells / std::max<Index>(extent.x, 1), 1, extent.y);
  const Index dz =
      dy < extent.y ? 1 : std::clamp<Index>(max_cells / std::max<Index>(extent.x * extent.y, 1), 1, extent.z);
  std::vector<Box> slabs;
  for (Index z = 0; z < extent.z; z += dz)
    for (Index y = 0; y < extent.y; y += dy)
      for (Index x = 0; x < extent.x; x += dx)
        slabs.push_back(
            {{x, y, z},
             {std::min(x + dx, extent.x), std::min(y + dy, extent.y), std::min(z + dz, extent.z)}});
  return slabs;
}

std::vector<Box> cut_into_slabs(Box box, Int3 chunk, Index max_cells) {
  if (box.empty()) return {};
  const Box chunks = coarse_around(box, chunk);
  std::vector<Box> slabs = cut_into_slabs(chunks.extent(), std::max<Index>(1, max_cells / chunk.product()));
  for (Box& slab : slabs) slab = intersect(fine_of(slab.shifted(chunks.lo), chunk), box);
  return slabs;
}

Index largest(const std::vector<Box>& boxes) {
  Index most = 0;
  for (const Box& box : boxes) most = std::max(most, box.cells());
  return most;
}

Box intersect(Box a, Box b) {
  const Box common{{std::max(a.lo.x, b.lo.x), std::max(a.lo.y, b.lo.y), std::max(a.lo.z, b.lo.z)},
                   {std::min(a.hi.x, b.hi.x), std::min(a.hi.y, b.hi.y), std::min(a.hi.z, b.hi.z)}};
  return common.empty() ? Box{} : common;
}

}  // namespace isotherm
