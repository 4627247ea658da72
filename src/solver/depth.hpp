// What `solver.halo_width: auto` takes: the depth at which a sweep, with its share of an exchange, costs
// least.
//
// A period of d sweeps has one exchange of d layers, in up to 26 messages where d > 1 and 6 where d = 1, and
// sweeps cells of the neighbours beside its own (period.hpp). The messages of an exchange wait for one
// latency together, and each costs something of its own; bytes count by bandwidth, cells by the rate of the
// sweep, or of a launch that fuses as many as the depth allows; what of the exchange is hidden behind the
// interior costs nothing. (Demmel, Hoemmen, Mohiyuddin and
// Yelick, Avoiding Communication in Sparse Matrix Computations, IPDPS 2008, treat the method; the costs are
// those of LogGP: Alexandrov, Ionescu, Schauser and Scheiman, SPAA 1995.)
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "grid/decomposition.hpp"

namespace isotherm {

// Measured, on the slowest rank (exchange_costs.hpp).
struct ExchangeCosts {
  double seconds_an_exchange = 0;  // however few its messages and cells
  double seconds_a_message = 0;    // of any size: packing, posting, unpacking
  double bytes_a_second = 1;       // that a rank sends, and receives at the same time; alone, that it copies
  double seconds_a_cell = 0;       // of a sweep
  // ... of those that a launch fuses, by their number; 0: none does, or it was not measured.
  std::array<double, 9> fused_seconds_a_cell{};
};

// What does not depend on the depth.
struct DepthSetting {
  std::size_t cell_bytes = 8;
  bool overlap = false;  // the interior is swept while the exchange is under way
  int most = 8;          // depths from 1 to here are weighed
  bool fuses = false;    // a row may fuse sweeps: one rank has use for deep ghosts around a periodic axis
};

// On the mean over the sweeps of a period, of the rank with most neighbours.
struct DepthEstimate {
  int depth = 1;
  double seconds = 0;
  double messages = 0;  // sent
  double cells = 0;     // swept, those of neighbours included
};

// The deepest that is worth weighing: `setting.most`, or as deep as the blocks are thick; 1 where no other
// rank is a neighbour, and no row has use for ghosts of the block's own cells.
int deepest_to_weigh(const Decomposition& decomposition, const DepthSetting& setting);

// Every depth from 1 on in the decomposition that the run would have at it: `process_grid: auto` weighs the
// depth.
std::vector<DepthEstimate> weigh_depths(std::span<const Decomposition> by_depth, const DepthSetting& setting,
                                        const ExchangeCosts& costs);

// The shallowest that costs hardly more than the cheapest: what was measured is not exact, and ghosts take
// memory. 1 of none.
int choose_depth(const std::vector<DepthEstimate>& weighed);

}  // namespace isotherm
