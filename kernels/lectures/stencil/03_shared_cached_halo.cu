// Stencil kernel `shared_cached_halo`: the tile alone in shared memory, its halo left to the caches.
//
// Algebra   one sweep, stencil_update(); boundaries are in the ghosts.
// Mapping   one thread per cell, one block per tile. Every thread loads its own cell, once, without a branch;
//           after the barrier it reads a neighbour inside the tile from shared memory, one outside it from
//           global memory. Threads at the tile's faces take the other branch: now the uses diverge, not the
//           loads.
// Storage   shared memory: x y z cells, 32x4x4 in fp32: 2 KB, so more blocks fit than with a halo.
// Traffic   as in `shared`, 1 + 2/x + 2/y + 2/z reads per cell, but the second reads are later, and mostly
//           hit lines that the neighbouring block, or this one, has just loaded into L1 or L2 (Kirk and Hwu,
//           Programming Massively Parallel Processors, chapter on convolution).
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

// Threads of a block, which are the cells of a tile.
constexpr std::array tiles = {Tile{32, 4, 4}, Tile{32, 8, 4}, Tile{64, 4, 4}, Tile{16, 8, 8}};

template <class T, int tile_x, int tile_y, int tile_z>
__global__ void __launch_bounds__(tile_x* tile_y* tile_z)
    shared_cached_halo(FieldView<const T> in, FieldView<T> out, FieldView<const T> source, Coefficients<T> c,
                       Int3 first, Int3 hi) {
  constexpr Tile tile{tile_x, tile_y, tile_z};
  __shared__ T t[tile.z][tile.y][tile.x];
  const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  const Int3 cell = cell_of_thread(first);
  const bool active = !beyond(cell, hi);
  if (active) t[z][y][x] = in(cell);
  __syncthreads();
  if (!active) return;
  const T* g = &in(cell);
  // If the neighbour is beyond the region, its thread has loaded nothing.
  const T x_lo = x > 0 ? t[z][y][x - 1] : g[-1];
  const T x_hi = x < tile.x - 1 && cell.x < hi.x - 1 ? t[z][y][x + 1] : g[1];
  const T y_lo = y > 0 ? t[z][y - 1][x] : g[-in.pitch_y];
  const T y_hi = y < tile.y - 1 && cell.y < hi.y - 1 ? t[z][y + 1][x] : g[in.pitch_y];
  const T z_lo = z > 0 ? t[z - 1][y][x] : g[-in.pitch_z];
  const T z_hi = z < tile.z - 1 && cell.z < hi.z - 1 ? t[z + 1][y][x] : g[in.pitch_z];
  const T s = scaled_source(c, source.empty() ? c.heat : source(cell));
  out(cell) = stencil_update(c, t[z][y][x], x_lo, x_hi, y_lo, y_hi, z_lo, z_hi, s);
}

template <class T>
void sweep(const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
  with_tile<tiles>(plan.tile, [&]<Tile tile>() {
    const dim3 block(tile.x, tile.y, tile.z);
    cover(args.region, block, [&](dim3 grid, Int3 first) {
      shared_cached_halo<T, tile.x, tile.y, tile.z><<<grid, block, 0, native(stream)>>>(
          args.in, args.out, args.source, args.c[0], first, args.region.hi);
      check_launch("shared_cached_halo");
    });
  });
}

}  // namespace

template <class T>
void stencil_shared_cached_halo(StencilKernel<T>& kernel) {
  kernel.launch = sweep<T>;
  kernel.tiles = names_of<tiles>();
  kernel.resources = by_tile<tiles>([]<Tile tile>() {
    return resources_of(shared_cached_halo<T, tile.x, tile.y, tile.z>, tile.product());
  });
}

ISOTHERM_BOTH_PRECISIONS(stencil_shared_cached_halo, StencilKernel);

}  // namespace isotherm::cuda
