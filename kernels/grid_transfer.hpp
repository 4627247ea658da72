// Multigrid transfers between a grid and a coarser one over the same box. One struct per backend.
//
// In a steady problem a sweep of the unit weight adds u = w D^-1 (b - A T) to the field T. The coarse grid
// solves the equation of the error: its source is the mean of u over each coarse cell, scaled to the weight
// of the coarse grid, and its boundaries hold 0. The error found there is added to T by linear interpolation
// (Trottenberg, Oosterlee and Schueller, Multigrid, Academic Press 2001, chapter 2; cell-centred grids:
// section 2.8.4).
//
// A grid of n cells may have a coarser one of any m <= n cells: fine cells are weighted by their overlap with
// a coarse one. Tables hold the weights along each axis.
#pragma once

#include "core/field_view.hpp"
#include "core/stream.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// The fine cells that a coarse cell overlaps along an axis, and their shares of it, which sum to 1.
template <class T>
struct CellOverlap {
  int first = 0, count = 0;
  T share[3] = {};
};
// The two coarse cells whose centres enclose the centre of a fine cell along an axis. There is no cell beyond
// a boundary: by boundary_ghost() its weight is part of the weight of the other cell.
template <class T>
struct Interpolation {
  int lower = 0, upper = 0;
  T lower_weight = 0, upper_weight = 0;
};

// Indices are interior ones of this rank's subdomains. Tables, by axis, are in the device's memory and have
// an entry for each cell of the region.
template <class T>
struct Restriction {
  FieldView<const T> fine;    // K; valid one cell around the cells that the region overlaps
  FieldView<const T> source;  // of the fine grid, as in SweepArgs
  Coefficients<T> unit;       // of a sweep of the unit weight of the fine grid
  FieldView<T> coarse;        // becomes scale times the mean update, K, in `region`
  Box region;
  T scale;
  const CellOverlap<T>* overlaps[3];
  // Each coarse cell of the region is 2 x 2 x 2 fine cells. Their lower x is even, so that pairs are aligned.
  bool nested = false;
  Boundary<T> across_x[2] = {};  // of the fine field, where the backend computes_uniform_x
  // The field of the coarse grid after a first sweep, from 0, with the coefficients `first`; may be empty.
  FieldView<T> swept = {};
  Coefficients<T> first = {};

  // Stores the results of a coarse cell. `mean`: the mean update of its fine cells.
  ISOTHERM_HOST_DEVICE void store(Int3 cell, T mean) const {
    const T result = scale * mean, zero = 0;
    coarse(cell) = result;
    if (!swept.empty())
      swept(cell) =
          stencil_update(first, zero, zero, zero, zero, zero, zero, zero, scaled_source(first, result));
  }
};
template <class T>
struct Prolongation {
  FieldView<const T> coarse;  // K; valid wherever the tables point
  FieldView<T> fine;          // in its region the interpolated error and `shift` are added
  Box region;                 // from (0, 0, 0) on
  T shift;                    // K
  const Interpolation<T>* interpolations[3];
  // Each coarse cell is 2 x 2 x 2 fine cells, from cell (0, 0, 0) on.
  bool nested = false;
};

template <class T>
struct GridTransfer {
  static const GridTransfer& on(Backend backend);  // throws as FaceCopy::on()
  // Does a nested restriction compute the ghost values of uniform x boundaries? All others are read from
  // ghosts.
  bool computes_uniform_x = false;
  void (*restrict_residual)(const Restriction<T>& restriction, Stream stream);
  void (*prolong_add)(const Prolongation<T>& prolongation, Stream stream);
};

// The update that a sweep of the unit weight adds to the cell that `t` points at.
template <class T>
ISOTHERM_HOST_DEVICE T update_of(const Coefficients<T>& c, const T* t, Index pitch_y, Index pitch_z,
                                 T source) {
  return stencil_update(c, t[0], t[-1], t[1], t[-pitch_y], t[pitch_y], t[-pitch_z], t[pitch_z],
                        scaled_source(c, source)) -
         t[0];
}

// Interpolates along one axis. All backends interpolate along y, then z, then x, and so get the same bits.
template <class T>
ISOTHERM_HOST_DEVICE T interpolated(const Interpolation<T>& i, T lower, T upper, T added = 0) {
  return fused_multiply_add(i.upper_weight, upper, fused_multiply_add(i.lower_weight, lower, added));
}

}  // namespace isotherm
