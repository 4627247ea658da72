// How overlapping tiles cut one axis of a region. For .cu files only.
#pragma once

#include <algorithm>

#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {

// Tiles of `length` cells, of which the `halo` at either end are read and not left, but for ends at
// boundaries: beyond a boundary there is nothing to read. Where boundaries lie within reach of the region,
// the first tile begins at the lower one, and the last ends at the upper one if it can: then boundaries are
// beside tiles, not in them.
struct TileCuts {
  Index lo = 0, hi = 0;  // the region
  Index first = 0, step = 1, count = 1;
  Index length = 0, halo = 0;
  Index begin = 0, last = 0;  // where the first tile begins, and the last
  bool aligned = true;        // all tiles leave whole units, and none holds cells beyond a boundary

  // `unit`: tiles begin at multiples of so many cells, of which `length` and `halo` are multiples. `sector`:
  // what they leave begins at multiples of so many, a multiple of `unit`, but for the first: two blocks that
  // write to one sector at different times cost a read of it. A boundary is one at cell 0, or behind cell
  // extent - 1.
  static TileCuts of(Index lo, Index hi, Index extent, bool lower_boundary, bool upper_boundary, Index length,
                     Index halo, Index unit = 1, Index sector = 1) {
    TileCuts c{lo, hi, floor_div(lo, sector) * sector - halo, length - 2 * halo, 1, length, halo};
    c.begin = lower_boundary ? std::max<Index>(c.first, 0) : c.first;
    if (c.begin > c.first) c.first = -(halo % sector);
    const Index end = upper_boundary ? std::min(hi + halo, extent) : hi + halo;  // of what is read
    c.count = end <= c.begin + length ? 1 : ceil_div(end - (c.first + length), c.step) + 1;
    c.last = c.count == 1 ? c.begin : c.first + (c.count - 1) * c.step;
    c.aligned = floor_div(lo, unit) * unit == lo && floor_div(hi, unit) * unit == hi;
    if (upper_boundary && c.last + length > extent) {
      c.aligned = c.aligned && c.count > 1 && (extent - length) % unit == 0;
      if (c.aligned) c.last = extent - length;
    }
    return c;
  }

  ISOTHERM_HOST_DEVICE Index start(Index i) const {
    return i == 0 ? begin : i == count - 1 ? last : first + i * step;
  }
  // The cells that tile i leaves: from left_from(i) up to left_from(i + 1).
  ISOTHERM_HOST_DEVICE Index left_from(Index i) const {
    return i == 0 ? lo : i == count ? hi : first + i * step + halo;
  }
};

}  // namespace isotherm::cuda
