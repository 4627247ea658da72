// Stencil kernel `streaming_25d`: 2.5-D blocking. A block owns a column of x by y cells and walks along z
// with three slices on chip.
//
// Algebra   one sweep, stencil_update(); boundaries are in the ghosts.
// Mapping   one thread per cell of the slice; the block walks through its planes. The slices below, at and
//           above the current plane are in shared memory; at the next plane the lowest is overwritten (the
//           pointers to slices rotate, nothing is copied). Threads at the slice's edge load its halo.
// Storage   shared memory: three slices of (x + 2)(y + 2) cells, 32x16 in fp32: 7.3 KB.
// Traffic   z neighbours cost nothing: a plane is read once for its three uses. Only the halo in x and y is
//           read in addition, 1 + 2/x + 2/y reads per cell (1.19 for 32x16), and the two planes at the ends
//           of a chunk. Each plane needs two barriers. (Nguyen, Satish, Chhugani, Kim and Dubey, 3.5-D
//           Blocking Optimization for Stencil Computations, SC 2010; Micikevicius, 3D Finite Difference
//           Computation on GPUs using CUDA, GPGPU-2, 2009.)
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

// x by y threads, which are the cells of a slice, and the planes of a chunk.
constexpr std::array tiles = {Tile{32, 16, 64}, Tile{32, 8, 64}, Tile{64, 8, 64}, Tile{32, 16, 128}};

template <class T, Tile tile>
struct Slice {
  T t[tile.y + 2][tile.x + 2];

  // Each thread loads its own cell, and those at the edge the halo.
  __device__ __forceinline__ void load(FieldView<const T> in, Int3 cell, Int3 hi) {
    const int x = threadIdx.x + 1, y = threadIdx.y + 1;
    const T* g = &in(cell);
    t[y][x] = g[0];
    if (x == 1) t[y][0] = g[-1];
    if (x == tile.x || cell.x == hi.x - 1) t[y][x + 1] = g[1];
    if (y == 1) t[0][x] = g[-in.pitch_y];
    if (y == tile.y || cell.y == hi.y - 1) t[y + 1][x] = g[in.pitch_y];
  }
};

// Blocks of a multiprocessor: with fewer, fp64 is a quarter slower.
template <class T, int threads>
constexpr int least_blocks = (sizeof(T) == 8 ? 1536 : 2048) / threads;

template <class T, int tile_x, int tile_y, int tile_z>
__global__ void __launch_bounds__(tile_x* tile_y, least_blocks<T, tile_x * tile_y>)
    streaming_25d(FieldView<const T> in, FieldView<T> out, FieldView<const T> source, Coefficients<T> c,
                  Int3 first, Int3 hi) {
  constexpr Tile tile{tile_x, tile_y, tile_z};
  __shared__ Slice<T, tile> slices[3];
  const int x = threadIdx.x + 1, y = threadIdx.y + 1;
  Int3 cell{first.x + Index{blockIdx.x} * tile.x + threadIdx.x,
            first.y + Index{blockIdx.y} * tile.y + threadIdx.y, first.z + Index{blockIdx.z} * tile.z};
  const Index end = min(cell.z + tile.z, hi.z);
  const bool active = cell.x < hi.x && cell.y < hi.y;
  Slice<T, tile>*below = &slices[0], *at = &slices[1], *above = &slices[2];
  if (active) {
    below->t[y][x] = in(cell.x, cell.y, cell.z - 1);
    at->load(in, cell, hi);
  }
  for (; cell.z < end; ++cell.z) {
    // The slice above needs its halo only if it will be updated; beyond the chunk only its cells are read.
    if (active) {
      const Int3 next{cell.x, cell.y, cell.z + 1};
      if (next.z < end) {
        above->load(in, next, hi);
      } else {
        above->t[y][x] = in(next);
      }
    }
    __syncthreads();
    if (active) {
      const T s = scaled_source(c, source.empty() ? c.heat : source(cell));
      out(cell) = stencil_update(c, at->t[y][x], at->t[y][x - 1], at->t[y][x + 1], at->t[y - 1][x],
                                 at->t[y + 1][x], below->t[y][x], above->t[y][x], s);
    }
    __syncthreads();
    Slice<T, tile>* const spare = below;
    below = at;
    at = above;
    above = spare;
  }
}

template <class T>
void sweep(const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
  with_tile<tiles>(plan.tile, [&]<Tile tile>() {
    const dim3 columns(tile.x, tile.y, tile.z), threads(tile.x, tile.y);
    cover(args.region, columns, [&](dim3 grid, Int3 first) {
      streaming_25d<T, tile.x, tile.y, tile.z><<<grid, threads, 0, native(stream)>>>(
          args.in, args.out, args.source, args.c[0], first, args.region.hi);
      check_launch("streaming_25d");
    });
  });
}

}  // namespace

template <class T>
void stencil_streaming_25d(StencilKernel<T>& kernel) {
  kernel.launch = sweep<T>;
  kernel.tiles = names_of<tiles>();
  kernel.resources = by_tile<tiles>(
      []<Tile tile>() { return resources_of(streaming_25d<T, tile.x, tile.y, tile.z>, tile.x * tile.y); });
}

ISOTHERM_BOTH_PRECISIONS(stencil_streaming_25d, StencilKernel);

}  // namespace isotherm::cuda
