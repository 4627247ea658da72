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

// Collective: bytes per second that all devices of the run copy together, measured at once on all.
double measure_copy_bandwidth(const Session& session, Device& device, const Communicator& world);

// Collective: solves the deck, or each grid of its series, and reports. Returns the exit code of a run that
// came to its end: done, not_converged or diverged (a verification that failed). Throws what stops a run
// before any file, and the error of one that did not come to its end, once its record is written.
template <class T>
int solve_and_report(const RunPlan& plan);

}  // namespace isotherm
