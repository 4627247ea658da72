// Which process grid a run takes: the cheapest by an estimate of a sweep, the same on every rank.
#pragma once

#include <array>
#include <vector>

#include "core/box.hpp"
#include "core/device.hpp"

namespace isotherm {

// The figures of a rank's device that the estimate weighs. Only their ratios decide.
struct ExchangeWeights {
  int cell_bytes = 8;
  double memory = 0;            // bytes per second that sweeps and copies share, read and written
  int sector = 0;               // bytes of the smallest piece of a row that memory moves
  int touches = 0;              // of the sectors of an exchanged row of cells by all that works on it
  double wire = 0;              // bytes per second, one way, of a rank to all its neighbours together
  int wire_sector = 0;          // bytes of the smallest piece of a row that the wire carries
  double message = 0;           // seconds that each message costs however short it is
  double across_xz = 0;         // seconds more that the message of a face across x or z does
  Index columns = 1, rows = 1;  // cells along x and y of the tile that sweeps them together

  static ExchangeWeights of(Backend backend, int cell_bytes);
};

// Seconds a sweep of the rank with the largest block and the most neighbours. Compared by their sum: what is
// hidden behind a sweep takes its share of memory all the same, and not all is hidden.
struct SweepCost {
  double sweep = 0;     // whole tiles of cells, of swept ghosts too, read and written once
  double copies = 0;    // sectors of exchanged cells and ghosts, and the dense buffers between them
  double wire = 0;      // what neighbours send at once, one way
  double messages = 0;  // what each costs however short it is
  double total() const { return sweep + copies + wire + messages; }
};

// Rows run along x: a face across x is a short piece of each row, a sector of its own; others are whole rows.
// With ghosts > 1 an exchange, of edges and corners too, serves so many sweeps, which cover some ghosts. A
// periodic axis of one part is copied within the block, without wire and message.
SweepCost sweep_cost(Int3 cells, Int3 process_grid, std::array<bool, 3> periodic, int ghosts,
                     const ExchangeWeights& weights);

struct EstimatedGrid {
  Int3 grid;
  SweepCost cost;
};

// All factorisations of `ranks` with blocks as thick as `ghosts`, the cheapest first; of equals the fewest
// cuts across x, then y. Throws Error(deck) with the rank count and halo that would work when there is none.
std::vector<EstimatedGrid> process_grids_by_cost(Int3 cells, int ranks, std::array<bool, 3> periodic,
                                                 int ghosts, const ExchangeWeights& weights);

}  // namespace isotherm
