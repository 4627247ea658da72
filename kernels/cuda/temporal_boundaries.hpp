// What the lanes of a fused sweep know of their place: which cells are theirs to leave, what stands beyond
// the boundaries at each level. For .cu files only.
#pragma once

#include "kernels/cuda/column_shares.hpp"
#include "kernels/cuda/tile_cuts.hpp"
#include "kernels/cuda/tile_update.hpp"

namespace isotherm::cuda {

// The kernel's parameters, in constant memory: read by all threads at once.
template <class T>
struct FusedArgs {
  FieldView<const T> in;
  FieldView<T> out;
  FieldView<const T> source;
  Coefficients<T> c;
  Boundaries<T> boundaries;
  UpdateNorm norm;
  Box region, read;  // `read`: the cells that the region depends on
  TileCuts x, y;
  ColumnShares shares;
  unsigned pace;  // cycles between planes of a block; 0: none

  __device__ __forceinline__ const Boundary<T>& face(Face f) const {
    return boundaries.faces[static_cast<int>(f)];
  }
};

// b of a boundary at (p, q) of its face. What a tile has beyond the cells and ghosts of the face is nobody's.
template <bool fields, class T>
__device__ __forceinline__ T b_of(const Boundary<T>& boundary, int p, int q, Index extent_p, Index extent_q,
                                  int ghosts) {
  if constexpr (fields) {
    if (boundary.b_field) {
      p = min(max(p, -ghosts), static_cast<int>(extent_p) + ghosts - 1);
      q = min(max(q, -ghosts), static_cast<int>(extent_q) + ghosts - 1);
      return boundary.b_at(p, q);
    }
  }
  return boundary.b;
}

// Where a lane's rows lie: in the tile, in the region, at the boundaries.
template <class T, int rows>
class FusedPlace {
  static constexpr int cells = Pack<T>::cells;

 public:
  static constexpr unsigned all_cells = (1u << cells) - 1;
  const int tile_x, tile_y, x, y;  // first cell of the tile, and of this lane

  __device__ __forceinline__ FusedPlace(const FusedArgs<T>& a, Index tile, int lane, int warp)
      : tile_x(static_cast<int>(a.x.start(tile % a.x.count))),
        tile_y(static_cast<int>(a.y.start(tile / a.x.count))),
        x(tile_x + lane * cells),
        y(tile_y + warp * rows) {
    const Index ix = tile % a.x.count, iy = tile / a.x.count;
    const int end_x = static_cast<int>(a.in.extent.x), end_y = static_cast<int>(a.in.extent.y);
    const int lo_x = static_cast<int>(a.x.left_from(ix)), hi_x = static_cast<int>(a.x.left_from(ix + 1));
    const int lo_y = static_cast<int>(a.y.left_from(iy)), hi_y = static_cast<int>(a.y.left_from(iy + 1));
#pragma unroll
    for (int i = 0; i < cells; ++i) mine_ |= (lo_x <= x + i && x + i < hi_x ? 1u : 0u) << i;
    first_row_ = lo_y - y;
    end_row_ = hi_y - y;
    at_y_min_ = y == 0 && a.face(Face::y_min).is_boundary;
    before_ = lane == 0 && x == 0 && a.face(Face::x_min).is_boundary;
    if (a.face(Face::y_max).is_boundary) at_y_max_ = end_y - 1 - y;
    if (a.face(Face::x_max).is_boundary) behind_ = end_x - 1 - x;
  }

  // A bit for each cell of this lane's pack in row r that is its block's to leave.
  __device__ __forceinline__ unsigned cells_of(int r) const {
    return first_row_ <= r && r < end_row_ ? mine_ : 0u;
  }

  // Puts what stands beyond boundaries across z below or above plane z, if there is one.
  template <bool fields>
  __device__ __forceinline__ void apply_z_boundaries(const FusedArgs<T>& a, int z, Pack<T> (&below)[rows],
                                                     const Pack<T> (&at)[rows],
                                                     Pack<T> (&above)[rows]) const {
    if (z == 0 && a.face(Face::z_min).is_boundary) beyond_z<fields>(a, Face::z_min, at, below);
    if (z == a.in.extent.z - 1 && a.face(Face::z_max).is_boundary)
      beyond_z<fields>(a, Face::z_max, at, above);
  }

  // Puts what stands beyond boundaries beside the tile at the ends of row r, and what stands beyond those
  // across y before the first row of all and behind the last.
  __device__ __forceinline__ void apply_x_boundaries(const FusedArgs<T>& a, Neighbours<T>& n) const {
    const Boundary<T>&lower = a.face(Face::x_min), &upper = a.face(Face::x_max);
    const bool is_behind = behind_ == cells - 1;
    if constexpr (sizeof(T) ==
                  sizeof(double)) {  // an instruction that some lanes skip beats two more that choose
      if (before_) n.x_lo = boundary_ghost(lower.a, lower.b, n.centre.v[0]);
      if (is_behind) n.x_hi = boundary_ghost(upper.a, upper.b, n.centre.v[cells - 1]);
    } else {
      const T before = boundary_ghost(lower.a, lower.b, n.centre.v[0]);
      const T behind = boundary_ghost(upper.a, upper.b, n.centre.v[cells - 1]);
      n.x_lo = before_ ? before : n.x_lo;
      n.x_hi = is_behind ? behind : n.x_hi;
    }
  }
  __device__ __forceinline__ void apply_y_boundaries(const FusedArgs<T>& a, const Pack<T> (&at)[rows],
                                                     Pack<T>& y_lo, Pack<T>& y_hi) const {
    const auto put = [&](Face f, bool here, const Pack<T>& centre, Pack<T>& to) {
#pragma unroll
      for (int i = 0; i < cells; ++i) {
        const T ghost = boundary_ghost(a.face(f).a, a.face(f).b, centre.v[i]);
        to.v[i] = here ? ghost : to.v[i];
      }
    };
    put(Face::y_min, at_y_min_, at[0], y_lo);
    put(Face::y_max, at_y_max_ == rows - 1, at[rows - 1], y_hi);
  }

  // The same of boundaries that may be anywhere in the tile, with b of every cell. Behind the last cell of a
  // row it may stand in its pack: what is there is nobody's.
  __device__ __forceinline__ void apply_side_boundaries(const FusedArgs<T>& a, int r, int z,
                                                        Neighbours<T>& n) const {
    const Int3 extent = a.in.extent;
    const int ghosts = a.in.ghosts;
    const auto x_ghost = [&](Face f, T centre) {
      return boundary_ghost(a.face(f).a, b_of<true>(a.face(f), y + r, z, extent.y, extent.z, ghosts), centre);
    };
    const Pack<T> centre = n.centre;
    const T before = x_ghost(Face::x_min, centre.v[0]);
    n.x_lo = before_ ? before : n.x_lo;
#pragma unroll
    for (int i = 0; i < cells; ++i) {
      T& next = i < cells - 1 ? n.centre.v[i + 1] : n.x_hi;
      next = i == behind_ ? x_ghost(Face::x_max, centre.v[i]) : next;
    }
    const auto put = [&](Face f, bool here, Pack<T>& to) {
#pragma unroll
      for (int i = 0; i < cells; ++i) {
        const T b = b_of<true>(a.face(f), x + i, z, extent.x, extent.z, ghosts);
        to.v[i] = here ? boundary_ghost(a.face(f).a, b, centre.v[i]) : to.v[i];
      }
    };
    if (r == 0) put(Face::y_min, at_y_min_, n.y_lo);
    put(Face::y_max, r == at_y_max_, n.y_hi);
  }

 private:
  template <bool fields>
  __device__ __forceinline__ void beyond_z(const FusedArgs<T>& a, Face f, const Pack<T> (&at)[rows],
                                           Pack<T> (&beyond)[rows]) const {
    const Boundary<T>& boundary = a.face(f);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
#pragma unroll
      for (int i = 0; i < cells; ++i) {
        const T b = b_of<fields>(boundary, x + i, y + r, a.in.extent.x, a.in.extent.y, a.in.ghosts);
        beyond[r].v[i] = boundary_ghost(boundary.a, b, at[r].v[i]);
      }
    }
  }

  unsigned mine_ = 0;        // a bit for each cell of the pack that is the block's to leave
  int first_row_, end_row_;  // of the rows that are
  bool before_, at_y_min_;   // a boundary beside this lane's pack: the lower across x; across y
  int at_y_max_ = -1;        // the row at the upper boundary across y, if it is one of the lane's
  int behind_ = -1;          // the cell at the upper boundary across x, if it is one of the pack's
};

}  // namespace isotherm::cuda
