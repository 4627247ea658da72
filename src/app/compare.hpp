// `isotherm compare DECK`: every legal combination of what the deck leaves open, run for a few sweeps from
// the same initial state; checked bit by bit against the first, and ranked.
#pragma once

#include "app/command_line.hpp"
#include "core/communicator.hpp"

namespace isotherm {

// Collective. Throws CollectiveError(diverged) where bits differ, or where a baseline was better.
int compare(const CommandLine& command, const Communicator& world);

}  // namespace isotherm
