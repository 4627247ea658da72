// Single cells of the field, wherever they are.
#pragma once

#include <vector>

#include "core/box.hpp"
#include "core/communicator.hpp"

namespace isotherm {

// The temperatures of `cells` (global, each in exactly one rank's `block`), in their order and on every rank:
// moved, not summed, so that every bit stays. `mine`: those in this rank's block, in the same order.
// Collective.
template <class T>
std::vector<double> gather_cells(const Communicator& communicator, Box block, const std::vector<Int3>& cells,
                                 const std::vector<T>& mine);

}  // namespace isotherm
