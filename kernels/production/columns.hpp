// Columns of cells for thread blocks that walk along z. For .cu files only.
#pragma once

#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {

// How kernels that walk along z split a box: columns of x by y cells, each in chunks of planes, one thread
// block per chunk. Neighbouring columns have consecutive blocks, so that the cells that one block reads at
// its edge are in L2 when the next block reads them.

// Planes per chunk, for `columns` columns on a device that holds `slots` thread blocks at once. Short chunks
// fill the device better; long chunks have fewer ends, which cost `overhead` planes per chunk.
inline Index balanced_planes(Index columns, Index planes, Index slots, Index overhead) {
  Index best = planes, least = 0;
  for (Index chunks = 1; chunks <= planes; ++chunks) {
    const Index each = ceil_div(planes, chunks);
    const Index cost = ceil_div(columns * ceil_div(planes, each), slots) * (each + overhead);
    if (least != 0 && cost >= least) continue;
    least = cost;
    best = each;
  }
  return best;
}

struct Columns {
  Box box;
  Index first_x = 0;               // where columns begin: at box.lo.x or before it
  Index x = 1, y = 1, planes = 1;  // cells of a chunk
  Index count_x = 1, count_y = 1, count_z = 1;
  // Columns in the middle that are skipped: the first of them, and how many.
  Index hole_x = 0, hole_y = 0, hole_count_x = 0, hole_count_y = 0;

  // Columns begin at a multiple of `unit` cells along x.
  static Columns of(Box box, Index x, Index y, Index planes, Index unit = 1) {
    const Int3 n = box.extent();
    const Index first_x = floor_div(box.lo.x, unit) * unit;
    return {
        box, first_x, x, y, planes, ceil_div(box.hi.x - first_x, x), ceil_div(n.y, y), ceil_div(n.z, planes)};
  }
  // The same columns without those of `hole`, a box of whole columns.
  Columns without(Box hole) const {
    Columns rest = *this;
    rest.hole_x = (hole.lo.x - first_x) / x;
    rest.hole_y = (hole.lo.y - box.lo.y) / y;
    rest.hole_count_x = ceil_div(hole.hi.x - first_x, x) - rest.hole_x;
    rest.hole_count_y = ceil_div(hole.hi.y - box.lo.y, y) - rest.hole_y;
    return rest;
  }
  ISOTHERM_HOST_DEVICE Index columns() const { return count_x * count_y - hole_count_x * hole_count_y; }
  unsigned blocks() const { return static_cast<unsigned>(columns() * count_z); }
  // Cells of the box in these columns, if all columns had equally many.
  double cells() const {
    const double share = static_cast<double>(columns()) / static_cast<double>(count_x * count_y);
    return share * static_cast<double>(box.cells());
  }

  // The chunk of this block. It may reach beyond the box in x, at either end, and in y; not in z.
  __device__ __forceinline__ Box of_block() const {
    const Index chunk = blockIdx.x / columns(), column = numbered(blockIdx.x % columns());
    const Int3 lo{first_x + column % count_x * x, box.lo.y + column / count_x * y, box.lo.z + chunk * planes};
    const Index end = lo.z + planes;
    return {lo, {lo.x + x, lo.y + y, end < box.hi.z ? end : box.hi.z}};
  }

  // The number, among all columns, of the i-th one that is not skipped.
  __device__ __forceinline__ Index numbered(Index i) const {
    const Index before = hole_y * count_x, a_row = count_x - hole_count_x;
    if (i < before) return i;
    if (i >= before + hole_count_y * a_row) return i + hole_count_x * hole_count_y;
    const Index row = (i - before) / a_row, in_row = (i - before) % a_row;
    return before + row * count_x + in_row + (in_row < hole_x ? 0 : hole_count_x);
  }
};

// The planes of a chunk in the order of the walk: plane 1 is the first that the thread block updates, plane 0
// the one before it.
struct PlaneWalk {
  int first, step, count;

  // Every other chunk is walked down.
  template <class Stores>
  __device__ __forceinline__ PlaneWalk(const Columns& columns, const Box& chunk, const Stores& stores) {
    const bool down = stores.is_down((chunk.lo.z - columns.box.lo.z) / columns.planes);
    first = static_cast<int>(down ? chunk.hi.z - 1 : chunk.lo.z);
    step = down ? -1 : 1;
    count = static_cast<int>(chunk.hi.z - chunk.lo.z);
  }
  __device__ __forceinline__ int plane(int n) const { return first + (n - 1) * step; }
  __device__ __forceinline__ Face face_prev() const { return step > 0 ? Face::z_min : Face::z_max; }
  __device__ __forceinline__ Face face_next() const { return step > 0 ? Face::z_max : Face::z_min; }
};

}  // namespace isotherm::cuda
