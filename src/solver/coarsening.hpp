// The grids of multigrid below the deck's, who has which cells, and how cells of two belong together.
#pragma once

#include <vector>

#include "config/config.hpp"
#include "core/box.hpp"
#include "grid/decomposition.hpp"
#include "kernels/grid_transfer.hpp"

namespace isotherm {

// A grid for the error of the next finer one: no sources yet, boundaries that hold 0.
struct CoarseGrid {
  Config config;  // with halo_width and time_block of its sweeps
  Decomposition decomposition;
  bool whole = false;  // every rank has all cells, and computes the same
};

// The finest first. Each has half as many cells, rounded up, along axes whose 1/h^2 is within 2.5 times of
// the largest (elsewhere errors are not smooth), until no axis has more than 4. Cut as the finest while
// blocks are as thick as a launch's ghosts, and transfers find what they read in the ghosts of both grids.
std::vector<CoarseGrid> coarse_grids(const Config& config, const Decomposition& decomposition);

// Along an axis cut into `fine` and `coarse` cells, by global index; whole numbers, the same on all ranks.
CellOverlap<double> overlap_of(Index coarse_cell, Index fine, Index coarse);
struct AxisInterpolation {  // the coarse centres around a fine one
  Index lower;              // and lower + 1: -1 or `coarse` where there is no such cell
  double upper_weight;      // the other is 1 less that
};
AxisInterpolation interpolation_of(Index fine_cell, Index fine, Index coarse);

// The coarse cells that a rank restricts to: of a whole grid those whose first fine cell is its own.
Box restricted_by(int rank, Int3 fine, const Decomposition& finer, const CoarseGrid& coarse);
// Layers of ghosts that this reads of the finer grid, and interpolation of the coarse one; of any rank.
struct TransferReach {
  Index fine, coarse;
};
TransferReach transfer_reach(const Decomposition& finer, const CoarseGrid& coarse);

// Of several materials: every second cell of the finer grid along an axis (kernels/semicoarsening.hpp).
struct HalvedGrid {
  int axis;
  Decomposition decomposition;
  bool whole = false;  // every rank has all cells, and computes the same
};
// Cut as the finer one while it has many cells and no block is thinner than an exchange of conductances.
HalvedGrid halved(const Decomposition& finer, bool finer_is_whole, int axis);
// `coupling`: the mean conductance of faces between neighbours along each axis. The last of the strongest.
int strongest_axis(Int3 cells, const Vector3& coupling);
// Those of a body of one material, which differs by axis as the mean of the deck's materials does.
std::vector<HalvedGrid> likely_halved_grids(const Config& config, const Decomposition& decomposition);

}  // namespace isotherm
