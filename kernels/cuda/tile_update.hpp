// What the rows of wide tiles share: the arguments of their kernels, and the update of one pack of cells with
// the walls applied wherever they stand. For .cu files only.
#pragma once

#include "kernels/cuda/columns.hpp"
#include "kernels/cuda/pack.hpp"
#include "kernels/cuda/update_norm.hpp"

namespace isotherm::cuda {

// The kernel's parameters, in constant memory: read by all threads at once.
template <class T>
struct TileArgs {
  FieldView<const T> in;
  FieldView<T> out;
  FieldView<const T> source;
  Coefficients<T> c;
  Walls<T> walls;
  Columns columns;  // .box is the region
  UpdateNorm norm;

  __device__ __forceinline__ const Wall<T>& wall(Face f) const { return walls.faces[static_cast<int>(f)]; }
  // Is row y, or plane z, one that a wall stands for?
  __device__ __forceinline__ bool beyond_y_wall(int y) const {
    return (y < 0 && wall(Face::y_min).is_wall) || (y >= in.extent.y && wall(Face::y_max).is_wall);
  }
  __device__ __forceinline__ bool beyond_z_wall(int z) const {
    return (z < 0 && wall(Face::z_min).is_wall) || (z >= in.extent.z && wall(Face::z_max).is_wall);
  }
};

// A pack and the cells around it. x neighbours within the pack are its own.
template <class T>
struct Neighbours {
  Pack<T> centre, y_lo, y_hi, z_lo, z_hi;
  T x_lo, x_hi;  // beside the first and the last cell
};

// What stands beyond a wall across y or z, for a pack at (x, q) of the face.
template <class T>
__device__ __forceinline__ Pack<T> beyond_wall(const Wall<T>& wall, const Pack<T>& centre, int x, int q,
                                               int lo_x, int hi_x) {
  Pack<T> ghost;
#pragma unroll
  for (int i = 0; i < Pack<T>::cells; ++i) {
    // b is a field of the face's cells and ghosts: not of what a pack holds beyond the region.
    const T b = lo_x <= x + i && x + i < hi_x ? wall.b_at(x + i, q) : wall.b;
    ghost.v[i] = wall_ghost(wall.a, b, centre.v[i]);
  }
  return ghost;
}

// Updates the cells of a pack that lie in the region; (x, y, z) is its first, `to` its place in `out`. y and
// z are the same for a warp, so that the questions for their walls do not diverge. Coordinates are 32-bit,
// for the registers: WideTile keeps longer grids away.
template <class T, class Norm>
__device__ __forceinline__ void update_pack(const TileArgs<T>& a, Neighbours<T> n, int x, int y, int z, T* to,
                                            Norm& norm) {
  constexpr int cells = Pack<T>::cells;
  const int lo = static_cast<int>(a.columns.box.lo.x), hi = static_cast<int>(a.columns.box.hi.x);
  const int end_x = static_cast<int>(a.in.extent.x);
  if (a.beyond_y_wall(y - 1)) n.y_lo = beyond_wall(a.wall(Face::y_min), n.centre, x, z, lo, hi);
  if (a.beyond_y_wall(y + 1)) n.y_hi = beyond_wall(a.wall(Face::y_max), n.centre, x, z, lo, hi);
  if (a.beyond_z_wall(z - 1)) n.z_lo = beyond_wall(a.wall(Face::z_min), n.centre, x, y, lo, hi);
  if (a.beyond_z_wall(z + 1)) n.z_hi = beyond_wall(a.wall(Face::z_max), n.centre, x, y, lo, hi);
  const Wall<T>&x_min = a.wall(Face::x_min), &x_max = a.wall(Face::x_max);
  if (x == 0 && x_min.is_wall) n.x_lo = wall_ghost(x_min.a, x_min.b_at(y, z), n.centre.v[0]);
  // The last cell before the x wall may be any of the pack.
  const int last = x_max.is_wall ? end_x - 1 - x : -1;
  T x_ghost = T{0};
  if (0 <= last && last < cells) {
    T at_wall = n.centre.v[0];
#pragma unroll
    for (int i = 1; i < cells; ++i) at_wall = i == last ? n.centre.v[i] : at_wall;
    x_ghost = wall_ghost(x_max.a, x_max.b_at(y, z), at_wall);
  }
  const Pack<T> s = a.source.empty() ? Pack<T>::zero() : Pack<T>::load(&a.source(x, y, z));
  Pack<T> value;
#pragma unroll
  for (int i = 0; i < cells; ++i) {
    const T x_lo = i > 0 ? n.centre.v[i - 1] : n.x_lo;
    const T x_hi = i == last ? x_ghost : i < cells - 1 ? n.centre.v[i + 1] : n.x_hi;
    value.v[i] = stencil_update(a.c, n.centre.v[i], x_lo, x_hi, n.y_lo.v[i], n.y_hi.v[i], n.z_lo.v[i],
                                n.z_hi.v[i], s.v[i]);
  }
  if (x >= lo && x + cells <= hi) {
    value.store(to);
#pragma unroll
    for (int i = 0; i < cells; ++i) norm.add(value.v[i], n.centre.v[i], i);
    return;
  }
#pragma unroll
  for (int i = 0; i < cells; ++i) {
    if (x + i < lo || x + i >= hi) continue;
    to[i] = value.v[i];
    norm.add(value.v[i], n.centre.v[i], i);
  }
}

// Boxes too thin for a wide tile, one thread a cell: the shells of an overlapped step. In stencil_thin.cu.
template <class T>
void sweep_thin(const SweepArgs<T>& args, Stream stream);
unsigned thin_blocks(Box region);

// The chunk of a block: 32 packs along x for each warp beside another, so many rows and planes.
template <class T>
struct WideTile {
  static constexpr Index warp_x = warp_size * Pack<T>::cells;
  Index warps_x, y, planes;

  Index x() const { return warps_x * warp_x; }
  // Not where it would be mostly idle, or where the box is too long for 32-bit coordinates.
  bool fits(Box region) const {
    constexpr Index longest = Index{1} << 30;
    const Int3 n = region.extent();
    return !region.empty() && 4 * n.x >= x() && 4 * n.y >= y && region.hi.x <= longest &&
           region.hi.y <= longest && region.hi.z <= longest;
  }
  Columns columns(Box region) const { return Columns::of(region, x(), y, planes, Pack<T>::cells); }
  // One partial result of a norm a block.
  std::size_t norm_scratch_bytes(Box region) const {
    return std::size_t{fits(region) ? columns(region).blocks() : thin_blocks(region)} * sizeof(double);
  }
};

}  // namespace isotherm::cuda
