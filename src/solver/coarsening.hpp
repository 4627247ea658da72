// The coarse grids of multigrid, which rank has which of their cells, and how cells of two grids overlap.
#pragma once

#include <vector>

#include "config/config.hpp"
#include "core/box.hpp"
#include "grid/decomposition.hpp"
#include "kernels/grid_transfer.hpp"

namespace isotherm {

// A grid for the error of the next finer one: no sources of the deck, boundaries that hold 0.
struct CoarseGrid {
  Config config;  // includes halo_width and time_block of its sweeps
  Decomposition decomposition;
  bool whole = false;  // every rank has all cells and computes them redundantly
};

// The finest first. Each grid has half the cells, rounded up, along axes whose 1/h^2 is within 2.5 times of
// the largest (along others errors are not smooth), until no axis has more than 4. It is decomposed as the
// finest while subdomains are as thick as a launch's ghosts, and the ghosts suffice for transfers.
std::vector<CoarseGrid> coarse_grids(const Config& config, const Decomposition& decomposition);

// Along an axis of `fine` and of `coarse` cells, by global index; in integers, so the same on all ranks.
CellOverlap<double> overlap_of(Index coarse_cell, Index fine, Index coarse);
struct AxisInterpolation {  // the two coarse centres around a fine one
  Index lower;              // and lower + 1; -1 and `coarse` are beyond the axis
  double upper_weight;      // that of `lower` is 1 - upper_weight
};
AxisInterpolation interpolation_of(Index fine_cell, Index fine, Index coarse);

// The coarse cells that a rank restricts to; of a whole grid those whose first fine cell it owns.
Box restricted_by(int rank, Int3 fine, const Decomposition& finer, const CoarseGrid& coarse);
// Ghost layers that restriction reads on the finer grid, and interpolation on the coarse one; over all ranks.
struct TransferReach {
  Index fine, coarse;
};
TransferReach transfer_reach(const Decomposition& finer, const CoarseGrid& coarse);

// With several materials: every second cell of the finer grid along `axis` (kernels/semicoarsening.hpp).
struct HalvedGrid {
  int axis;
  Decomposition decomposition;
  bool whole = false;  // as in CoarseGrid
};
// Decomposed as the finer grid while it is large and subdomains are as thick as an exchange's layers.
HalvedGrid halved(const Decomposition& finer, bool finer_is_whole, int axis);
// `coupling`: the mean conductance of the faces along each axis. Among equals the last axis.
int strongest_axis(Int3 cells, const Vector3& coupling);
// The grids of one material whose conductivities along the axes are the means over the deck's materials.
std::vector<HalvedGrid> likely_halved_grids(const Config& config, const Decomposition& decomposition);

}  // namespace isotherm
