// Stencil kernel `streaming_temporal`: two sweeps in one pass over memory (temporal blocking), in the
// plainest form: 2.5-D blocking, once for each sweep.
//
// Algebra   two sweeps, each stencil_update() of the result of the one before: the same bits as two launches.
//           The second sweep needs boundary ghosts of the first one's result, which are not in memory: so the
//           kernel replaces a neighbour beyond a boundary by the boundary condition, in both sweeps.
// Mapping   a thread block walks along z, a thread owns one (x, y). When plane z arrives, level 0 computes
//           plane z - 1 of the first sweep, level 1 plane z - 2 of the second: the result of a level is the
//           plane above for the next level, in the same thread. Tiles overlap: threads at the edge of a tile
//           lack neighbours, in one more layer at each level, so (x - 4)(y - 4) cells are stored. The results
//           of the other threads are wrong and are never used.
// Storage   registers: two values for each level, the plane below and the current one. Shared memory: the
//           current plane of each level, 32x16 in fp32: 4 KB.
// Traffic   one read and one write for two sweeps, and the overlap: 32x16 threads read 1.52 cells for each
//           one stored, which L2 absorbs in part. Redundant work grows with each level and shrinks with
//           the tile. `temporal` (kernels/production) keeps the idea, with larger tiles in registers, planes
//           copied by TMA and four levels. (Nguyen et al., 3.5-D Blocking Optimization for Stencil
//           Computations, SC 2010.)
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

// x by y threads, the overlap included, and the planes of a chunk.
constexpr std::array tiles = {Tile{32, 16, 64}, Tile{32, 32, 64}, Tile{64, 16, 64}, Tile{64, 8, 64}};
constexpr int max_time_block = 2;

// Updates one cell in the given sweep. `below` and `above`: its neighbours along z; `plane` has the others.
template <class T, int tile_y, int tile_x>
__device__ __forceinline__ T cell_update(const SweepArgs<T>& a, int sweep, Int3 cell,
                                         const T (&plane)[tile_y][tile_x], T below, T above) {
  const int x = threadIdx.x, y = threadIdx.y;
  const T centre = plane[y][x];
  T near[] = {plane[y][x - 1], plane[y][x + 1], plane[y - 1][x], plane[y + 1][x], below, above};
#pragma unroll
  for (int f = 0; f < face_count; ++f) {
    const int axis = f / 2;
    const bool at_end = cell[axis] == (f % 2 == 0 ? 0 : a.in.extent[axis] - 1);
    if (!at_end || !a.boundaries.faces[f].is_boundary) continue;
    near[f] =
        a.boundaries.faces[f].ghost(axis == 0 ? cell.y : cell.x, axis == 2 ? cell.y : cell.z, centre, sweep);
  }
  const T s = scaled_source(a.c[sweep], a.source.empty() ? a.c[sweep].heat : a.source(cell));
  return stencil_update(a.c[sweep], centre, near[0], near[1], near[2], near[3], near[4], near[5], s);
}

template <class T, int sweeps, int tile_x, int tile_y, int tile_z>
__global__ void __launch_bounds__(tile_x* tile_y)
    streaming_temporal(const __grid_constant__ SweepArgs<T> a, Box readable, Int3 first) {
  __shared__ T plane[sweeps][tile_y][tile_x];
  const int x = threadIdx.x, y = threadIdx.y;
  const Int3 at{first.x + Index{blockIdx.x} * (tile_x - 2 * sweeps) + x - sweeps,
                first.y + Index{blockIdx.y} * (tile_y - 2 * sweeps) + y - sweeps, 0};
  const Index lo = first.z + Index{blockIdx.z} * tile_z, hi = min(lo + tile_z, a.region.hi.z);
  const bool stores = x >= sweeps && x < tile_x - sweeps && at.x < a.region.hi.x && y >= sweeps &&
                      y < tile_y - sweeps && at.y < a.region.hi.y;
  const bool has_neighbours = x > 0 && x < tile_x - 1 && y > 0 && y < tile_y - 1;
  T below[sweeps] = {}, centre[sweeps] = {};
  for (Index z = lo - sweeps; z < hi + sweeps; ++z) {
    T value = readable.contains({at.x, at.y, z}) ? a.in(at.x, at.y, z) : T{0};
#pragma unroll
    for (int level = 0; level < sweeps; ++level) plane[level][y][x] = centre[level];
    __syncthreads();
#pragma unroll
    for (int level = 0; level < sweeps; ++level) {
      const Int3 cell{at.x, at.y, z - 1 - level};
      T result = T{0};
      if (has_neighbours && readable.contains(cell))
        result = cell_update(a, level, cell, plane[level], below[level], value);
      below[level] = centre[level];
      centre[level] = value;
      value = result;
    }
    if (stores && z - sweeps >= lo) a.out(at.x, at.y, z - sweeps) = value;
    __syncthreads();
  }
}

template <class T, int sweeps>
void sweep(const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
  // One layer of cells around the region per sweep, but none beyond a boundary.
  const Box readable = args.boundaries.widened(args.region, sweeps, args.in.extent);
  with_tile<tiles>(plan.tile, [&]<Tile tile>() {
    const dim3 columns(tile.x - 2 * sweeps, tile.y - 2 * sweeps, tile.z), threads(tile.x, tile.y);
    cover(args.region, columns, [&](dim3 grid, Int3 first) {
      streaming_temporal<T, sweeps, tile.x, tile.y, tile.z>
          <<<grid, threads, 0, native(stream)>>>(args, readable, first);
      check_launch("streaming_temporal");
    });
  });
}

}  // namespace

template <class T>
void stencil_streaming_temporal(StencilKernel<T>& kernel) {
  kernel.launch = [](const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
    plan.time_block == 1 ? sweep<T, 1>(args, plan, stream) : sweep<T, max_time_block>(args, plan, stream);
  };
  kernel.max_time_block = max_time_block;
  kernel.own_boundaries = {true, true, true};
  kernel.tiles = names_of<tiles>();
  kernel.resources = by_tile<tiles>([]<Tile tile>() {
    return resources_of(streaming_temporal<T, max_time_block, tile.x, tile.y, tile.z>, tile.x * tile.y);
  });
}

ISOTHERM_BOTH_PRECISIONS(stencil_streaming_temporal, StencilKernel);

}  // namespace isotherm::cuda
