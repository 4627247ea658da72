// Code that the CPU lectures share: the formula along a row. Lectures are compiled once for each instruction
// set, so their functions are static and inlined, or templates over it (kernels/host/host_kernels.hpp).
#pragma once

#include "kernels/host/host_kernels.hpp"

namespace isotherm::host {

// Rows that an update reads, at x = 0: the cells, their neighbours along y and z, and the source or null.
template <class T>
struct Row {
  const T *centre, *y_lo, *y_hi, *z_lo, *z_hi, *source;
};

// Updates cells [from, to) of the row `out`. The compiler vectorises the loops: no cell depends on another
// one, and neighbours along x are loaded with an offset of one cell.
template <class T>
static inline __attribute__((always_inline)) void update_row(const Coefficients<T>& coefficients,
                                                             const Row<T>& row, T* out, Index from,
                                                             Index to) {
  const Coefficients<T> c = coefficients;
  const auto [centre, y_lo, y_hi, z_lo, z_hi, source] = row;
  if (source) {
#pragma omp simd
    for (Index x = from; x < to; ++x) {
      out[x] = stencil_update(c, centre[x], centre[x - 1], centre[x + 1], y_lo[x], y_hi[x], z_lo[x], z_hi[x],
                              scaled_source(c, source[x]));
    }
  } else {
#pragma omp simd
    for (Index x = from; x < to; ++x) {
      out[x] = stencil_update(c, centre[x], centre[x - 1], centre[x + 1], y_lo[x], y_hi[x], z_lo[x], z_hi[x],
                              c.heat);
    }
  }
}

// Sweeps row (y, z) of the region once.
template <class T>
static inline __attribute__((always_inline)) void sweep_row(const SweepArgs<T>& a, Index y, Index z) {
  const Row<T> row{&a.in(0, y, z),     &a.in(0, y - 1, z), &a.in(0, y + 1, z),
                   &a.in(0, y, z - 1), &a.in(0, y, z + 1), a.source.empty() ? nullptr : &a.source(0, y, z)};
  update_row(a.c[0], row, &a.out(0, y, z), a.region.lo.x, a.region.hi.x);
}

}  // namespace isotherm::host
