// Stencil row `bulk_pipeline`: planes of a tile arrive in shared memory by bulk tensor copies, several planes
// ahead of the warps that compute (compute capability 9.0 and later).
//
// Algebra   one sweep, stencil_update(); walls on all faces are applied where the tile meets them.
// Mapping   a block owns a column of 32 packs of 16 bytes along x by some rows of y and walks along z. One
//           thread asks the copy engine for the next plane of the tile and its halo in y and x; a barrier in
//           shared memory opens when its bytes have come. Each lane of a warp then updates some rows of its
//           pack: y neighbours come from shared memory, or its own rows; x neighbours by shuffle; z
//           neighbours from registers and from the plane above, which is in shared memory already.
// Lives in  shared memory: a ring of planes of (x + 2 packs) by (y + 2) cells, some 18 KB each, and their
//           barriers. Registers: the plane below and the one at work.
// Traffic   as `register_tile`: each cell once, and the tile's halo, which comes from L2. What differs is who
//           loads: no thread computes an address or waits in a register for a load, so that as much is in
//           flight as the ring holds, whatever the occupancy.
#include "kernels/cuda/hopper.hpp"
#include "kernels/cuda/policy.hpp"
#include "kernels/cuda/resources.hpp"
#include "kernels/cuda/rows.hpp"
#include "kernels/cuda/tile_update.hpp"

namespace isotherm::cuda {
namespace {

// x: rows of y that a lane owns; y: warps of a block; z: planes of the ring.
constexpr std::array tiles = {Tile{4, 8, 5}, Tile{4, 8, 4}, Tile{4, 8, 6},  Tile{2, 8, 6},
                              Tile{2, 8, 8}, Tile{4, 4, 8}, Tile{2, 16, 5}, Tile{4, 16, 5}};
constexpr Index chunk_planes = 64;

template <class T>
constexpr int tile_x = warp_size* Pack<T>::cells;

// A plane of the ring.
template <class T, int rows, int warps>
struct Plane {
  static constexpr int cells_x = static_cast<int>(WideTile<T>::x) + 2 * Pack<T>::cells,
                       cells_y = rows * warps + 2;
  alignas(128) T cell[cells_y][cells_x];

  static constexpr std::uint32_t bytes = cells_y * cells_x * sizeof(T);  // without what aligns the next plane

  // Of the pack of that lane in row y of the tile, -1 and rows * warps included.
  __device__ __forceinline__ const T* at(int y, int lane) const {
    return &cell[y + 1][(lane + 1) * Pack<T>::cells];
  }
};

template <class T, int rows, int warps, int stages>
struct Ring {
  Plane<T, rows, warps> planes[stages];
  BytesBarrier full[stages];
};

template <class T, int rows, int warps, int stages, bool norm_on>
__global__ void __launch_bounds__(warps* warp_size)
    bulk_pipeline(const __grid_constant__ TensorMap<T> map, const __grid_constant__ TileArgs<T> a) {
  using Pipe = Ring<T, rows, warps, stages>;
  Pipe& ring = *reinterpret_cast<Pipe*>(dynamic_shared());
  const Box chunk = a.columns.of_block();
  const int begin = static_cast<int>(chunk.lo.z), end = static_cast<int>(chunk.hi.z);
  const int lane = threadIdx.x % warp_size, row = threadIdx.x / warp_size * rows;  // in the tile
  const int tile_lo_x = static_cast<int>(chunk.lo.x), tile_lo_y = static_cast<int>(chunk.lo.y);
  const int x = tile_lo_x + lane * Pack<T>::cells, y = tile_lo_y + row;
  const int end_y = static_cast<int>(a.columns.box.hi.y);
  const bool in_region = x < a.columns.box.hi.x;
  UpdateSum<norm_on> norm(a.norm.op);

  // Plane begin - 1 + n is the n-th of the walk; it goes to place n % stages of the ring.
  const auto ask_for = [&](int n) {
    if (threadIdx.x != 0 || begin - 1 + n > end) return;
    ring.full[n % stages].expect(Plane<T, rows, warps>::bytes);
    ring.full[n % stages].copy(map, &ring.planes[n % stages], tile_lo_x - Pack<T>::cells, tile_lo_y - 1,
                               begin - 1 + n);
  };
  const auto wait_for = [&](int n) { ring.full[n % stages].wait(n / stages % 2); };

  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) ring.full[i].init();
    BytesBarrier::publish();
  }
  __syncthreads();
  for (int n = 0; n < stages; ++n) ask_for(n);

  Pack<T> below[rows], at[rows];
  wait_for(0);
  wait_for(1);
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    below[r] = Pack<T>::load(ring.planes[0].at(row + r, lane));
    at[r] = Pack<T>::load(ring.planes[1].at(row + r, lane));
  }
  __syncthreads();  // the first place is free
  ask_for(stages);

  T* to = &a.out(x, y, begin);
  for (int z = begin, n = 1; z < end; ++z, ++n) {
    wait_for(n + 1);
    const Plane<T, rows, warps>&plane = ring.planes[n % stages], &above = ring.planes[(n + 1) % stages];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const Pack<T> z_hi = Pack<T>::load(above.at(row + r, lane));
      if (y + r < end_y) {
        T x_lo = __shfl_up_sync(0xffffffffu, at[r].v[Pack<T>::cells - 1], 1);
        T x_hi = __shfl_down_sync(0xffffffffu, at[r].v[0], 1);
        if (lane == 0) x_lo = plane.at(row + r, 0)[-1];
        if (lane == warp_size - 1) x_hi = plane.at(row + r, lane)[Pack<T>::cells];
        if (in_region) {
          const Pack<T> y_lo = r > 0 ? at[r - 1] : Pack<T>::load(plane.at(row - 1, lane));
          const Pack<T> y_hi = r < rows - 1 ? at[r + 1] : Pack<T>::load(plane.at(row + rows, lane));
          update_pack(a, {at[r], y_lo, y_hi, below[r], z_hi, x_lo, x_hi}, x, y + r, z, to + r * a.out.pitch_y,
                      norm);
        }
      }
      below[r] = z_hi;  // kept until all rows have had the plane below them
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const Pack<T> z_hi = below[r];
      below[r] = at[r];
      at[r] = z_hi;
    }
    to += a.out.pitch_z;
    __syncthreads();  // nobody reads the plane any more
    ask_for(n + stages);
  }
  norm.template leave<warps * warp_size>(static_cast<double*>(a.norm.scratch));
}

template <class T, Tile tile>
constexpr WideTile<T> wide{tile.x * tile.y, chunk_planes};

template <class T, Tile tile>
constexpr std::size_t ring_bytes = sizeof(Ring<T, tile.x, tile.y, tile.z>);

template <class T, Tile tile, bool norm_on>
constexpr auto kernel = bulk_pipeline<T, tile.x, tile.y, tile.z, norm_on>;

// More than 48 KB of shared memory a block must be asked for.
template <class Kernel>
void allow_shared(Kernel* function, std::size_t bytes) {
  check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "cudaFuncSetAttribute");
}

template <class T>
void sweep(const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
  with_tile<tiles>(plan.policy, [&]<Tile tile>() {
    if (!wide<T, tile>.fits(args.region)) return sweep_thin(args, stream);
    const Columns columns = wide<T, tile>.columns(args.region);
    const TileArgs<T> a{args.in, args.out, args.source, args.c, args.walls, columns, args.norm};
    using Slab = Plane<T, tile.x, tile.y>;
    const TensorMap<T> map = TensorMap<T>::make(args.in, {Slab::cells_x, Slab::cells_y, 1});
    const auto function = args.norm.result ? kernel<T, tile, true> : kernel<T, tile, false>;
    allow_shared(function, ring_bytes<T, tile>);
    launch("bulk_pipeline", function, {columns.blocks(), tile.y * warp_size, ring_bytes<T, tile>}, stream,
           map, a);
    finish_norm(args.norm, columns.blocks(), stream);
  });
}

template <class T>
std::size_t norm_scratch_bytes(Box region, int policy) {
  return with_tile<tiles>(policy, [&]<Tile tile>() { return wide<T, tile>.norm_scratch_bytes(region); });
}

template <class T>
std::string unsupported(int policy) {
  return with_tile<tiles>(
      policy, [&]<Tile tile>() { return without_bulk_copies(kernel<T, tile, false>, ring_bytes<T, tile>); });
}

template <class T>
KernelResources resources(int policy) {
  return with_tile<tiles>(policy, [&]<Tile tile>() {
    const auto function = kernel<T, tile, false>;
    allow_shared(function, ring_bytes<T, tile>);
    return resources_of(function, tile.y * warp_size, ring_bytes<T, tile>);
  });
}

}  // namespace

template <class T>
void stencil_bulk_pipeline(StencilKernel<T>& row) {
  row.launch = sweep<T>;
  row.own_walls = {true, true, true};
  row.policies = names_of<tiles>();
  row.norm_scratch_bytes = norm_scratch_bytes<T>;
  row.unsupported = unsupported<T>;
  row.resources = resources<T>;
}

template void stencil_bulk_pipeline(StencilKernel<float>&);
template void stencil_bulk_pipeline(StencilKernel<double>&);

}  // namespace isotherm::cuda
