// The second pass of tiled kernels in a domain of several materials: MixedCells of stencil.hpp. For .cu files
// only.
#pragma once

#include "kernels/stencil.hpp"

namespace isotherm::cuda {

// After a launch of so many sweeps of args.region: sweeps its mixed cells again, from args.in, by the formula
// of materials, and applies the boundaries of all axes.
template <class T>
void sweep_mixed(const SweepArgs<T>& args, int sweeps, Stream stream);
// Sweeps all cells of args.region in that way once, for regions that are too thin for tiles.
template <class T>
void sweep_cell_by_cell(const SweepArgs<T>& args, Stream stream);

}  // namespace isotherm::cuda
