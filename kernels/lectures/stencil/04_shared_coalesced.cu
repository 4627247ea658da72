// Stencil kernel `shared_coalesced`: the tile of `shared`, its halo loaded by whole warps.
//
// Algebra   one sweep, stencil_update(); boundaries are in the ghosts.
// Mapping   one thread per cell, one block per tile. Loads do not follow the cells of threads: warps take the
//           tile's rows in turn, halo rows too, and the 32 lanes of a warp read consecutive cells of a row,
//           so all lanes load alike. After the barrier each thread computes its own cell.
// Storage   shared memory: (x + 2)(y + 2)(z + 2) cells as in `shared`; the rows in the corners of the (y, z)
//           plane are not loaded.
// Traffic   the bytes of `shared`: 1 + 2/x + 2/y + 2/z reads per cell. Loads by whole warps should avoid
//           divergence, but `shared` has none. This kernel has some at the ends of rows (28 of 32 lanes are
//           active), and twice the instructions of `shared` for its indices: it is half as fast.
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

// Threads of a block, which are the cells of a tile.
constexpr std::array tiles = {Tile{32, 4, 4}, Tile{32, 8, 4}, Tile{64, 4, 4}, Tile{16, 8, 8}};

template <class T, int tile_x, int tile_y, int tile_z>
__global__ void __launch_bounds__(tile_x* tile_y* tile_z)
    shared_coalesced(FieldView<const T> in, FieldView<T> out, FieldView<const T> source, Coefficients<T> c,
                     Int3 first, Int3 hi) {
  constexpr Tile tile{tile_x, tile_y, tile_z};
  __shared__ T t[tile.z + 2][tile.y + 2][tile.x + 2];
  const Int3 lo{first.x + Index{blockIdx.x} * tile.x, first.y + Index{blockIdx.y} * tile.y,
                first.z + Index{blockIdx.z} * tile.z};
  const int thread = threadIdx.x + tile.x * (threadIdx.y + tile.y * threadIdx.z);
  const int lane = thread % warp_size;
  constexpr int rows_y = tile.y + 2, rows = rows_y * (tile.z + 2);
  for (int row = thread / warp_size; row < rows; row += tile.product() / warp_size) {
    const int y = row % rows_y, z = row / rows_y;
    const bool halo_y = y == 0 || y == tile.y + 1, halo_z = z == 0 || z == tile.z + 1;
    const Index gy = lo.y + y - 1, gz = lo.z + z - 1;
    if ((halo_y && halo_z) || gy > hi.y || gz > hi.z) continue;
    const bool halo_row = halo_y || halo_z || gy == hi.y || gz == hi.z;
    for (int x = lane; x < tile.x + 2; x += warp_size) {
      const Index gx = lo.x + x - 1;
      // No cell of the tile has the ends of a halo row as neighbours.
      if (gx > hi.x || (halo_row && (x == 0 || gx == hi.x))) continue;
      t[z][y][x] = in(gx, gy, gz);
    }
  }
  __syncthreads();
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, hi)) return;
  const int x = threadIdx.x + 1, y = threadIdx.y + 1, z = threadIdx.z + 1;
  const T s = scaled_source(c, source.empty() ? c.heat : source(cell));
  out(cell) = stencil_update(c, t[z][y][x], t[z][y][x - 1], t[z][y][x + 1], t[z][y - 1][x], t[z][y + 1][x],
                             t[z - 1][y][x], t[z + 1][y][x], s);
}

template <class T>
void sweep(const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
  with_tile<tiles>(plan.tile, [&]<Tile tile>() {
    const dim3 block(tile.x, tile.y, tile.z);
    cover(args.region, block, [&](dim3 grid, Int3 first) {
      shared_coalesced<T, tile.x, tile.y, tile.z><<<grid, block, 0, native(stream)>>>(
          args.in, args.out, args.source, args.c[0], first, args.region.hi);
      check_launch("shared_coalesced");
    });
  });
}

}  // namespace

template <class T>
void stencil_shared_coalesced(StencilKernel<T>& kernel) {
  kernel.launch = sweep<T>;
  kernel.tiles = names_of<tiles>();
  kernel.resources = by_tile<tiles>(
      []<Tile tile>() { return resources_of(shared_coalesced<T, tile.x, tile.y, tile.z>, tile.product()); });
}

ISOTHERM_BOTH_PRECISIONS(stencil_shared_coalesced, StencilKernel);

}  // namespace isotherm::cuda
