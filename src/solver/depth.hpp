// What `solver.depth: auto` takes: the depth at which a sweep, with its share of an exchange, costs least.
//
// A period of d sweeps has one exchange of d layers, in up to 26 messages where d > 1 and 6 where d = 1, and
// sweeps cells of the neighbours beside its own (period.hpp). Messages count by latency and by bytes, cells
// by the rate of the sweep; what of the exchange is hidden behind the interior costs nothing. (Demmel,
// Hoemmen, Mohiyuddin and Yelick, Avoiding Communication in Sparse Matrix Computations, IPDPS 2008, treat the
// method.)
#pragma once

#include <cstddef>

#include "grid/decomposition.hpp"

namespace isotherm {

// Measured, on the slowest rank; all above 0.
struct ExchangeCosts {
  double seconds_a_message;  // of any size: latency, and the launches that pack and unpack
  double bytes_a_second;     // each way
  double seconds_a_cell;     // of a sweep
};

// What does not depend on the depth.
struct DepthSetting {
  std::size_t cell_bytes = 8;
  bool overlap = false;  // the interior is swept while the exchange is under way
  int most = 8;          // depths from 1 to here are weighed
};

// Seconds of one sweep of `rank` on the mean over a period of `depth`.
double seconds_a_sweep(const Decomposition& decomposition, int rank, int depth, const DepthSetting& setting,
                       const ExchangeCosts& costs);

// The depth of least cost for the rank with most neighbours; of equal ones the least. Never deeper than the
// blocks are thick, and 1 where no other rank is a neighbour.
int choose_depth(const Decomposition& decomposition, const DepthSetting& setting, const ExchangeCosts& costs);

}  // namespace isotherm
