// Chooses the process grid, and maps ranks to boxes of the global grid and to their neighbours. Arithmetic
// only, the same on every rank: no MPI, no memory.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/box.hpp"
#include "core/device.hpp"

namespace isotherm {

// The 26 directions to the cells around a subdomain, or the 6 of its faces, in the order of Face.
using Direction = std::array<int, 3>;  // each -1, 0 or 1, not all 0
std::vector<Direction> face_directions();
std::vector<Direction> all_directions();  // faces first, then edges, then corners

class Decomposition {
 public:
  // The components of both triples are at least 1. Cells are distributed evenly; the first (cells mod parts)
  // subdomains of an axis have one more. Ranks, too, are numbered along x first. Throws Error(deck) if an
  // axis has more parts than cells, or exchanged subdomains thinner than `ghosts`; the message names the axis
  // and its parts, and suggests parts, cells and a halo that work.
  Decomposition(Int3 cells, Int3 process_grid, std::array<bool, 3> periodic, int ghosts = 1);

  // halved() keeps every second cell along the axis, from the first on; each rank keeps its own cells.
  // Subdomains may be thinner than cells / parts. In both results axes of a single cell are not periodic.
  Decomposition halved(int axis) const;
  Decomposition without_single_cells() const;

  int ranks() const { return static_cast<int>(process_grid_.product()); }
  Int3 cells() const { return cells_; }
  Int3 process_grid() const { return process_grid_; }
  std::array<bool, 3> periodic() const { return periodic_; }

  Int3 coordinates(int rank) const;  // position in the process grid
  Box subdomain(int rank) const;     // global cells of this rank
  // The rank whose subdomain is next in this direction, also across periodic faces (then it may be `rank`
  // itself); none beyond a boundary.
  std::optional<int> neighbour(int rank, Direction d) const;
  std::array<bool, face_count> boundaries(int rank) const;  // by Face: is there no neighbour?

  // The most ghost layers that every subdomain is thick enough to fill; none where no axis has an exchange.
  std::optional<Index> max_halo_width() const;

  Index smallest_subdomain() const { return subdomain(ranks() - 1).cells(); }
  Index largest_subdomain() const { return subdomain(0).cells(); }

 private:
  Int3 cells_, process_grid_;
  std::array<bool, 3> periodic_;
  Int3 dealt_out_;                 // cells of the grid before any halved()
  std::array<int, 3> halvings_{};  // by axis: how often it was halved since
};

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
