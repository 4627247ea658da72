// Stencil kernel `register_tile`: one sweep with the tile in the registers of its warps; shared memory holds
// only the rows that warps exchange.
//
// Lecture   lectures/stencil/07_coarsened.cu has the packs of cells, 06_streaming_25d_single.cu the walk with
//           z neighbours in registers.
// Algebra   one sweep, stencil_update(); applies the boundaries on all faces that the tile touches: no ghost
//           beyond a boundary is ever filled or read.
// Mapping   a warp spans 32 packs of 16 bytes along x, 128 cells in fp32 and 64 in fp64; each lane owns some
//           rows of y of its pack; the warps of a block are stacked along y, and the block walks along z. A
//           lane has x neighbours in its pack or gets them from its neighbour lane, by one shuffle per row.
//           It has y neighbours in its own rows, except at the first and last row of the warp, where the
//           neighbour warps hold them. It has z neighbours in the planes that it keeps.
// Storage   registers: the planes below, at and above the current one, and the one after that, which is being
//           loaded while the current one is computed. Shared memory: the first and last row of each warp, in
//           two buffers, so that one barrier per plane is enough.
// Traffic   each cell is loaded once by its lane, as part of 512 contiguous bytes per warp. In addition: two
//           rows per block (2 / (rows x warps) of the reads, 6 % for 4 x 8), two cells per row next to the
//           warp (64 of 512 bytes in sectors), and the planes at the ends of a chunk (2 / planes). L2
//           delivers the first two, as the neighbouring block reads the same lines at about the same time.
#include "kernels/cuda/launch.hpp"
#include "kernels/production/wide_row.hpp"

namespace isotherm::cuda {
namespace {

// x: rows of y that a lane owns; y: warps of a block; z: planes of a chunk.
constexpr std::array tiles = {Tile{4, 4, 64}, Tile{2, 8, 64}, Tile{4, 8, 64}};

// Minimum blocks per multiprocessor: limits the registers to those with which the tiles were measured.
constexpr int least_blocks(int rows, int warps) { return rows * warps == 16 ? (warps == 4 ? 3 : 2) : 1; }

// The cells of one plane that a lane holds.
template <class T, int rows>
struct LanePlane {
  Pack<T> row[rows];
  T edge[rows];    // in lanes 0 and 31: the cell next to the warp
  Pack<T> y_halo;  // in the first and last warp: the row next to the block
};

// Position of a lane in its thread block, and the cells that it loads from every plane.
template <class T, int rows, int warps>
struct Place {
  int x, y, lane, warp;  // of its first cell
  int end_y;             // rows from here on are outside the region
  bool in_x;             // its pack has cells that are needed
  int edge;              // cells from x to the one next to the warp; 0: not needed
  int to_y_halo;         // rows from y to the one next to the block; 0: not needed

  __device__ __forceinline__ Place(const TileArgs<T>& a, const Box& chunk) {
    const Box& region = a.columns.box;
    lane = threadIdx.x % warp_size;
    warp = threadIdx.x / warp_size;
    x = static_cast<int>(chunk.lo.x) + lane * Pack<T>::cells;
    y = static_cast<int>(chunk.lo.y) + warp * rows;
    end_y = static_cast<int>(region.hi.y);
    // The cell after the region is a neighbour of the last cell, unless a boundary is between them.
    in_x = x <= region.hi.x;
    edge = lane == 0 ? -1 : lane == warp_size - 1 ? Pack<T>::cells : 0;
    const bool x_boundary = (x + edge < 0 && a.face(Face::x_min).is_boundary) ||
                            (x + edge >= a.in.extent.x && a.face(Face::x_max).is_boundary);
    if (x + edge > region.hi.x || x_boundary) edge = 0;
    to_y_halo = warp == 0 ? -1 : warp == warps - 1 ? rows : 0;
    if (!in_x || y + to_y_halo > region.hi.y || a.beyond_y_boundary(y + to_y_halo)) to_y_halo = 0;
  }

  // `from`: this lane's first cell in plane z. `at_work`: the plane will be updated; otherwise it needs no x
  // and y neighbours. `inner`: all cells of the warp are in the region.
  __device__ __forceinline__ LanePlane<T, rows> load(const TileArgs<T>& a, const T* from, int z, bool at_work,
                                                     bool inner) const {
    LanePlane<T, rows> p{};
    if (a.beyond_z_boundary(z)) return p;
    if (inner) {
#pragma unroll
      for (int r = 0; r < rows; ++r) p.row[r] = Pack<T>::load(from + r * a.in.pitch_y);
      if (at_work && edge != 0) {
#pragma unroll
        for (int r = 0; r < rows; ++r) p.edge[r] = from[r * a.in.pitch_y + edge];
      }
    } else {
      const int last_y = at_work && !a.beyond_y_boundary(end_y) ? end_y : end_y - 1;
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const T* row = from + r * a.in.pitch_y;
        if (in_x && y + r <= last_y) p.row[r] = Pack<T>::load(row);
        if (at_work && edge != 0 && y + r < end_y) p.edge[r] = row[edge];
      }
    }
    if (at_work && to_y_halo != 0) p.y_halo = Pack<T>::load(from + to_y_halo * a.in.pitch_y);
    return p;
  }
};

template <class T, int rows, int warps, int planes, class Norm>
__global__ void __launch_bounds__(warps* warp_size, least_blocks(rows, warps))
    register_tile(const TileArgs<T> a) {
  __shared__ Pack<T> rows_of_warp[2][warps][2][warp_size];  // [buffer][warp][first, last]
  const Box chunk = a.columns.of_block();
  const Place<T, rows, warps> place(a, chunk);
  const int lane = place.lane, warp = place.warp;
  const int begin = static_cast<int>(chunk.lo.z), end = static_cast<int>(chunk.hi.z);
  Norm norm;

  const Edges edges = edges_of(a, chunk);
  const bool whole = edges == Edges::none;
  TileWarp<T, rows> mine(a, lane, place.x, place.y);
  if (edges == Edges::boundaries) mine.fetch_boundaries(a, lane, place.x, place.y, begin);
  const T* from = &a.in(place.x, place.y, begin - 1);
  LanePlane<T, rows> below = place.load(a, from, begin - 1, false, whole);
  LanePlane<T, rows> at = place.load(a, from += a.in.pitch_z, begin, true, whole);
  LanePlane<T, rows> above = place.load(a, from += a.in.pitch_z, begin + 1, begin + 1 < end, whole);
  if (a.beyond_z_boundary(begin - 1)) {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if (mine.has_row(r)) below.row[r] = mine.beyond_z(a.face(Face::z_min), at.row[r], place.x, place.y + r);
    }
  }
  T* to = &a.out(place.x, place.y, begin);
  int buffer = 0;
  for (int z = begin; z < end; ++z) {
    LanePlane<T, rows> next{};
    from += a.in.pitch_z;
    if (z + 1 < end) next = place.load(a, from, z + 2, z + 2 < end, whole);
    rows_of_warp[buffer][warp][0][lane] = at.row[0];
    rows_of_warp[buffer][warp][1][lane] = at.row[rows - 1];
    __syncthreads();
    const Pack<T> y_lo = warp == 0 ? at.y_halo : rows_of_warp[buffer][warp - 1][1][lane];
    const Pack<T> y_hi = warp == warps - 1 ? at.y_halo : rows_of_warp[buffer][warp + 1][0][lane];
    if (a.beyond_z_boundary(z + 1)) {
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        if (mine.has_row(r))
          above.row[r] = mine.beyond_z(a.face(Face::z_max), at.row[r], place.x, place.y + r);
      }
    }
    with_edges(edges, [&]<Edges here>() {
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const Pack<T>& centre = at.row[r];
        T x_lo = __shfl_up_sync(0xffffffffu, centre.v[Pack<T>::cells - 1], 1);
        T x_hi = __shfl_down_sync(0xffffffffu, centre.v[0], 1);
        x_lo = lane == 0 ? at.edge[r] : x_lo;
        x_hi = lane == warp_size - 1 ? at.edge[r] : x_hi;
        mine.template update<here, Source::any>(
            a, UnitWeight<T>{a.c}, r,  // wide_row.hpp handles other weights
            {centre, r > 0 ? at.row[r - 1] : y_lo, r < rows - 1 ? at.row[r + 1] : y_hi, below.row[r],
             above.row[r], x_lo, x_hi},
            place.x, place.y + r, z, to + r * a.out.pitch_y, norm);
      }
    });
    if (edges == Edges::boundaries && z + 1 < end) mine.fetch_boundaries(a, lane, place.x, place.y, z + 1);
    below = at;
    at = above;
    above = next;
    to += a.out.pitch_z;
    buffer ^= 1;
  }
  norm.template store<warps * warp_size>(static_cast<double*>(a.norm.scratch));
}

template <class T, Tile tile>
struct LaneWay {
  static WideTile<T> chunk(Box, Box) { return {1, tile.x * tile.y, tile.z}; }
  static void sweep(const SweepArgs<T>& args, const Columns& columns, Stream stream) {
    const TileArgs<T> a{args.in, args.out, args.source, args.c[0], args.boundaries, columns, args.norm};
    with_norm(args.norm, [&]<class Norm>() {
      launch("register_tile", register_tile<T, tile.x, tile.y, tile.z, Norm>,
             {columns.blocks(), tile.y * warp_size}, stream, a);
    });
    finish_norm(args.norm, columns.blocks(), stream);
  }
};

}  // namespace

template <class T>
void stencil_register_tile(StencilKernel<T>& kernel) {
  WideRow<T, tiles, LaneWay>::complete(kernel);
  kernel.resources = by_tile<tiles>([]<Tile tile>() {
    return resources_of(register_tile<T, tile.x, tile.y, tile.z, NoNorm>, tile.y * warp_size);
  });
}

ISOTHERM_BOTH_PRECISIONS(stencil_register_tile, StencilKernel);

}  // namespace isotherm::cuda
