// isotherm run: one run of a deck, from its solver to its record. src/main.cpp tells it in order.
#pragma once

#include <memory>
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

// All functions are collective.
class Run {
 public:
  virtual ~Run() = default;

  // Makes the solver of the first case, opens the run's directory and log, and prints the banner. Throws what
  // stops a run before any file.
  virtual void open() = 0;
  // Solves the deck, or one grid of its series, of which the last is the one that is kept. False where an
  // error ended it, which report() throws.
  virtual bool solve(const Config& config) = 0;
  // Table, figures of merit, run.json. Returns the exit code of a run that came to its end: done,
  // not_converged or diverged (a verification that failed). Throws the error of one that did not, once its
  // record is written.
  virtual int report() = 0;
};
std::unique_ptr<Run> make_run(const RunPlan& plan);  // `plan` outlives it

}  // namespace isotherm
