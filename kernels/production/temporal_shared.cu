// Stencil kernel `temporal_shared`: several sweeps of a tile in shared memory (temporal blocking), for small
// grids: all tiles are swept at once, and a launch takes a few microseconds, whatever it sweeps.
//
// Lecture   lectures/stencil/10_streaming_temporal.cu has the overlapped tiles, 02_shared.cu the tile in
//           shared memory.
// Algebra   up to 4 sweeps, each stencil_update() of the previous result; each applies the boundaries on all
//           faces. The same bits as in single sweeps.
// Mapping   a thread block owns a tile and loads the cells around it too, one layer on each side per sweep.
//           All threads sweep the box of cells whose neighbours are valid, which shrinks by one layer with
//           each sweep; the last box is the tile. Barriers separate the sweeps. Rows of 8 or 16 cells share a
//           warp.
// Storage   shared memory: two fields of the tile and its layers (ping-pong buffers of the sweeps), and the
//           source of these cells.
// Traffic   a tile of 24 x 4 x 4 reads 32 x 12 x 12 cells for four sweeps, mostly from L2, and stores its
//           own; it computes 4 cells for each stored one. So `temporal` is faster for a large field.
#include "kernels/cuda/hopper.hpp"
#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {
namespace {

constexpr int max_time_block = 4;
constexpr std::array tiles = {Tile{24, 4, 4}};  // 24 x 8 x 8 is slower up to 48^3
constexpr int threads = 512;                    // of a block; threads_of: along x, y and z
template <int along_x>
constexpr Tile threads_of = {along_x, along_x == 32 ? 4 : 8, along_x == 8 ? 8 : 4};

// Calls body.operator()<threads along x>(): short rows share a warp.
template <class Body>
void with_threads(Index cells_x, Body body) {
  if (cells_x <= 8) return body.template operator()<8>();
  if (cells_x <= 16) return body.template operator()<16>();
  body.template operator()<32>();
}

template <class T, Tile tile>
struct Shared {
  static constexpr int x = tile.x + 2 * max_time_block, y = tile.y + 2 * max_time_block,
                       z = tile.z + 2 * max_time_block;
  T cells[2][x * y * z], source[x * y * z];
};

// One axis of the cells that the thread block has loaded, counted from the first of them.
struct Span {
  int lo, hi;              // of the tile
  int most;                // cells loaded
  int at_lower, at_upper;  // the cell next to the boundary, or -1
};

template <class T>
__device__ __forceinline__ Span span_of(const SweepArgs<T>& a, int axis, Index lo, int cells, int layers) {
  const bool lower = a.boundaries.faces[2 * axis].is_boundary,
             upper = a.boundaries.faces[2 * axis + 1].is_boundary;
  const Index hi = min(lo + cells, a.region.hi[axis]), extent = a.in.extent[axis];
  const Index first = lower ? max(lo - layers, Index{0}) : lo - layers;
  const Index end = upper ? min(hi + layers, extent) : hi + layers;
  return {static_cast<int>(lo - first), static_cast<int>(hi - first), static_cast<int>(end - first),
          lower && first == 0 ? 0 : -1, upper && end == extent ? static_cast<int>(end - first) - 1 : -1};
}

// Visits the tile with `layers` more on each side, as far as they were loaded.
template <int along_x, class Visit>
__device__ __forceinline__ void each_cell(const Span (&spans)[3], int layers, Visit visit) {
  const auto lo = [&](int axis) { return max(spans[axis].lo - layers, 0); };
  const auto hi = [&](int axis) { return min(spans[axis].hi + layers, spans[axis].most); };
  const int end_x = hi(0), end_y = hi(1), end_z = hi(2);
  constexpr Tile step = threads_of<along_x>;
  for (int z = lo(2) + static_cast<int>(threadIdx.z); z < end_z; z += step.z) {
    for (int y = lo(1) + static_cast<int>(threadIdx.y); y < end_y; y += step.y) {
      for (int x = lo(0) + static_cast<int>(threadIdx.x); x < end_x; x += step.x) visit(x, y, z);
    }
  }
}

// `has_heat`: the source is `heat`, not a field. A choice at run time costs the other sweeps a tenth
// (docs/tuning-log).
template <class T, int along_x, int tile_x, int tile_y, int tile_z, bool has_heat>
__global__ void __launch_bounds__(threads)
    temporal_shared(const __grid_constant__ SweepArgs<T> a, Int3 first, int sweeps) {
  constexpr Tile tile{tile_x, tile_y, tile_z};
  using Block = Shared<T, tile>;
  Block& shared = *reinterpret_cast<Block*>(dynamic_shared());
  const Int3 lo{first.x + Index{blockIdx.x} * tile.x, first.y + Index{blockIdx.y} * tile.y,
                first.z + Index{blockIdx.z} * tile.z};
  const Span spans[3] = {span_of(a, 0, lo.x, tile.x, sweeps), span_of(a, 1, lo.y, tile.y, sweeps),
                         span_of(a, 2, lo.z, tile.z, sweeps)};
  const Int3 origin{lo.x - spans[0].lo, lo.y - spans[1].lo, lo.z - spans[2].lo};
  constexpr int pitches[3] = {1, Block::x, Block::x * Block::y};
  const auto place = [&](int x, int y, int z) { return x + y * pitches[1] + z * pitches[2]; };
  const auto there = [&](int x, int y, int z) { return Int3{origin.x + x, origin.y + y, origin.z + z}; };
  const bool has_source = !a.source.empty();
  each_cell<along_x>(spans, sweeps, [&](int x, int y, int z) {
    shared.cells[0][place(x, y, z)] = a.in(there(x, y, z));
    shared.source[place(x, y, z)] = has_source ? a.source(there(x, y, z)) : T{0};
  });
  __syncthreads();
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    const T* const from = shared.cells[sweep % 2];
    T* const to = shared.cells[1 - sweep % 2];
    const Coefficients<T> c = a.c[sweep];
    each_cell<along_x>(spans, sweeps - 1 - sweep, [&](int x, int y, int z) {
      const int at = place(x, y, z);
      const T centre = from[at];
      const auto near = [&](int axis, bool upper, int here, Index p, Index q) {
        if (here != (upper ? spans[axis].at_upper : spans[axis].at_lower))
          return from[upper ? at + pitches[axis] : at - pitches[axis]];
        const Boundary<T>& boundary = a.boundaries.faces[2 * axis + upper];
        return boundary_ghost(boundary.a, boundary.b_at(p, q, sweep), centre);
      };
      const Int3 cell = there(x, y, z);
      const T value =
          stencil_update(c, centre, near(0, false, x, cell.y, cell.z), near(0, true, x, cell.y, cell.z),
                         near(1, false, y, cell.x, cell.z), near(1, true, y, cell.x, cell.z),
                         near(2, false, z, cell.x, cell.y), near(2, true, z, cell.x, cell.y),
                         has_heat ? c.heat : scaled_source(c, shared.source[at]));
      if (sweep + 1 == sweeps) {
        a.out(cell) = value;
      } else {
        to[at] = value;
      }
    });
    __syncthreads();
  }
}

template <class T, int along_x, Tile tile, bool has_heat = false>
constexpr auto kernel_of = temporal_shared<T, along_x, tile.x, tile.y, tile.z, has_heat>;

template <class T>
void sweep(const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
  // At least the cells that a thread block sweeps along x. There are no layers beyond boundaries.
  const auto layers = [&](Face f) {
    return args.boundaries.faces[static_cast<int>(f)].is_boundary ? 0 : plan.time_block;
  };
  const Index cells_x = args.region.extent().x + layers(Face::x_min) + layers(Face::x_max);
  with_tile<tiles>(plan.tile, [&]<Tile tile>() {
    with_threads(cells_x, [&]<int along_x>() {
      constexpr Tile t = threads_of<along_x>;
      const auto kernel =
          args.source.empty() ? kernel_of<T, along_x, tile, true> : kernel_of<T, along_x, tile>;
      cover(args.region, dim3(tile.x, tile.y, tile.z), [&](dim3 grid, Int3 first) {
        launch("temporal_shared", kernel, {grid, dim3(t.x, t.y, t.z), sizeof(Shared<T, tile>)}, stream, args,
               first, plan.time_block);
      });
    });
  });
}

}  // namespace

template <class T>
void stencil_temporal_shared(StencilKernel<T>& kernel) {
  kernel.launch = sweep<T>;
  kernel.max_time_block = max_time_block;
  kernel.own_boundaries = {true, true, true};
  kernel.tiles = names_of<tiles>();
  kernel.unsupported =
      by_tile<tiles>([]<Tile tile>() { return without_shared_memory(sizeof(Shared<T, tile>)); });
  kernel.resources = by_tile<tiles>([]<Tile tile>() {
    return resources_of(kernel_of<T, warp_size, tile>, threads, sizeof(Shared<T, tile>));
  });
  kernel.suits_small_blocks = true;
}

ISOTHERM_BOTH_PRECISIONS(stencil_temporal_shared, StencilKernel);

}  // namespace isotherm::cuda
