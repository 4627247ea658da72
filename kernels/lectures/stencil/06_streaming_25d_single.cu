// Stencil kernel `streaming_25d_single`: 2.5-D blocking with a single slice in shared memory.
//
// Algebra   one sweep, stencil_in_plane() and stencil_add_z(), the two halves of stencil_update(); boundaries
//           are in the ghosts.
// Mapping   as in `streaming_25d`: one thread per cell of the slice, the block walks along z. But the z
//           neighbours of a cell belong to the same thread, so they need no shared memory: the thread keeps
//           the cells below and above in registers, and adds their term to the sum in the plane. Only the
//           current plane is shared, for its neighbours in x and y.
// Storage   shared memory: one slice of (x + 2)(y + 2) cells, 32x16 in fp32: 2.4 KB, a third of
//           `streaming_25d`, so that more blocks fit; registers: three values.
// Traffic   1 + 2/x + 2/y reads per cell, as in `streaming_25d`, with a third less traffic to shared memory:
//           z neighbours need none. (Micikevicius, 3D Finite Difference Computation on GPUs using CUDA,
//           GPGPU-2, 2009.)
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

// x by y threads, which are the cells of a slice, and the planes of a chunk.
constexpr std::array tiles = {Tile{32, 16, 64}, Tile{32, 8, 64}, Tile{64, 8, 64}, Tile{32, 16, 128}};

template <class T, int tile_x, int tile_y, int tile_z>
__global__ void __launch_bounds__(tile_x* tile_y)
    streaming_25d_single(FieldView<const T> in, FieldView<T> out, FieldView<const T> source,
                         Coefficients<T> c, Int3 first, Int3 hi) {
  constexpr Tile tile{tile_x, tile_y, tile_z};
  __shared__ T t[tile.y + 2][tile.x + 2];
  const int x = threadIdx.x + 1, y = threadIdx.y + 1;
  Int3 cell{first.x + Index{blockIdx.x} * tile.x + threadIdx.x,
            first.y + Index{blockIdx.y} * tile.y + threadIdx.y, first.z + Index{blockIdx.z} * tile.z};
  const Index end = min(cell.z + tile.z, hi.z);
  const bool active = cell.x < hi.x && cell.y < hi.y;
  T below = T{0}, centre = T{0};
  if (active) {
    below = in(cell.x, cell.y, cell.z - 1);
    centre = in(cell);
  }
  for (; cell.z < end; ++cell.z) {
    T above = T{0};
    if (active) {
      const T* g = &in(cell);
      above = g[in.pitch_z];
      t[y][x] = centre;
      if (x == 1) t[y][0] = g[-1];
      if (x == tile.x || cell.x == hi.x - 1) t[y][x + 1] = g[1];
      if (y == 1) t[0][x] = g[-in.pitch_y];
      if (y == tile.y || cell.y == hi.y - 1) t[y + 1][x] = g[in.pitch_y];
    }
    __syncthreads();
    T in_plane = T{0};
    if (active) {
      const T s = scaled_source(c, source.empty() ? c.heat : source(cell));
      in_plane = stencil_in_plane(c, centre, t[y][x - 1], t[y][x + 1], t[y - 1][x], t[y + 1][x], s);
    }
    __syncthreads();
    if (active) out(cell) = stencil_add_z(c, in_plane, below, above);
    below = centre;
    centre = above;
  }
}

template <class T>
void sweep(const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
  with_tile<tiles>(plan.tile, [&]<Tile tile>() {
    const dim3 columns(tile.x, tile.y, tile.z), threads(tile.x, tile.y);
    cover(args.region, columns, [&](dim3 grid, Int3 first) {
      streaming_25d_single<T, tile.x, tile.y, tile.z><<<grid, threads, 0, native(stream)>>>(
          args.in, args.out, args.source, args.c[0], first, args.region.hi);
      check_launch("streaming_25d_single");
    });
  });
}

}  // namespace

template <class T>
void stencil_streaming_25d_single(StencilKernel<T>& kernel) {
  kernel.launch = sweep<T>;
  kernel.tiles = names_of<tiles>();
  kernel.resources = by_tile<tiles>([]<Tile tile>() {
    return resources_of(streaming_25d_single<T, tile.x, tile.y, tile.z>, tile.x * tile.y);
  });
}

ISOTHERM_BOTH_PRECISIONS(stencil_streaming_25d_single, StencilKernel);

}  // namespace isotherm::cuda
