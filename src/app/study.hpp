// isotherm study: the cases of a deck, each as a process of its own, and what they have come to.
#pragma once

#include "app/command_line.hpp"

namespace isotherm {

// Without MPI: this process starts those that use it. Throws Error(stopped) where a signal ended it, and the
// first failure's code where cases have failed.
int study(const CommandLine& command);

}  // namespace isotherm
