// Which cells the sweeps between two halo exchanges cover, and how they are cut into launches. Arithmetic
// only.
//
// An exchange of d layers lasts for d sweeps. Each sweep covers the block and as many layers of ghosts as
// sweeps follow it before the next exchange, so that these find what they read:
//
//     d = 3    exchange | block + 2 | block + 1 | block | exchange ...
//
// Ghosts are swept where they are cells of a neighbour, with the neighbour's own bits; never beyond a
// boundary. Where something is due inside a period, it ends there: the last sweep before a norm, a diagnosis
// or an output always covers exactly the block.
//
// A row that fuses f sweeps takes them in one launch, which covers what the last of them does and computes
// what that needs of the others by itself; what is left of a period is a launch of fewer:
//
//     d = 5, f = 2    exchange | 2 -> block + 3 | 2 -> block + 1 | 1 -> block | exchange ...
#pragma once

#include <cstdint>
#include <vector>

#include "core/box.hpp"
#include "halo/regions.hpp"

namespace isotherm {

// Are there ghosts that an exchange fills? The same on all ranks: where one has a neighbour, all have.
bool exchanges(const GhostSides& sides);

struct PeriodLaunch {
  int sweeps = 1;
  Box region;  // what the last of them covers
  // As the first of a period:
  Box at_hand;   // what of the region holds values before the exchange; the rest are ghosts of other ranks
  Box interior;  // what can be swept before the exchange is over
};

// How launches may cut the sweeps that follow each other.
struct Fusing {
  int most = 1;             // sweeps of a launch
  bool last_alone = false;  // something looks at the last sweep's update: both of its fields are wanted
};

// The sweeps of each launch, in order: as many as may be, then what is left.
std::vector<int> fused_sweeps(int count, const Fusing& fusing);
// The launches of a period of `count` sweeps, in order.
std::vector<PeriodLaunch> launches_of_period(Int3 extent, const GhostSides& sides, int count,
                                             const Fusing& fusing);

// The fewest sweeps, of at least `wanted`, that are whole periods of `depth` and an even number of launches
// that fuse at most `fused`: they leave the fields as they found them.
std::int64_t even_periods(std::int64_t wanted, int depth, int fused);
// Sweeps that a graph holds.
std::int64_t sweeps_of_a_graph(int depth, int fused = 1);

// About `wanted` of the sweeps that are `left`, ending with a period or with the last of them: ranks that
// take them in other parts still exchange at the same sweeps.
std::int64_t whole_periods(std::int64_t wanted, std::int64_t left, int depth);

}  // namespace isotherm
