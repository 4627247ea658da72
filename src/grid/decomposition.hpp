// Maps ranks to boxes of the global grid, and to their neighbours. Arithmetic only: no MPI, no memory.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/box.hpp"

namespace isotherm {

// The 26 directions to the cells around a subdomain, or the 6 of its faces, in the order of Face.
using Direction = std::array<int, 3>;  // each -1, 0 or 1, not all 0
std::vector<Direction> face_directions();
std::vector<Direction> all_directions();  // faces first, then edges, then corners

// All factorisations of `ranks` into at most `most` parts per axis, sorted by the parts along x, then y.
std::vector<Int3> process_grids(Index ranks, Int3 most);

// The end of an error message, after "use": a halo of at most `widest` cells.
std::string halo_advice(Index widest);

class Decomposition {
 public:
  // The components of both triples are at least 1. Cells are distributed evenly; the first (cells mod parts)
  // subdomains of an axis have one more. Ranks, too, are numbered along x first. Throws Error(deck) if an
  // axis has more parts than cells, or exchanged subdomains thinner than `ghosts`; the message names the axis
  // and its parts, and suggests parts, cells and a halo that work.
  Decomposition(Int3 cells, Int3 process_grid, std::array<bool, 3> periodic, int ghosts = 1);

  // The most parts along each axis whose subdomains are at least as thick as `ghosts`. Throws Error(deck)
  // where a single part is thinner; the message names the widest halo that `ranks` could have.
  static Int3 most_parts(Int3 cells, std::array<bool, 3> periodic, int ghosts = 1, int ranks = 1);

  // The widest halo below `ghosts` for which there is a process grid of `ranks`; 0 without one.
  static int max_halo_width_below(int ghosts, Int3 cells, int ranks, std::array<bool, 3> periodic);

  // halved() decomposes every second cell along the axis, from the first on: each rank keeps its own cells.
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

}  // namespace isotherm
