// What stands before any work of a run: the deck, who owns which cells, and where they are computed.
#pragma once

#include <optional>
#include <vector>

#include "app/command_line.hpp"
#include "app/load.hpp"
#include "app/placement.hpp"
#include "app/plan.hpp"
#include "core/host_threads.hpp"
#include "grid/decomposition.hpp"
#include "solver/depth.hpp"

namespace isotherm {

struct Session {
  LoadedDeck deck;
  std::vector<Config> cases;  // the deck alone, or its series, coarse to fine
  ThreadPlan threads;
  Decomposition decomposition;
  Placement placement;
  MemoryPlan memory;  // of this rank in the largest case, planned before anything large was allocated
};

// Collective. What can be refused without a field or a device is refused here, on all ranks alike.
Session plan_session(const CommandLine& command, const Communicator& world);

// Settles solver.depth where the deck leaves it open, for the deck and each of its cases; the memory plan
// follows. Without measured costs it is 1. Equal on all ranks where `costs` are.
void settle_depth(Session& session, const std::optional<ExchangeCosts>& costs, const Communicator& world);

}  // namespace isotherm
