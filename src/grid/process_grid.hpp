// Chooses the process grid: the cheapest by an estimate of a sweep, the same on every rank.
#pragma once

#include <array>
#include <vector>

#include "core/box.hpp"
#include "core/device.hpp"

namespace isotherm {

// The properties of a rank's device that the estimate uses. Only their ratios decide.
struct ExchangeWeights {
  int cell_bytes = 8;
  double memory = 0;            // bytes per second that sweeps and copies share, read and written
  int sector = 0;               // bytes of the smallest piece of a row that memory moves
  int touches = 0;              // accesses to each sector of an exchanged row of cells
  double wire = 0;              // bytes per second, one way, of a rank to all its neighbours together
  int wire_sector = 0;          // bytes of the smallest piece of a row that the wire carries
  double message = 0;           // seconds per message, whatever its length
  double across_xz = 0;         // additional seconds for a face across x or z
  Index columns = 1, rows = 1;  // cells of a tile along x and y, swept together

  static ExchangeWeights of(Backend backend, int cell_bytes);
};

// Seconds per sweep of the rank with the largest subdomain and the most neighbours. Grids are compared by the
// sum: an exchange hidden behind a sweep still uses memory bandwidth, and not all of it is hidden.
struct SweepCost {
  double sweep = 0;     // reads and writes whole tiles once, swept ghosts included
  double copies = 0;    // accesses sectors of exchanged cells and ghosts, and dense buffers
  double wire = 0;      // transfers the messages of all neighbours at once, one way
  double messages = 0;  // fixed cost of the messages, whatever their length
  double total() const { return sweep + copies + wire + messages; }
};

// Rows are along x: a face across x has a short piece of each row, in its own sector; other faces have whole
// rows. With ghosts > 1 an exchange includes edges and corners and serves `ghosts` sweeps, which also cover
// some ghosts. A periodic axis of one part is copied within the subdomain, without transfers and messages.
SweepCost sweep_cost(Int3 cells, Int3 process_grid, std::array<bool, 3> periodic, int ghosts,
                     const ExchangeWeights& weights);

struct EstimatedGrid {
  Int3 grid;
  SweepCost cost;
};

// All factorisations of `ranks` with subdomains as thick as `ghosts`, the cheapest first; among equals the
// fewest cuts across x, then y. Throws Error(deck), with a rank count and halo that work, if there is none.
std::vector<EstimatedGrid> process_grids_by_cost(Int3 cells, int ranks, std::array<bool, 3> periodic,
                                                 int ghosts, const ExchangeWeights& weights);

}  // namespace isotherm
