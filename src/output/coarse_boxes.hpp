// Boxes in units of larger cells, of `factor` cells along each axis: those of the coarse field, or chunks of
// a compressed file. The first of them begins at cell (0, 0, 0).
#pragma once

#include "core/box.hpp"

namespace isotherm {

// The first of them that begins at `cell` or after it, axis by axis.
constexpr Int3 up(Int3 cell, Int3 factor) {
  return {(cell.x + factor.x - 1) / factor.x, (cell.y + factor.y - 1) / factor.y,
          (cell.z + factor.z - 1) / factor.z};
}

// Those whose first cell, the one of least indices, lies in `cells`: of disjoint boxes each is in one.
constexpr Box coarse_begun_in(Box cells, Int3 factor) {
  const Box begun{up(cells.lo, factor), up(cells.hi, factor)};
  return begun.empty() ? Box{} : begun;
}

// Those that have a cell in `cells`.
constexpr Box coarse_around(Box cells, Int3 factor) {
  return {{cells.lo.x / factor.x, cells.lo.y / factor.y, cells.lo.z / factor.z}, up(cells.hi, factor)};
}

constexpr Box fine_of(Box coarse, Int3 factor) {
  return {{coarse.lo.x * factor.x, coarse.lo.y * factor.y, coarse.lo.z * factor.z},
          {coarse.hi.x * factor.x, coarse.hi.y * factor.y, coarse.hi.z * factor.z}};
}

}  // namespace isotherm
