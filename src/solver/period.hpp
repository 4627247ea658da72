// Which cells the sweeps between two halo exchanges cover. Arithmetic only.
//
// An exchange of d layers lasts for d sweeps. Each sweep covers the block and as many layers of ghosts as
// sweeps follow it before the next exchange, so that these find what they read:
//
//     d = 3    exchange | block + 2 | block + 1 | block | exchange ...
//
// Ghosts are swept where they are cells of a neighbour, with the neighbour's own bits; never beyond a wall.
// Where something is due inside a period, it ends there: the last sweep before a norm, a diagnosis or an
// output always covers exactly the block.
#pragma once

#include <cstdint>
#include <vector>

#include "core/box.hpp"
#include "halo/regions.hpp"

namespace isotherm {

struct PeriodSweep {
  Box region;  // what it covers
  // As the first sweep of a period:
  Box at_hand;   // what of the region holds values before the exchange; the rest are ghosts of other ranks
  Box interior;  // what can be swept before the exchange is over
};

// The sweeps of a period of `depth`, the last first: a shorter period has the first of these elements.
std::vector<PeriodSweep> sweeps_of_period(Int3 extent, const GhostSides& sides, int depth);

// Sweeps that a graph holds: whole periods, and an even number, so that it leaves the fields as it found
// them.
std::int64_t sweeps_of_a_graph(int depth);

// About `wanted` of the sweeps that are `left`, ending with a period or with the last of them: ranks that
// take them in other parts still exchange at the same sweeps.
std::int64_t whole_periods(std::int64_t wanted, std::int64_t left, int depth);

}  // namespace isotherm
