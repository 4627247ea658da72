// Process grids for tests: every axis is cut as soon as the rank count allows it, whatever a run would
// choose.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/box.hpp"

namespace isotherm {

// For messages.
inline std::string text(Int3 n) { return fmt::format("{}x{}x{}", n.x, n.y, n.z); }
inline std::string text(Box box) { return fmt::format("[{}, {})", text(box.lo), text(box.hi)); }

// The prime factors of `ranks`, each on the axis with the fewest parts so far, z before y before x: 2 ->
// 1x1x2, 6 -> 1x3x2, 8 -> 2x2x2.
inline Int3 even_process_grid(int ranks) {
  Int3 grid{1, 1, 1};
  for (int factor = 2; ranks > 1;) {
    if (ranks % factor != 0) {
      ++factor;
      continue;
    }
    ranks /= factor;
    Index& least = grid.z <= grid.y && grid.z <= grid.x ? grid.z : grid.y <= grid.x ? grid.y : grid.x;
    least *= factor;
  }
  return grid;
}

// Every way to write `ranks` as a product of three.
inline std::vector<Int3> all_process_grids(int ranks) {
  std::vector<Int3> grids;
  for (Index x = 1; x <= ranks; ++x) {
    for (Index y = 1; x * y <= ranks; ++y) {
      if (ranks % (x * y) == 0) grids.push_back({x, y, ranks / (x * y)});
    }
  }
  return grids;
}

// The process grids of a test on `ranks` ranks: all up to four ranks; above, no grid that cuts one axis only,
// as fewer ranks test these; for eight ranks, one orientation of each shape.
inline std::vector<Int3> tested_process_grids(int ranks) {
  std::vector<Int3> grids = all_process_grids(ranks);
  if (ranks > 4) std::erase_if(grids, [&](Int3 g) { return std::max({g.x, g.y, g.z}) == ranks; });
  if (ranks == 8) std::erase_if(grids, [](Int3 g) { return g.x > g.y || g.y > g.z; });
  return grids;
}

// All ranks along each axis in turn, and the most even grid; only grids that leave no rank without cells.
inline std::vector<Int3> process_grids(int ranks, Int3 cells) {
  const Index n = ranks;
  std::vector<Int3> grids;
  for (const Int3 grid : {Int3{n, 1, 1}, Int3{1, n, 1}, Int3{1, 1, n}, even_process_grid(ranks)}) {
    const bool fits = grid.x <= cells.x && grid.y <= cells.y && grid.z <= cells.z;
    if (fits && std::find(grids.begin(), grids.end(), grid) == grids.end()) grids.push_back(grid);
  }
  return grids;
}

}  // namespace isotherm
