// The field in larger cells, each the mean of the cells within it.
#pragma once

#include <vector>

#include "core/box.hpp"
#include "core/communicator.hpp"
#include "core/field_view.hpp"

namespace isotherm {

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
