// Stencil kernel `shared`: a 3-D tile with its halo in shared memory.
//
// Algebra   one sweep, stencil_update(); boundaries are in the ghosts.
// Mapping   one thread per cell, one block per tile. Every thread loads its own cell; those at a tile face
//           load the halo cell beyond it too, up to three loads per thread. Hardware counters show no
//           divergence (32 of 32 lanes active), but 1.5 times the instructions of `naive`. One barrier, then
//           all compute.
// Storage   shared memory: (x + 2)(y + 2)(z + 2) cells, 32x4x4 in fp32: 4.8 KB. Its corners are never filled.
//           Constant memory: the kernel's parameters.
// Traffic   a cell is read from global memory once by its own block, and once more for each tile face that it
//           is at: 1 + 2/x + 2/y + 2/z reads per cell, 2.06 for 32x4x4. So large tiles are better: they
//           have less surface per cell. On GPUs whose caches hold three planes the second reads hit L2:
//           device memory moves one read per cell anyway, and the barrier gains nothing.
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

// Threads of a block, which are the cells of a tile.
constexpr std::array tiles = {Tile{32, 4, 4}, Tile{32, 8, 4}, Tile{64, 4, 4}, Tile{16, 8, 8}};

template <class T, int tile_x, int tile_y, int tile_z>
__global__ void __launch_bounds__(tile_x* tile_y* tile_z)
    shared_tile(FieldView<const T> in, FieldView<T> out, FieldView<const T> source, Coefficients<T> c,
                Int3 first, Int3 hi) {
  constexpr Tile tile{tile_x, tile_y, tile_z};
  __shared__ T t[tile.z + 2][tile.y + 2][tile.x + 2];
  const int x = threadIdx.x + 1, y = threadIdx.y + 1, z = threadIdx.z + 1;
  const Int3 cell = cell_of_thread(first);
  const bool active = !beyond(cell, hi);
  if (active) {
    const T* g = &in(cell);
    t[z][y][x] = g[0];
    if (x == 1) t[z][y][0] = g[-1];
    if (x == tile.x || cell.x == hi.x - 1) t[z][y][x + 1] = g[1];
    if (y == 1) t[z][0][x] = g[-in.pitch_y];
    if (y == tile.y || cell.y == hi.y - 1) t[z][y + 1][x] = g[in.pitch_y];
    if (z == 1) t[0][y][x] = g[-in.pitch_z];
    if (z == tile.z || cell.z == hi.z - 1) t[z + 1][y][x] = g[in.pitch_z];
  }
  __syncthreads();
  if (!active) return;
  const T s = scaled_source(c, source.empty() ? c.heat : source(cell));
  out(cell) = stencil_update(c, t[z][y][x], t[z][y][x - 1], t[z][y][x + 1], t[z][y - 1][x], t[z][y + 1][x],
                             t[z - 1][y][x], t[z + 1][y][x], s);
}

template <class T>
void sweep(const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
  with_tile<tiles>(plan.tile, [&]<Tile tile>() {
    const dim3 block(tile.x, tile.y, tile.z);
    cover(args.region, block, [&](dim3 grid, Int3 first) {
      shared_tile<T, tile.x, tile.y, tile.z><<<grid, block, 0, native(stream)>>>(
          args.in, args.out, args.source, args.c[0], first, args.region.hi);
      check_launch("shared");
    });
  });
}

}  // namespace

template <class T>
void stencil_shared(StencilKernel<T>& kernel) {
  kernel.launch = sweep<T>;
  kernel.tiles = names_of<tiles>();
  kernel.resources = by_tile<tiles>(
      []<Tile tile>() { return resources_of(shared_tile<T, tile.x, tile.y, tile.z>, tile.product()); });
}

ISOTHERM_BOTH_PRECISIONS(stencil_shared, StencilKernel);

}  // namespace isotherm::cuda
