// Stencil kernel `streaming_tma`: 2.5-D blocking whose planes are copied by TMA, the tensor memory
// accelerator (compute capability 9.0 and later).
//
// Algebra   one sweep, stencil_update(); boundaries are in the ghosts.
// Mapping   as in `streaming_async`: one thread per cell of a slice, the thread block walks along z, four
//           stages. But one thread requests a whole plane, halo included, by one bulk tensor copy. It
//           computes no address: the hardware reads the field's shape and pitches from a tensor map. An
//           mbarrier in shared memory counts the bytes; its phase completes when all expected bytes have
//           arrived, and all threads wait for that phase. Boxes begin at multiples of 16 bytes, so the slice
//           begins at a pack of cells and has a pack on either side; threads before the region store nothing.
// Storage   shared memory: four stages of (x + 2 packs)(y + 2) cells, 32x16 in fp32: 11.5 KB, and an mbarrier
//           each. Registers: the cell below. Constant memory: the tensor map, as a kernel parameter.
// Traffic   as in `streaming_async`, and 32-byte sectors on either side of a row instead of single cells, so
//           wide tiles gain. The kernel saves instructions: it has no load, no address and no branch for the
//           halo. `tma_pipeline` (kernels/production) adds several rows per lane in registers, stores of 16
//           bytes, boundaries, and thread blocks that stay at the same plane.
#include "kernels/cuda/hopper.hpp"
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

// x by y threads, which are the cells of a slice, and the planes of a chunk.
constexpr std::array tiles = {Tile{32, 16, 64}, Tile{32, 8, 64}, Tile{64, 8, 64}, Tile{64, 16, 64}};
constexpr int stages = 4;
constexpr Index longest_axis = (Index{1} << 30) - 64;  // coordinates of a box have 32 bits

template <class T, Tile tile>
struct Stage {
  static constexpr int pack = Pack<T>::cells;
  alignas(128) T t[tile.y + 2][tile.x + 2 * pack];
};

template <class T, int tile_x, int tile_y, int tile_z>
__global__ void __launch_bounds__(tile_x* tile_y)
    streaming_tma(const __grid_constant__ TensorMap<T> map, FieldView<T> out, FieldView<const T> source,
                  Coefficients<T> c, Int3 first, Box region) {
  constexpr Tile tile{tile_x, tile_y, tile_z};
  using Slice = Stage<T, tile>;
  __shared__ Slice pipeline[stages];
  __shared__ BytesBarrier full[stages];
  const Int3 lo{first.x + Index{blockIdx.x} * tile.x, first.y + Index{blockIdx.y} * tile.y,
                first.z + Index{blockIdx.z} * tile.z};
  Int3 cell{lo.x + threadIdx.x, lo.y + threadIdx.y, lo.z};
  const int x = threadIdx.x + Slice::pack, y = threadIdx.y + 1;
  const bool active = cell.x >= region.lo.x && cell.x < region.hi.x && cell.y < region.hi.y;
  const bool requests = threadIdx.x == 0 && threadIdx.y == 0;
  // Plane 0 is the one below the chunk, planes 1 to `count` are computed. Plane n uses stage n % stages.
  const int count = static_cast<int>(min(Index{tile.z}, region.hi.z - lo.z));
  const auto copy = [&](int n) {
    if (!requests || n > count + 1) return;
    BytesBarrier& barrier = full[n % stages];
    barrier.expect(sizeof(Slice::t));
    barrier.copy(map, pipeline[n % stages].t, static_cast<int>(lo.x) - Slice::pack,
                 static_cast<int>(lo.y) - 1, static_cast<int>(lo.z) - 1 + n);
  };
  const auto wait = [&](int n) { full[n % stages].wait(n / stages % 2); };  // phases alternate
  if (requests) {
    for (BytesBarrier& barrier : full) barrier.init();
    BytesBarrier::publish();
  }
  __syncthreads();
  for (int n = 0; n < stages; ++n) copy(n);
  wait(0);
  wait(1);
  T below = pipeline[0].t[y][x];
  for (int n = 1; n <= count; ++n, ++cell.z) {
    __syncthreads();  // all threads have read plane n - 1
    copy(n + stages - 1);
    wait(n + 1);
    const Slice& centre = pipeline[n % stages];
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
  if (args.region.empty()) return;
  with_tile<tiles>(plan.tile, [&]<Tile tile>() {
    constexpr int pack = Pack<T>::cells;
    const TensorMap<T> map = TensorMap<T>::make(args.in, {tile.x + 2 * pack, tile.y + 2, 1});
    const Box box{{pack_floor<T>(args.region.lo.x), args.region.lo.y, args.region.lo.z}, args.region.hi};
    const dim3 columns(tile.x, tile.y, tile.z), threads(tile.x, tile.y);
    cover(box, columns, [&](dim3 grid, Int3 first) {
      streaming_tma<T, tile.x, tile.y, tile.z>
          <<<grid, threads, 0, native(stream)>>>(map, args.out, args.source, args.c[0], first, args.region);
      check_launch("streaming_tma");
    });
  });
}

}  // namespace

template <class T>
void stencil_streaming_tma(StencilKernel<T>& kernel) {
  kernel.launch = sweep<T>;
  kernel.tiles = names_of<tiles>();
  kernel.longest_axis = longest_axis;
  kernel.unsupported = by_tile<tiles>(
      []<Tile tile>() { return without_bulk_copies(streaming_tma<T, tile.x, tile.y, tile.z>, 0); });
  kernel.resources = by_tile<tiles>(
      []<Tile tile>() { return resources_of(streaming_tma<T, tile.x, tile.y, tile.z>, tile.x * tile.y); });
}

ISOTHERM_BOTH_PRECISIONS(stencil_streaming_tma, StencilKernel);

}  // namespace isotherm::cuda
