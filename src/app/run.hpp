// isotherm run: solve the deck's problem.
#pragma once

#include "app/command_line.hpp"
#include "core/communicator.hpp"

namespace isotherm {

// Collective. The exit code of a run that came to its end: done, not_converged or diverged (a verification
// that failed); everything else is thrown.
int run(const CommandLine& command, const Communicator& world);

}  // namespace isotherm
