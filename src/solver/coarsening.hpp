// The coarse grids of multigrid, the ranks that own their cells, and the overlaps of cells of two grids.
#pragma once

#include <string>
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

// The finest first. Each has half the cells of the one before, rounded up, along axes whose 1/h^2 is at least
// 1/2.5 of the largest (along others errors are not smooth), until no axis has more than 4 and sweeps solve
// it. A grid with more cells than a whole grid, as thick as a launch's ghosts, is decomposed as the finest.
std::vector<CoarseGrid> coarse_grids(const Config& config, const Decomposition& decomposition,
                                     Backend backend);

// For an axis of `fine` and `coarse` cells, by global index. Integer arithmetic: the same on all ranks.
CellOverlap<double> overlap_of(Index coarse_cell, Index fine, Index coarse);
struct AxisInterpolation {  // the two coarse centres around a fine one
  Index lower;              // the other is lower + 1; -1 and `coarse` are beyond the axis
  double upper_weight;      // the weight of `lower` is 1 - upper_weight
};
AxisInterpolation interpolation_of(Index fine_cell, Index fine, Index coarse);

// The coarse cells that a rank restricts to: of a whole grid, those whose first fine cell the rank owns.
Box restricted_by(int rank, const Decomposition& finer, const CoarseGrid& coarse);
// Ghost layers that restriction reads on the finer grid, and interpolation on the coarse one; over all ranks.
struct TransferReach {
  Index fine, coarse;
};
TransferReach transfer_reach(const Decomposition& finer, const CoarseGrid& coarse);

// Why the subdomains are too thin for multigrid; empty: they are not, or the method is another.
std::string why_too_thin(const Config& config, const Decomposition& decomposition, Backend backend);

// With several materials: every second cell of the finer grid along `axis` (kernels/semicoarsening.hpp).
struct HalvedGrid {
  Decomposition decomposition;
  bool whole = false;  // as in CoarseGrid
};
// A grid with more cells than a whole grid, as thick as an exchange, is decomposed as the finer; else whole.
HalvedGrid halved(const Config& config, const Decomposition& finer, int axis, Backend backend);
// The axis with the largest `coupling`, the mean conductance of faces along an axis; among equals the last.
int strongest_axis(Int3 cells, const Vector3& coupling);
// The grids of a body of one material with the mean conductivities of the deck's materials along each axis.
std::vector<HalvedGrid> likely_halved_grids(const Config& config, const Decomposition& decomposition,
                                            Backend backend);

}  // namespace isotherm
