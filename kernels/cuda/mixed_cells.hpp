// The second pass of kernels that take a body of several materials by tiles: MixedCells of stencil.hpp. For
// .cu files only.
#pragma once

#include "kernels/stencil.hpp"

namespace isotherm::cuda {

// Behind a launch of so many sweeps of args.region: its mixed cells again, from args.in, by the formula of
// materials, with the boundaries of all axes.
template <class T>
void sweep_mixed(const SweepArgs<T>& args, int sweeps, Stream stream);
// A sweep of all cells of args.region in that way: of regions too thin for tiles.
template <class T>
void sweep_cell_by_cell(const SweepArgs<T>& args, Stream stream);

}  // namespace isotherm::cuda
