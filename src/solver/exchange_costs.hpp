// What an exchange and a cell cost this run, measured before it starts: what `solver.halo_width: auto`
// weighs.
#pragma once

#include <string>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "grid/decomposition.hpp"
#include "solver/depth.hpp"
#include "solver/rows.hpp"

namespace isotherm {

struct MeasuredCosts {
  ExchangeCosts costs;     // the same on all ranks
  std::string transports;  // that carried the exchanges
  double seconds = 0;      // that it took
};

// Collective: whole exchanges between all neighbours at once, of one cell a message with 6 and with 26
// directions, and of one layer of the run's own faces (cut where they are huge), by what parallel.transport
// says; `auto` leaves out the transports that take seconds to open. And sweeps by `sweep`. Needs blocks two
// cells thick. Allocates two fields of at most the local shape, and lets go of them. Throws CollectiveError
// (unavailable) as the run's own exchange would.
template <class T>
MeasuredCosts measure_exchange_costs(const Config& config, const Decomposition& decomposition,
                                     const Communicator& communicator, Device& device,
                                     const SweepChoice<T>& sweep);

// From three exchanges to the costs of any; arithmetic only. Short ones have a cell or so a message.
struct TimedExchange {
  double seconds;
  int messages;
  double bytes;  // sent by the rank that sends most
};
ExchangeCosts exchange_costs(const TimedExchange& short_faces, const TimedExchange& short_all,
                             const TimedExchange& long_faces, double seconds_a_cell);

}  // namespace isotherm
