// The formula and the boundary rule of isotherm. They stand here once; every kernel on every backend calls
// them.
//
// One Jacobi sweep of the 7-point operator on a uniform grid (cell-centred finite volumes; LeVeque, Finite
// Difference Methods for Ordinary and Partial Differential Equations, SIAM 2007, chapters 3 and 9):
//
//     out = c0 T + cx (T[x-1] + T[x+1]) + cy (T[y-1] + T[y+1]) + cz (T[z-1] + T[z+1]) + s
//
// Explicit fma in a fixed order, and no contraction by the compiler (-ffp-contract=off, --fmad=false), give
// the same bits from every compiler, instruction set and device that follows IEEE 754.
#pragma once

#include <cmath>

#include "core/host_device.hpp"

namespace isotherm {

// Dimensionless; the same in every cell. c0 weighs the cell itself, cx, cy, cz its neighbours along an axis.
template <class T>
struct Coefficients {
  T c0, cx, cy, cz;
};

ISOTHERM_HOST_DEVICE float fused_multiply_add(float a, float b, float c) {
  return ::fmaf(a, b, c);
}
ISOTHERM_HOST_DEVICE double fused_multiply_add(double a, double b, double c) {
  return ::fma(a, b, c);
}

// The sum without the neighbours along z: what a kernel that walks along z holds until the next
// plane arrives. T: all temperatures in kelvin; s: the source's share of one sweep in kelvin (0
// where there is none).
template <class T>
ISOTHERM_HOST_DEVICE T stencil_in_plane(const Coefficients<T>& c, T centre, T x_lo, T x_hi, T y_lo, T y_hi,
                                        T s) {
  T sum = fused_multiply_add(c.c0, centre, s);
  sum = fused_multiply_add(c.cx, x_lo + x_hi, sum);
  return fused_multiply_add(c.cy, y_lo + y_hi, sum);
}
template <class T>
ISOTHERM_HOST_DEVICE T stencil_add_z(const Coefficients<T>& c, T in_plane, T z_lo, T z_hi) {
  return fused_multiply_add(c.cz, z_lo + z_hi, in_plane);
}

template <class T>
ISOTHERM_HOST_DEVICE T stencil_update(const Coefficients<T>& c, T centre, T x_lo, T x_hi, T y_lo, T y_hi,
                                      T z_lo, T z_hi, T s) {
  return stencil_add_z(c, stencil_in_plane(c, centre, x_lo, x_hi, y_lo, y_hi, s), z_lo, z_hi);
}

// What stands beyond a boundary: a T + b of the cell at the boundary. (a, b) hold the kind of boundary, its
// value and the mesh width; physics/boundaries.hpp has the table.
template <class T>
ISOTHERM_HOST_DEVICE T boundary_ghost(T a, T b, T centre) {
  return fused_multiply_add(a, centre, b);
}

}  // namespace isotherm
