// `isotherm bench`: how fast the rows of this build are on this machine, and whether they are right.
#pragma once

#include "app/command_line.hpp"
#include "core/communicator.hpp"

namespace isotherm {

// Prints the tables and writes the JSON. One process: throws CollectiveError(command_line) on several ranks.
// Returns 70 where a row gave a wrong answer, else 0.
int bench(const CommandLine& command, const Communicator& world);

}  // namespace isotherm
