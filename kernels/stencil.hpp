// What a stencil row is: its arguments, its entry in the table.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "core/device.hpp"
#include "core/field_view.hpp"
#include "kernels/stencil_update.hpp"

namespace isotherm {

// One wall of this rank's block, or no wall (`is_wall` false: the ghosts come from a neighbour).
// b: kelvin. Where `b_field` is null, b is the same over the face; else b of the cell with tangential indices
// (p, q) is b_field[p + q * pitch]. (p, q) are (y, z) on x faces, (x, z) on y faces, (x, y) on z faces,
// interior indices; they run from -ghosts to extent + ghosts - 1, and b_field points at (0, 0). It lies in
// the device's memory.
template <class T>
struct Wall {
  bool is_wall = false;
  T a = 0, b = 0;
  const T* b_field = nullptr;
  Index pitch = 0;

  ISOTHERM_HOST_DEVICE T b_at(Index p, Index q) const { return b_field ? b_field[p + q * pitch] : b; }
};

template <class T>
struct Walls {
  Wall<T> faces[face_count];  // by Face
};

// `depth` Jacobi sweeps of `region`; cells of `out` outside `region` stay untouched.
template <class T>
struct SweepArgs {
  FieldView<const T> in;  // kelvin; ghosts valid to `depth` layers, those beyond walls to one layer
  FieldView<T> out;       // same shape as in, other memory
  Box region;             // interior indices: the whole block, its interior, or one shell
  Coefficients<T> c;
  Walls<T> walls;  // applied by the row across its own_walls; across other axes walls are in the ghosts
  FieldView<const T> source;  // kelvin a sweep; may be empty; ghosts as deep as those of `in`
};

// One row of the table. Asynchronous on `stream`; holds no state; allocates and synchronises nothing.
template <class T>
struct StencilKernel {
  std::string_view name;  // the deck's word, the report's, the test's
  Backend backend;
  int max_depth;                                                       // sweeps that one launch can fuse
  void (*launch)(const SweepArgs<T>& args, int depth, Stream stream);  // null: not in this build
  std::string_view remark;
  // The axes across which the row applies the wall rule itself: nobody fills those ghosts for it. A ghost
  // beyond an x wall costs a cache line or two a row of cells.
  std::array<bool, 3> own_walls{};
};

template <class T>
std::span<const StencilKernel<T>> stencil_kernels();

// The walls whose ghosts must be filled before this row sweeps.
template <class T>
Walls<T> walls_in_ghosts(const StencilKernel<T>& row, Walls<T> walls) {
  for (int f = 0; f < face_count; ++f) {
    if (row.own_walls[static_cast<std::size_t>(f / 2)]) walls.faces[f].is_wall = false;
  }
  return walls;
}

// Least traffic of `depth` sweeps a cell, in bytes: one read and one write, and one read of the source if
// there is one.
template <class T>
constexpr double least_bytes_per_cell(bool has_source) {
  return sizeof(T) * (has_source ? 3.0 : 2.0);
}

}  // namespace isotherm
