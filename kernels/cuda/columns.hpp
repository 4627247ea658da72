// How rows that walk along z cut a box: columns of x by y cells, each in chunks of planes, one block a chunk.
// Neighbouring columns follow each other in the queue, so that what one block reads at its edge is in L2 when
// the next one wants it. For .cu files only.
#pragma once

#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {

// Planes a chunk, for so many columns on a device that holds `slots` blocks at once. Short chunks fill it
// better, long ones pay less at their ends: `overhead` planes a chunk, for those it reads beside its own and
// for the start of its pipeline.
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

  // `unit`: columns begin at a multiple of so many cells along x.
  static Columns of(Box box, Index x, Index y, Index planes, Index unit = 1) {
    const Int3 n = box.extent();
    const Index first_x = floor_div(box.lo.x, unit) * unit;
    return {
        box, first_x, x, y, planes, ceil_div(box.hi.x - first_x, x), ceil_div(n.y, y), ceil_div(n.z, planes)};
  }
  unsigned blocks() const { return static_cast<unsigned>(count_x * count_y * count_z); }

  // The chunk of this block. It may reach beyond the box in x, at either end, and in y; not in z.
  __device__ __forceinline__ Box of_block() const {
    const Index column = blockIdx.x % (count_x * count_y), chunk = blockIdx.x / (count_x * count_y);
    const Int3 lo{first_x + column % count_x * x, box.lo.y + column / count_x * y, box.lo.z + chunk * planes};
    const Index end = lo.z + planes;
    return {lo, {lo.x + x, lo.y + y, end < box.hi.z ? end : box.hi.z}};
  }
};

}  // namespace isotherm::cuda
