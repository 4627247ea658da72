// The update of a warp's packs. It applies boundaries anywhere in a tile and stores only cells of the region.
//
// A sweep ends with its slowest thread block, so a tile at an edge must do little more work than others. The
// rows of a warp are therefore straight-line code without branches: where lanes differ, they select values.
// The one branch, with_edges(), is uniform over a thread block, and the compiler can see that. Where it
// cannot, it makes the lanes reconverge before every shuffle.
//
// For .cu files only.
#pragma once

#include "kernels/production/tile_update.hpp"

namespace isotherm::cuda {

// The contents of a tile in addition to cells of the region away from boundaries.
enum class Edges {
  none,
  region,     // cells outside the region
  boundaries  // boundaries across x or y, and perhaps cells outside the region
};
template <class T>
__device__ __forceinline__ Edges edges_of(const TileArgs<T>& a, const Box& chunk) {
  const Box& region = a.columns.box;
  const Int3 n = a.in.extent;
  if ((a.face(Face::x_min).is_boundary && chunk.lo.x == 0) ||
      (a.face(Face::y_min).is_boundary && chunk.lo.y == 0) ||
      (a.face(Face::x_max).is_boundary && chunk.hi.x >= n.x) ||
      (a.face(Face::y_max).is_boundary && chunk.hi.y >= n.y))
    return Edges::boundaries;
  const bool whole = chunk.lo.x >= region.lo.x && chunk.hi.x <= region.hi.x && chunk.hi.y <= region.hi.y;
  return whole ? Edges::none : Edges::region;
}
// Calls body.operator()<edges>().
template <class Body>
__device__ __forceinline__ void with_edges(Edges edges, Body body) {
  if (edges == Edges::none) {
    body.template operator()<Edges::none>();
  } else if (edges == Edges::region) {
    body.template operator()<Edges::region>();
  } else {
    body.template operator()<Edges::boundaries>();
  }
}

// Position of a warp's rows in the region and at the boundaries, and b of the boundaries across x and y next
// to it in one plane. b is loaded a plane ahead: no instruction waits for it before the next plane.
template <class T, int rows>
class TileWarp {
 public:
  // (x, y): this lane's first cell.
  __device__ __forceinline__ TileWarp(const TileArgs<T>& a, int lane, int x, int y) {
    const Box& region = a.columns.box;
#pragma unroll
    for (int i = 0; i < cells; ++i) mine_ |= (region.lo.x <= x + i && x + i < region.hi.x ? 1u : 0u) << i;
    rows_ = min(rows, static_cast<int>(region.hi.y) - y);

    const int end_x = static_cast<int>(a.in.extent.x), end_y = static_cast<int>(a.in.extent.y);
    at_y_min_ = y == 0 && a.face(Face::y_min).is_boundary;
    if (a.face(Face::y_max).is_boundary) at_y_max_ = end_y - 1 - y;
    at_x_min_ = lane == 0 && x == 0 && a.face(Face::x_min).is_boundary;
    if (a.face(Face::x_max).is_boundary) at_x_max_ = end_x - 1 - x;
  }

  __device__ __forceinline__ bool has_row(int r) const { return r < rows_; }
  // One bit for each cell of this lane's pack in row r that is in the region.
  __device__ __forceinline__ unsigned cells_of(int r) const { return has_row(r) ? mine_ : 0u; }

  // Call before update() of plane z. (x, y): this lane's first cell.
  __device__ __forceinline__ void fetch_boundaries(const TileArgs<T>& a, int lane, int x, int y, int z) {
    const Boundary<T>& x_boundary = a.face(lane < half_warp ? Face::x_min : Face::x_max);
    const int row = lane % half_warp;
    if (x_boundary.is_boundary && row < rows_) x_b_ = x_boundary.b_at(y + row, z);
    if (at_y_min_) fetch_b(a.face(Face::y_min), x, z, y_lo_b_);
    if (0 <= at_y_max_ && at_y_max_ < rows) fetch_b(a.face(Face::y_max), x, z, y_hi_b_);
  }

  // The ghosts beyond a boundary across z, for this lane's pack at (x, y) of the face.
  __device__ __forceinline__ Pack<T> beyond_z(const Boundary<T>& boundary, const Pack<T>& centre, int x,
                                              int y) const {
    T b[cells] = {};
    fetch_b(boundary, x, y, b);
    return beyond(boundary, b, centre);
  }

  // Updates row r. (x, y, z): this lane's first cell; `to`: its address in `out`. All lanes must call,
  // whether the row is in the region or not. n already has the ghosts beyond boundaries across z; update()
  // sets those across x and y. Returns the stored pack; its cells outside the region are undefined.
  // formula(r, n, source) updates a pack by its source as stored.
  template <Edges edges, Source source, class Formula, class Norm>
  __device__ __forceinline__ Pack<T> update(const TileArgs<T>& a, Formula&& formula, int r, Neighbours<T> n,
                                            int x, int y, int z, T* to, Norm& norm) const {
    if constexpr (edges == Edges::boundaries) apply_boundaries(a, n, r);
    const unsigned mine = edges == Edges::none ? all_cells : cells_of(r);
    const Pack<T> without = source == Source::field ? Pack<T>{} : Pack<T>::all(a.c.heat);
    const Pack<T> s = source == Source::heat || a.source.empty() || mine == 0
                          ? without
                          : Pack<T>::load_constant(&a.source(x, y, z));
    const Pack<T> value = formula(r, n, s);
    if (mine == all_cells) value.store(to);
#pragma unroll
    for (int i = 0; i < cells; ++i) {
      const bool is_mine = edges == Edges::none || (mine >> i & 1u) != 0;
      if (edges != Edges::none && is_mine && mine != all_cells) to[i] = value.v[i];
      norm.add(is_mine ? value.v[i] : T{0}, is_mine ? n.centre.v[i] : T{0}, i);
    }
    return value;
  }

 private:
  static constexpr int cells = Pack<T>::cells, half_warp = warp_size / 2;
  static constexpr unsigned all_cells = (1u << cells) - 1;
  static_assert(rows <= half_warp, "half a warp holds b of its rows at one of the boundaries across x");

  // Loads b of cells of the region only: the field b covers the face and its ghosts, a pack may exceed these.
  __device__ __forceinline__ void fetch_b(const Boundary<T>& boundary, int p, int q, T (&b)[cells]) const {
#pragma unroll
    for (int i = 0; i < cells; ++i) {
      if ((mine_ >> i & 1u) != 0) b[i] = boundary.b_at(p + i, q);
    }
  }
  __device__ __forceinline__ static Pack<T> beyond(const Boundary<T>& boundary, const T (&b)[cells],
                                                   const Pack<T>& centre) {
    Pack<T> ghost;
#pragma unroll
    for (int i = 0; i < cells; ++i) ghost.v[i] = boundary_ghost(boundary.a, b[i], centre.v[i]);
    return ghost;
  }
  __device__ __forceinline__ static Pack<T> chosen(bool first, const Pack<T>& a, const Pack<T>& b) {
    Pack<T> p;
#pragma unroll
    for (int i = 0; i < cells; ++i) p.v[i] = first ? a.v[i] : b.v[i];
    return p;
  }

  __device__ __forceinline__ void apply_boundaries(const TileArgs<T>& a, Neighbours<T>& n, int r) const {
    const T lower = boundary_ghost(a.face(Face::x_min).a, __shfl_sync(0xffffffffu, x_b_, r), n.centre.v[0]);
    n.x_lo = at_x_min_ ? lower : n.x_lo;
    // Any cell of the pack may be the last one before the boundary; the next ones are outside the domain.
    const T b = __shfl_sync(0xffffffffu, x_b_, half_warp + r);
#pragma unroll
    for (int i = 0; i < cells; ++i) {
      const T upper = boundary_ghost(a.face(Face::x_max).a, b, n.centre.v[i]);
      T& next = i < cells - 1 ? n.centre.v[i + 1] : n.x_hi;
      next = i == at_x_max_ ? upper : next;
    }
    if (r == 0) n.y_lo = chosen(at_y_min_, beyond(a.face(Face::y_min), y_lo_b_, n.centre), n.y_lo);
    n.y_hi = chosen(r == at_y_max_, beyond(a.face(Face::y_max), y_hi_b_, n.centre), n.y_hi);
  }

  unsigned mine_ = 0;         // one bit for each cell of the pack in the region
  int rows_;                  // number of rows in the region
  bool at_x_min_, at_y_min_;  // the pack is next to the lower boundary across x; across y
  int at_y_max_ = -1;         // the row at the upper boundary across y, if it is one of the warp's
  int at_x_max_ = -1;         // the cell at the upper boundary across x, if it is one of the pack's
  T x_b_ = 0;                 // b in row r: lane r for the lower boundary across x, lane 16 + r for the upper
  T y_lo_b_[cells] = {}, y_hi_b_[cells] = {};  // b at this lane's first row, and at row at_y_max_
};

}  // namespace isotherm::cuda
