// Which box of cells each rank has.
#pragma once

#include <vector>

#include "core/box.hpp"
#include "core/communicator.hpp"

namespace isotherm {

std::vector<Box> all_gather(const Communicator& communicator, Box mine);  // collective; in rank order

}  // namespace isotherm
