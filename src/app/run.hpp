// isotherm run: one run of a deck, from its solver to its record. src/main.cpp tells it in order.
#pragma once

#include <optional>

#include "app/command_line.hpp"
#include "app/restart.hpp"
#include "app/session.hpp"
#include "core/communicator.hpp"
#include "core/timer.hpp"

namespace isotherm {

// What is settled before the first field is allocated.
struct RunPlan {
  const CommandLine& command;
  const Communicator& world;
  const Session& session;
  const std::optional<Restart>& restart;
  Device& device;
  double copy_bandwidth;  // bytes per second, of all devices
  Timer started;          // when the deck was opened
};

inline Force force_of(const CommandLine& command) {
  return command.force ? Force::yes : Force::no;
}

// Collective; the exit code of a run that came to its end: done, not_converged or diverged (a verification
// that failed). All else is thrown.
int solve(const RunPlan& plan);

}  // namespace isotherm
