// The monotonic clock of this process, and the deadlines of its threads: it runs as the machine's does, and
// jumps when a test moves it.
#pragma once

namespace isotherm {

void move_clock(double seconds);

}  // namespace isotherm
