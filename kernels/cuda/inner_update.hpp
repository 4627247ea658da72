// The update of packs in warps that lie in the region with all their cells and rows: nearly all warps of a
// large grid, and a fifth of the instructions of update_pack(). Walls across x and y are theirs too: the
// warps of a block wait for each other in every plane, so that a slow one at a wall would hold up all, and
// such blocks the whole sweep. For .cu files only.
#pragma once

#include "kernels/cuda/tile_update.hpp"

namespace isotherm::cuda {

// What a lane asks once for all planes of its column, and b of the walls beside it in one plane. b is fetched
// a plane ahead: loads that nothing waits for until the next plane is there.
template <class T, int rows>
class InnerWarp {
 public:
  // The warp's first cell at (x0, y).
  __device__ __forceinline__ InnerWarp(const TileArgs<T>& a, int lane, int x0, int y) {
    const Box& region = a.columns.box;
    const int end_x = static_cast<int>(a.in.extent.x), end_y = static_cast<int>(a.in.extent.y);
    const bool at_y_min = y == 0 && a.wall(Face::y_min).is_wall;
    const bool at_y_max = y + rows == end_y && a.wall(Face::y_max).is_wall;
    whole_ = x0 >= region.lo.x && x0 + warp_size * cells <= region.hi.x && y + rows <= region.hi.y &&
             !(at_y_min && at_y_max);
    at_y_min_ = whole_ && at_y_min;
    at_y_max_ = whole_ && at_y_max;
    const bool at_x_min = whole_ && x0 == 0 && a.wall(Face::x_min).is_wall;
    const bool at_x_max = whole_ && x0 + warp_size * cells == end_x && a.wall(Face::x_max).is_wall;
    at_x_ = at_x_min || at_x_max;
    before_ = at_x_min && lane == 0;
    behind_ = at_x_max && lane == warp_size - 1;
  }

  // All lanes have all their cells.
  __device__ __forceinline__ bool whole() const { return whole_; }
  // Is plane z updated by update_inner_pack()? The same for all lanes. Planes beside a wall across z take
  // the long way: two in a whole column.
  __device__ __forceinline__ bool is_inner(const TileArgs<T>& a, int z) const {
    return whole_ && !a.beyond_z_wall(z - 1) && !a.beyond_z_wall(z + 1);
  }

  // Before update_inner_pack() of plane z. This lane's first cell at (x, y).
  __device__ __forceinline__ void fetch_walls(const TileArgs<T>& a, int lane, int x, int y, int z) {
    if (at_x_) {
      const Wall<T>& wall = a.wall(lane < half_warp ? Face::x_min : Face::x_max);
      const int row = lane % half_warp;
      if (wall.is_wall && row < rows) x_b_ = wall.b_at(y + row, z);
    }
    if (at_y_min_ || at_y_max_) {
      const Wall<T>& wall = a.wall(at_y_min_ ? Face::y_min : Face::y_max);
#pragma unroll
      for (int i = 0; i < cells; ++i) y_b_[i] = wall.b_at(x + i, z);
    }
  }

  // Puts what stands beyond the walls into the neighbours of row r. By all lanes.
  __device__ __forceinline__ void apply_walls(const TileArgs<T>& a, Neighbours<T>& n, int r) const {
    if (at_x_) {
      const T b = __shfl_sync(0xffffffffu, x_b_, r, half_warp);
      if (before_) n.x_lo = wall_ghost(a.wall(Face::x_min).a, b, n.centre.v[0]);
      if (behind_) n.x_hi = wall_ghost(a.wall(Face::x_max).a, b, n.centre.v[cells - 1]);
    }
    if (r == 0 && at_y_min_) n.y_lo = beyond_y(a.wall(Face::y_min), n.centre);
    if (r == rows - 1 && at_y_max_) n.y_hi = beyond_y(a.wall(Face::y_max), n.centre);
  }

 private:
  static constexpr int cells = Pack<T>::cells, half_warp = warp_size / 2;
  static_assert(rows <= half_warp, "half a warp holds b of its rows at one of the walls across x");

  __device__ __forceinline__ Pack<T> beyond_y(const Wall<T>& wall, const Pack<T>& centre) const {
    Pack<T> ghost;
#pragma unroll
    for (int i = 0; i < cells; ++i) ghost.v[i] = wall_ghost(wall.a, y_b_[i], centre.v[i]);
    return ghost;
  }

  bool whole_, at_x_, at_y_min_, at_y_max_;  // the same for all lanes
  bool before_, behind_;                     // a wall across x beside this lane's pack
  T x_b_ = 0;          // lane r: at row r of the lower wall across x; lane 16 + r: of the upper one
  T y_b_[cells] = {};  // at the wall across y, beside this lane's first or last row
};

// The same update as update_pack(), for row r of a warp that is inner; its first cell at (x, y, z).
template <class T, int rows, class Norm>
__device__ __forceinline__ void update_inner_pack(const TileArgs<T>& a, const InnerWarp<T, rows>& warp, int r,
                                                  Neighbours<T> n, int x, int y, int z, T* to, Norm& norm) {
  constexpr int cells = Pack<T>::cells;
  warp.apply_walls(a, n, r);
  const Pack<T> s = a.source.empty() ? Pack<T>::zero() : Pack<T>::load(&a.source(x, y, z));
  Pack<T> value;
#pragma unroll
  for (int i = 0; i < cells; ++i) {
    value.v[i] = stencil_update(a.c, n.centre.v[i], i > 0 ? n.centre.v[i - 1] : n.x_lo,
                                i < cells - 1 ? n.centre.v[i + 1] : n.x_hi, n.y_lo.v[i], n.y_hi.v[i],
                                n.z_lo.v[i], n.z_hi.v[i], s.v[i]);
  }
  value.store(to);
#pragma unroll
  for (int i = 0; i < cells; ++i) norm.add(value.v[i], n.centre.v[i], i);
}

}  // namespace isotherm::cuda
