// isotherm check: validate a deck and say, without running, what a run of it would be and need.
#pragma once

#include "app/command_line.hpp"
#include "core/communicator.hpp"

namespace isotherm {

// Collective. Prints on rank 0; throws what a run would throw before work, but for GPUs that are not here:
// where no launcher has placed the ranks, it plans for those.
int check(const CommandLine& command, const Communicator& world);

}  // namespace isotherm
