// What every cell of a padded block must hold after an exchange, from its coordinates alone: it knows nothing
// of directions, messages or process grids.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "core/box.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

using Periodic = std::array<bool, 3>;

struct GhostOracle {
  Int3 cells;  // of the whole grid
  Periodic periodic;
  Box block;  // of this rank
  int ghosts;

  // Exact in fp32, as are all values below.
  static constexpr double poison = -4194303.5;

  // The cell of the grid at local index `c`, through periodic faces; `beyond` counts the walls in between,
  // and `wall` is the last of them.
  struct Place {
    Int3 cell;
    int beyond = 0;
    Face wall = Face::x_min;
    Index depth = 0;  // layers beyond that wall
    int outside = 0;  // axes along which `c` lies outside of the block
  };
  Place place(Int3 c) const {
    Place p;
    for (int axis = 0; axis < 3; ++axis) {
      const Index n = cells[axis];
      Index global = block.lo[axis] + c[axis];
      if (global < block.lo[axis] || global >= block.hi[axis]) ++p.outside;
      if (periodic[axis]) {
        global = (global + n) % n;
      } else if (global < 0 || global >= n) {
        ++p.beyond;
        p.wall = face(axis, global >= n);
        p.depth = global < 0 ? -global : global - n + 1;
        global = global < 0 ? 0 : n - 1;
      }
      p.cell[axis] = global;
    }
    return p;
  }

  double index(Int3 cell) const {
    return static_cast<double>(cell.x + cells.x * (cell.y + cells.y * cell.z));
  }
  static double wall_a(Face wall) { return wall == Face::z_min ? -1.0 : 0.5 * static_cast<int>(wall); }
  // Varies over the upper face of each axis.
  double wall_b(Face wall, Int3 cell) const {
    const double constant = 100.0 * (1 + static_cast<int>(wall));
    return is_max(wall) ? constant + 0.25 * index(cell) : constant;
  }

  // `shift`: what the owner has added to each index.
  template <class T>
  T expected(Int3 c, double shift) const {
    const Place p = place(c);
    const T value = static_cast<T>(index(p.cell) + shift);
    const bool exchanged = p.outside <= 1 || ghosts > 1;
    if (!exchanged || p.beyond > 1 || p.depth > 1) return static_cast<T>(poison);
    if (p.beyond == 0) return value;
    return wall_ghost<T>(static_cast<T>(wall_a(p.wall)), static_cast<T>(wall_b(p.wall, p.cell)), value);
  }
};

template <class Use>
void for_each_cell(Box box, Use use) {
  for (Index z = box.lo.z; z < box.hi.z; ++z) {
    for (Index y = box.lo.y; y < box.hi.y; ++y) {
      for (Index x = box.lo.x; x < box.hi.x; ++x) use(Int3{x, y, z});
    }
  }
}

}  // namespace isotherm
