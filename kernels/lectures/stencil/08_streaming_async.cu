// Stencil kernel `streaming_async`: 2.5-D blocking with a multistage pipeline of asynchronous copies (compute
// capability 8.0 and later; on older devices the same copies wait for their data).
//
// Algebra   one sweep, stencil_update(); boundaries are in the ghosts.
// Mapping   as in `streaming_25d`: one thread per cell of a slice, the thread block walks along z. But a load
//           does not stop its thread: cp.async copies a cell from global to shared memory without a register.
//           A thread starts the copies of a plane, its own cell and at the edge a cell of the halo, three
//           planes before that plane is computed. The copies of a plane are a group; a thread waits for the
//           oldest groups only, while the younger ones are in flight. One barrier per plane makes the copies
//           of other threads visible, and frees the oldest stage.
// Storage   shared memory: four stages of (x + 2)(y + 2) cells, 32x16 in fp32: 9.8 KB. Registers: the cell
//           below.
// Traffic   1 + 2/x + 2/y reads per cell, as in `streaming_25d`. Two or three planes are in flight instead of
//           one, for a third more shared memory. The copies are 4 or 8 bytes wide: each thread
//           still computes an address for each cell, which `streaming_tma` leaves to the hardware. (NVIDIA,
//           CUDA C++ Programming Guide, "Asynchronous data copies".)
#include <cuda_pipeline.h>

#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

// x by y threads, which are the cells of a slice, and the planes of a chunk.
constexpr std::array tiles = {Tile{32, 16, 64}, Tile{32, 8, 64}, Tile{64, 8, 64}, Tile{32, 16, 128}};
constexpr int stages = 4;

template <class T, Tile tile>
struct Stage {
  T t[tile.y + 2][tile.x + 2];

  // Starts to copy this thread's cell and, `with_halo`, the cells next to the slice.
  __device__ __forceinline__ void copy(FieldView<const T> in, Int3 cell, Int3 hi, bool with_halo) {
    const int x = threadIdx.x + 1, y = threadIdx.y + 1;
    const T* g = &in(cell);
    start(&t[y][x], g);
    if (!with_halo) return;
    if (x == 1) start(&t[y][0], g - 1);
    if (x == tile.x || cell.x == hi.x - 1) start(&t[y][x + 1], g + 1);
    if (y == 1) start(&t[0][x], g - in.pitch_y);
    if (y == tile.y || cell.y == hi.y - 1) start(&t[y + 1][x], g + in.pitch_y);
  }
  __device__ __forceinline__ static void start(T* to, const T* from) {
    __pipeline_memcpy_async(to, from, sizeof(T));
  }
};

template <class T, int tile_x, int tile_y, int tile_z>
__global__ void __launch_bounds__(tile_x* tile_y)
    streaming_async(FieldView<const T> in, FieldView<T> out, FieldView<const T> source, Coefficients<T> c,
                    Int3 first, Int3 hi) {
  constexpr Tile tile{tile_x, tile_y, tile_z};
  __shared__ Stage<T, tile> pipeline[stages];
  const int x = threadIdx.x + 1, y = threadIdx.y + 1;
  Int3 cell{first.x + Index{blockIdx.x} * tile.x + threadIdx.x,
            first.y + Index{blockIdx.y} * tile.y + threadIdx.y, first.z + Index{blockIdx.z} * tile.z};
  const bool active = cell.x < hi.x && cell.y < hi.y;
  // Plane 0 is the one below the chunk, planes 1 to `count` are computed. Plane n uses stage n % stages.
  const Index below_chunk = cell.z - 1;
  const int count = static_cast<int>(min(Index{tile.z}, hi.z - cell.z));
  const auto copy = [&](int n) {
    if (active && n <= count + 1) {
      pipeline[n % stages].copy(in, {cell.x, cell.y, below_chunk + n}, hi, n > 0 && n <= count);
    }
    __pipeline_commit();  // an empty group, too: waits count groups
  };
  for (int n = 0; n < stages; ++n) copy(n);
  __pipeline_wait_prior(stages - 1);
  T below = pipeline[0].t[y][x];
  for (int n = 1; n <= count; ++n, ++cell.z) {
    __pipeline_wait_prior(stages - 3);  // of planes 0 to n + stages - 2, those up to n + 1 have arrived
    __syncthreads();                    // in all threads; and all have computed plane n - 1
    copy(n + stages - 1);               // into the stage of plane n - 1
    const Stage<T, tile>& centre = pipeline[n % stages];
    const T above = pipeline[(n + 1) % stages].t[y][x];
    if (active) {
      const T s = scaled_source(c, source.empty() ? c.heat : source(cell));
      out(cell) = stencil_update(c, centre.t[y][x], centre.t[y][x - 1], centre.t[y][x + 1],
                                 centre.t[y - 1][x], centre.t[y + 1][x], below, above, s);
    }
    below = centre.t[y][x];
  }
}

template <class T>
void sweep(const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
  with_tile<tiles>(plan.tile, [&]<Tile tile>() {
    const dim3 columns(tile.x, tile.y, tile.z), threads(tile.x, tile.y);
    cover(args.region, columns, [&](dim3 grid, Int3 first) {
      streaming_async<T, tile.x, tile.y, tile.z><<<grid, threads, 0, native(stream)>>>(
          args.in, args.out, args.source, args.c[0], first, args.region.hi);
      check_launch("streaming_async");
    });
  });
}

}  // namespace

template <class T>
void stencil_streaming_async(StencilKernel<T>& kernel) {
  kernel.launch = sweep<T>;
  kernel.tiles = names_of<tiles>();
  kernel.resources = by_tile<tiles>(
      []<Tile tile>() { return resources_of(streaming_async<T, tile.x, tile.y, tile.z>, tile.x * tile.y); });
}

ISOTHERM_BOTH_PRECISIONS(stencil_streaming_async, StencilKernel);

}  // namespace isotherm::cuda
