// The functions of this folder that registry.cpp uses and that are not kernels of the registry. The functions
// that complete the registry entries of kernels are declared in registry.cpp alone.
#pragma once

#include "kernels/change.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/field_algebra.hpp"
#include "kernels/field_reductions.hpp"
#include "kernels/formula.hpp"
#include "kernels/grid_transfer.hpp"
#include "kernels/histogram.hpp"
#include "kernels/mixed_cells.hpp"
#include "kernels/peer_copy.hpp"
#include "kernels/reduction.hpp"
#include "kernels/source_product.hpp"
#include "kernels/stencil.hpp"

namespace isotherm::cuda {

template <class T>
const ExteriorSweep<T>& thin_exterior();
template <class T>
const FaceCopy<T>& face_copy_cuda();
template <class T>
const GridTransfer<T>& grid_transfer_cuda();
template <class T, class Change>
const ChangeTransfer<T, Change>& change_transfer_cuda();
template <class T>
const FieldAlgebra<T>& field_algebra_cuda();
template <class T>
const MixedCellSearch<T>& mixed_cell_search_cuda();
template <class T>
const PeerCopy<T>& peer_copy_cuda();
template <class T>
const FieldReductions<T>& field_reductions_cuda();
template <class T>
const FormulaGrids<T>& formula_grids_cuda();
template <class T>
const SourceSums<T>& source_sums_cuda();

}  // namespace isotherm::cuda
