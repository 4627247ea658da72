// Signals that ask a run to stop: SIGTERM, SIGINT, SIGUSR1, SIGUSR2.
#pragma once

#include <string>

namespace isotherm {

// Forgets earlier signals. From now on the first of these signals is only recorded. A signal more than half a
// second later ends the process at once, as it would by default. An earlier one is part of the same request:
// launchers and timeout(1) signal a process and also its group.
void note_stop_signals();

int noted_stop_signal();              // its number; 0: none
std::string signal_name(int signal);  // "SIGUSR1"

}  // namespace isotherm
