// A box of cells cut into slabs that a buffer holds.
#pragma once

#include <vector>

#include "core/box.hpp"

namespace isotherm {

// Boxes of at most `max_cells` (>= 1) that cover [0, extent) in the order of memory: whole planes of z where
// one fits, else whole rows of x, else parts of one.
std::vector<Box> cut_into_slabs(Int3 extent, Index max_cells);

Box intersect(Box a, Box b);  // Box{} where they have no cell in common

}  // namespace isotherm
