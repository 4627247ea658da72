// The field in larger cells, each the mean of the cells within it.
#pragma once

#include <vector>

#include "core/box.hpp"
#include "core/communicator.hpp"
#include "core/field_view.hpp"

namespace isotherm {

// Boxes in units of larger cells, of `factor` cells along each axis: those of the coarse field, or chunks of
// a compressed file. The first of them begins at cell (0, 0, 0).

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

// A coarse cell is the rank's that holds the first of its cells, the one of least indices. That rank fetches
// what lies beyond its block and adds up all of them in the order of their indices, x fastest, in fp64: the
// mean has the same bits wherever the blocks end.
class CoarseField {
 public:
  // Collective, as everything here. `block`: this rank's cells of the grid; all blocks together are the grid,
  // of which `factor` divides the cells.
  CoarseField(const Communicator& communicator, Box block, Int3 factor);

  Box cells() const { return mine_; }  // of this rank, in coarse cells; may be empty
  // Dense, x fastest, of cells(). `field`: the cells of `block`.
  template <class T>
  std::vector<T> means(FieldView<const T> field) const;

 private:
  struct Share {  // of another rank's coarse cells in a block
    int rank;
    Box cells;  // of the grid
  };
  template <class T>
  std::vector<std::vector<T>> fetch(FieldView<const T> field) const;

  Communicator communicator_;
  Box block_, mine_;
  Int3 factor_;
  std::vector<Share> lent_, borrowed_;  // cells of this block that others need; cells of others
};

}  // namespace isotherm
