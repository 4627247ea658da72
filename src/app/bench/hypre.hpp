// The multigrid of hypre (Falgout and Jones, 2000), as a measure of ours: where CMake finds the library, and
// on the CPU.
#pragma once

#include "core/box.hpp"
#include "core/communicator.hpp"

namespace isotherm {

struct HypreSolve {
  double seconds = 0;  // of this rank, without set-up
  int cycles = 0;
};

bool has_hypre();

// Conjugate gradients preconditioned by a V cycle of PFMG, on the grid of `cells` whose `block` is this
// rank's: cubic cells, temperature 0 at all faces, the same source in each cell, start 0, to the relative l2
// residual `tolerance`. Collective.
HypreSolve solve_by_hypre(const Communicator& world, Int3 cells, Box block, double tolerance);

}  // namespace isotherm
