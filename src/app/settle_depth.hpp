// `solver.halo_width: auto` settled for a job: what limits it, what is measured for it, what follows from it.
#pragma once

#include <optional>

#include "app/session.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "solver/exchange_costs.hpp"

namespace isotherm {

// Is there a choice that costs would decide? Arithmetic only.
bool depth_is_open(const Session& session);

// The deepest that a run of the deck may take, and the session at it: what `check` can say beforehand.
int deepest_depth(const Session& session);
Session at_depth(Session session, int depth, const Communicator& world);

// Collective; none where the depth is not open. Throws CollectiveError(unavailable) as the run's own
// exchanges would.
std::optional<MeasuredCosts> measure_depth_costs(const Session& session, Device& device,
                                                 const Communicator& world);

// Collective. Settles solver.halo_width where the deck leaves it open, for the deck and each of its cases;
// decomposition and memory plan follow, and the session says why. 1 without costs; left open where nothing is
// exchanged. Never so deep that a run
// is refused for its memory that another depth would let through. Equal on all ranks where `costs` are.
void settle_depth(Session& session, const std::optional<MeasuredCosts>& costs, const Communicator& world);

}  // namespace isotherm
