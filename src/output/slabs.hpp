// A box of cells cut into slabs that a buffer holds.
#pragma once

#include <vector>

#include "core/box.hpp"

namespace isotherm {

// Boxes of at most `max_cells` (>= 1) that cover [0, extent) in the order of memory: whole planes of z where
// one fits, else whole rows of x, else parts of one.
std::vector<Box> cut_into_slabs(Int3 extent, Index max_cells);

// The same of any box, in units of chunks: none is cut in two, except by the box itself. A slab has one chunk
// at least, whatever `max_cells` says. {1, 1, 1}: cells are free to be cut anywhere.
std::vector<Box> cut_into_slabs(Box box, Int3 chunk, Index max_cells);

Index largest(const std::vector<Box>& boxes);  // cells of the one that has most; 0 of none

Box intersect(Box a, Box b);  // Box{} where they have no cell in common

}  // namespace isotherm
