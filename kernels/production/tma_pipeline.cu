// Stencil kernel `tma_pipeline`: planes of a tile arrive in shared memory by bulk tensor copies, ahead of
// the warps that compute (compute capability 9.0 and later).
//
// Lecture   lectures/stencil/09_streaming_tma.cu has the pipeline, 07_coarsened.cu the packs of cells.
// Parts     tma_planes.hpp: the pipeline of planes; tile_boundaries.hpp: boundaries; tile_update.hpp: a pack
//           of cells, and the norm; throttle.hpp: thread blocks that stay at the same plane; face_stores.hpp:
//           stores to neighbours; wide_row.hpp: how a region becomes columns. This file: the walk of a thread
//           block through its planes, and the launch.
// Algebra   one sweep, stencil_update(); applies the boundaries on all faces that the tile touches.
// Mapping   a block owns a column of 32 or 64 packs of 16 bytes along x by some rows of y and walks along z.
//           One thread requests the next plane of the tile and its halo in y and x by TMA; an mbarrier in
//           shared memory opens when its bytes have arrived. Each lane of a warp then updates some rows of
//           its pack. y neighbours are read from shared memory or its own rows; x neighbours are exchanged by
//           warp shuffle; z neighbours are in registers and in the plane above, already in shared memory.
// Storage   shared memory: stages of a plane of x by (y + 2) cells and the packs on either side, some 36 KB
//           each, and their barriers. Registers: the previous plane and the current one.
// Traffic   as `register_tile`: each cell once, and the tile's halo, which L2 delivers. But TMA does the
//           loads: no thread computes an address or reserves registers for loads in flight. Blocks that drift
//           apart would read their halos from memory twice: the throttle (throttle.hpp) keeps them together,
//           and blocks stacked along z walk towards each other, or apart, so that they read the planes
//           between them at the same time (docs/tuning-log).
#include <algorithm>
#include <cstddef>

#include "kernels/cuda/launch.hpp"
#include "kernels/production/face_stores.hpp"
#include "kernels/production/tma_planes.hpp"
#include "kernels/production/wide_row.hpp"

namespace isotherm::cuda {
namespace {

// A thread block: warps along x and y, rows of y that a lane owns, stages of the pipeline. `throttle`: the
// percent of the peak memory bandwidth that the throttle allows; 0: no throttle.
struct PipelineTile {
  int warps_x, warps_y, rows, stages, throttle;
  constexpr int warps() const { return warps_x * warps_y; }
  std::string name() const {
    std::string text = std::to_string(warps_x);
    for (const int n : {warps_y, rows, stages}) text.append("x").append(std::to_string(n));
    if (throttle > 0) text.append("@").append(std::to_string(throttle));
    return text;
  }
};
// A throttle above the bandwidth that memory reaches is worse than none. That bandwidth differs by some
// percent between machines and between shapes: a run's autotuner finds the best tile.
constexpr std::array tiles = {
    PipelineTile{2, 4, 8, 4, 83}, PipelineTile{2, 4, 8, 4, 87}, PipelineTile{2, 4, 8, 4, 86},
    PipelineTile{2, 4, 8, 4, 85}, PipelineTile{2, 4, 8, 4, 84}, PipelineTile{2, 4, 8, 4, 82},
    PipelineTile{2, 4, 8, 4, 80}, PipelineTile{2, 4, 8, 4, 78}, PipelineTile{2, 4, 8, 4, 0},
    PipelineTile{1, 8, 8, 4, 84}, PipelineTile{1, 8, 8, 4, 82}, PipelineTile{1, 8, 8, 4, 0}};

// Overhead of a chunk, in planes: two that it only reads, and the time until the first has arrived.
constexpr Index chunk_overhead = 6;

// Registers per thread. Without norm, face stores and classes, blocks of other kernels (the stores of `peer`,
// 10 000 registers) fit next to a block of 256 threads; unlimited, the compiler would use all registers.
template <class Norm, class Stores, class Classes>
constexpr unsigned most_registers = std::is_same_v<Norm, NoNorm> && !Stores::any && !Classes::any ? 208 : 255;

// Coefficients of a lane's rows in one plane. Mostly all rows of a warp have one class, which is read once.
// `scaled`: the source may have another weight than the unit weight.
template <class T, int rows, class Classes, bool scaled>
class RowCoefficients {
 public:
  template <class Slab>
  __device__ __forceinline__ RowCoefficients(const TileArgs<T>& a, const Slab& plane, int row, int pack)
      : a_(a) {
    if constexpr (Classes::any) {
      bool same = true;
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        class_[r] = plane.class_of[row + r][pack];
        same = same && class_[r] == class_[0];
      }
      const int of_first_lane = __shfl_sync(0xffffffffu, class_[0], 0);
      is_one_ = __all_sync(0xffffffffu, same && class_[0] == of_first_lane) != 0;
      held_ = of_row(0);
    }
  }
  __device__ __forceinline__ int class_of(int r) const { return class_[r]; }
  // Updates a pack of row r; `source` is as stored. Called for the rows in order.
  __device__ __forceinline__ Pack<T> operator()(int r, const Neighbours<T>& n, const Pack<T>& source) {
    const Coefficients<T>& c = coefficients(r);
    return updated_pack(c, n, scaled ? scaled_source(c, source) : source);
  }

 private:
  __device__ __forceinline__ const Coefficients<T>& coefficients(int r) {
    if constexpr (!Classes::any) {
      return a_.c;
    } else {
      if (r > 0 && !is_one_) held_ = of_row(r);
      return held_;
    }
  }
  __device__ __forceinline__ Coefficients<T> of_row(int r) const {
    const Coefficients<T>* const c = a_.materials.coefficients[0] + class_[r];
    return {__ldg(&c->c0), __ldg(&c->cx), __ldg(&c->cy), __ldg(&c->cz), __ldg(&c->sigma)};
  }

  const TileArgs<T>& a_;
  int class_[rows];
  bool is_one_ = true;
  Coefficients<T> held_;
};

// The ghosts beyond a boundary across z, for a lane's pack at (x, y).
template <class Classes, class T, int rows>
__device__ __forceinline__ Pack<T> beyond_z(const TileArgs<T>& a, const TileWarp<T, rows>& mine, Face f,
                                            const Pack<T>& centre, int x, int y) {
  const Boundary<T>& boundary = a.face(f);
  if (Classes::any && boundary.differs_by_cell) return beyond_z_by_cell(boundary, a.in, x, y, centre, 0);
  return mine.beyond_z(boundary, centre, x, y);
}
// The classes in a plane that is a layer, and in the planes on either side of it on the walk.
template <class T, int rows, class Here, class Slab>
__device__ __forceinline__ typename LayerRows<T, rows>::Classes layer_classes(const Here& here,
                                                                              const int (&z_prev)[rows],
                                                                              const Slab& next, int row,
                                                                              int pack, bool is_upwards) {
  typename LayerRows<T, rows>::Classes of;
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    const int z_next = next.class_of[row + r][pack];
    of.own[r] = here.class_of(r);
    of.below[r] = is_upwards ? z_prev[r] : z_next;
    of.above[r] = is_upwards ? z_next : z_prev[r];
  }
  return of;
}

// Where a lane reads the x neighbour outside its warp: in the tile, in the packs next to the tile, or in the
// column that replaces these packs. Only the first and the last lane use the cell; the others read the first
// lane's cell, which saves a branch per row.
template <class Slab>
struct XHalo {
  int at, step;  // offsets in cells: of the first row's cell in a plane, and from row to row

  // `columns`: whether a column replaces the packs at the lower and at the upper side.
  __device__ __forceinline__ XHalo(int lane, int warp_x, int warps_x, int row, const bool (&columns)[2]) {
    const bool is_last_lane = lane == warp_size - 1;
    if (warp_x == (is_last_lane ? warps_x - 1 : 0)) {
      constexpr int sides = offsetof(Slab, side) / sizeof(Slab::side[0][0][0]);
      const bool is_column = is_last_lane ? columns[1] : columns[0];
      step = is_column ? 1 : Slab::cells;
      at = sides + (is_last_lane ? Slab::y * Slab::cells : is_column ? 0 : Slab::cells - 1) + row * step;
    } else {
      const int pack = warp_x * warp_size + (is_last_lane ? lane : 0);
      at = (row + 1) * Slab::x + pack * Slab::cells + (is_last_lane ? Slab::cells : -1);
      step = Slab::x;
    }
  }
};

template <class T, int warps_x, int warps_y, int rows, int stages, class Norm, class Stores, class Classes,
          Source source>
__global__ void __maxnreg__((most_registers<Norm, Stores, Classes>))
    tma_pipeline(const __grid_constant__ TensorMap<T> map, const __grid_constant__ TensorMap<T> side_map,
                 const __grid_constant__ TileArgs<T> a, Schedule schedule,
                 const __grid_constant__ Stores stores, const __grid_constant__ Classes classes) {
  using Slab = Plane<T, warps_x, warps_y, rows, Classes::any>;
  const Box chunk = a.columns.of_block();
  const PlaneWalk walk(a.columns, chunk, stores);
  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  const int warp_x = warp % warps_x, row = warp / warps_x * rows;  // in the tile
  const int pack = (warp_x * warp_size + lane) * Pack<T>::cells;
  const int tile_x = static_cast<int>(chunk.lo.x), tile_y = static_cast<int>(chunk.lo.y);
  const int x = tile_x + pack, y = tile_y + row;
  const bool columns[2] = {stores.has_column(false, a.in.extent, chunk),
                           stores.has_column(true, a.in.extent, chunk)};
  const XHalo<Slab> x_halo(lane, warp_x, warps_x, row, columns);
  Norm norm;

  if constexpr (Stores::any) {
    if (!stores.wait_for_peers()) return;
  }
  const Throttle throttle(schedule);
  auto& shared = *reinterpret_cast<PipelineShared<Slab, stages>*>(dynamic_shared());
  const PlanePipeline<T, Slab, stages, Stores, Classes> pipeline{
      shared, map, side_map, classes, stores, a, walk, throttle, columns, tile_x, tile_y};
  pipeline.begin();

  Pack<T> z_prev[rows], at[rows];
  const auto at_layer = [&](int n) { return Classes::any && a.materials.mixed.is_layer(walk.plane(n)); };
  const int class_pack = ClassRow::place<T>(x, tile_x);
  int classes_prev[rows];  // set where the current plane is a layer
  bool is_layer = at_layer(1);
  pipeline.wait(0);
  pipeline.wait(1);
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    if (is_layer) classes_prev[r] = pipeline.plane(0).class_of[row + r][class_pack];
    z_prev[r] = Pack<T>::load(&pipeline.plane(0).cell[row + 1 + r][pack]);
    at[r] = Pack<T>::load(&pipeline.plane(1).cell[row + 1 + r][pack]);
  }
  __syncthreads();  // the first stage is free
  pipeline.request(stages);

  const Edges edges = edges_of(a, chunk);
  TileWarp<T, rows> mine(a, lane, x, y);
  if (edges == Edges::boundaries) mine.fetch_boundaries(a, lane, x, y, walk.first);
  if (a.beyond_z_boundary(walk.plane(0))) {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if (mine.has_row(r)) z_prev[r] = beyond_z<Classes>(a, mine, walk.face_prev(), at[r], x, y + r);
    }
  }
  T* to = &a.out(x, y, walk.first);
  static_assert(2 + 2 * warps_x <= warps_x * warps_y, "warps for two faces across y, and the first two");
  HaloStores<T, rows, Stores> halo_stores(stores, a, chunk, walk, x, y, warp_x, warps_x);
  for (int n = 1; n <= walk.count; ++n) {
    const int z = walk.plane(n);
    const bool is_next_layer = at_layer(n + 1);
    pipeline.wait(n + 1);
    halo_stores.load(n, mine);
    const Slab& plane = pipeline.plane(n);
    Slab& next = pipeline.plane(n + 1);
    if (a.beyond_z_boundary(walk.plane(n + 1))) {  // each lane stores cells that it alone reads
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        if (mine.has_row(r))
          beyond_z<Classes>(a, mine, walk.face_next(), at[r], x, y + r).store(&next.cell[row + 1 + r][pack]);
      }
    }
    const T* const x_halo_row = &plane.cell[0][0] + x_halo.at;
    RowCoefficients<T, rows, Classes, Stores::any || Classes::any> own(a, plane, row, class_pack);
    const auto update = [&]<Edges here>(auto&& formula) {
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const Pack<T> z_next = Pack<T>::load(&next.cell[row + 1 + r][pack]);
        const T outside = x_halo_row[r * x_halo.step];
        T x_lo = __shfl_up_sync(0xffffffffu, at[r].v[Pack<T>::cells - 1], 1);
        T x_hi = __shfl_down_sync(0xffffffffu, at[r].v[0], 1);
        x_lo = lane == 0 ? outside : x_lo;
        x_hi = lane == warp_size - 1 ? outside : x_hi;
        const Pack<T> y_lo = r > 0 ? at[r - 1] : Pack<T>::load(&plane.cell[row][pack]);
        const Pack<T> y_hi = r < rows - 1 ? at[r + 1] : Pack<T>::load(&plane.cell[row + 1 + rows][pack]);
        const Neighbours<T> near{at[r], y_lo, y_hi, z_prev[r], z_next, x_lo, x_hi};
        const Pack<T> made = mine.template update<here, source>(a, formula, r, near, x, y + r, z,
                                                                to + r * a.out.pitch_y, norm);
        if (here == Edges::none || mine.has_row(r)) halo_stores.store_row(r, made);
        z_prev[r] = z_next;  // at[r] is still the y neighbour of row r + 1
      }
    };
    if (is_layer) {
      const auto of = layer_classes<T>(own, classes_prev, next, row, class_pack, walk.step > 0);
      const LayerRows<T, rows> layer(a.materials, of, 0);
      update.template operator()<Edges::boundaries>([&](int r, Neighbours<T> n, const Pack<T>& s) {
        if (walk.step < 0) std::swap(n.z_lo, n.z_hi);
        return layer.updated(r, n, s);
      });
    } else {
      with_edges(edges, [&]<Edges here>() { update.template operator()<here>(own); });
    }
    if (edges == Edges::boundaries && n < walk.count) mine.fetch_boundaries(a, lane, x, y, walk.plane(n + 1));
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const Pack<T> z_next = z_prev[r];
      z_prev[r] = at[r];
      at[r] = z_next;
      if (is_next_layer) classes_prev[r] = own.class_of(r);
    }
    is_layer = is_next_layer;
    to += walk.step * a.out.pitch_z;
    __syncthreads();  // no warp reads the plane any more
    pipeline.request(n + stages);
    halo_stores.store(n, mine);
  }
  halo_stores.finish(mine);
  norm.template store<warps_x * warps_y * warp_size>(static_cast<double*>(a.norm.scratch));
}

template <class T, PipelineTile tile, bool classes = false>
constexpr std::size_t pipeline_bytes =
    sizeof(PipelineShared<Plane<T, tile.warps_x, tile.warps_y, tile.rows, classes>, tile.stages>);

template <class T, PipelineTile tile, class Norm = NoNorm, class Stores = NoStores, class Classes = OneClass,
          Source source = Source::any>
constexpr auto kernel =
    tma_pipeline<T, tile.warps_x, tile.warps_y, tile.rows, tile.stages, Norm, Stores, Classes, source>;

// Blocks that the device holds at once.
template <class T, PipelineTile tile>
Index slots() {
  static const Index number =  // one device per process
      blocks_at_once(kernel<T, tile, UpdateSum<ReductionOp::sum_squares>>, tile.warps() * warp_size,
                     pipeline_bytes<T, tile>);
  return number;
}

template <class T, PipelineTile tile>
struct PipelineLaunch {
  static WideTile<T> chunk(Box region, Box hole) {
    WideTile<T> whole{tile.warps_x, tile.warps_y * tile.rows, std::max<Index>(region.extent().z, 1)};
    if (!whole.fits(region)) return whole;
    const Columns columns = whole.columns(region);
    whole.planes = balanced_planes((hole.empty() ? columns : columns.without(hole)).columns(),
                                   region.extent().z, slots<T, tile>(), chunk_overhead);
    return whole;
  }

  static void sweep(const SweepArgs<T>& args, const Columns& columns, Stream stream) {
    const TileArgs<T> a{args.in,         args.out, args.source, args.c[0],
                        args.boundaries, columns,  args.norm,   args.materials};
    using Slab = Plane<T, tile.warps_x, tile.warps_y, tile.rows, false>;
    const TensorMap<T> map = TensorMap<T>::make(args.in, {Slab::x, Slab::y + 2, 1});
    const TensorMap<T> side_map = TensorMap<T>::make(args.in, {Slab::cells, Slab::y, 1});
    const double bytes = columns.cells() * (least_bytes_per_cell<T>(!args.source.empty()) +
                                            (args.materials.empty() ? 0.0 : 1.0 / Pack<T>::cells));
    const auto schedule =
        Schedule::of(bytes, columns.blocks(), columns.planes, slots<T, tile>(), tile.throttle);
    const auto start = [&]<class Stores, class Classes>(auto function, const Stores& stores,
                                                        const Classes& classes) {
      launch("tma_pipeline", function,
             {columns.blocks(), tile.warps() * warp_size, pipeline_bytes<T, tile, Classes::any>}, stream, map,
             side_map, a, schedule, stores, classes);
    };
    if (!args.materials.empty()) {
      const SeveralClasses classes{TensorMap<std::uint8_t>::make(
          args.materials.mixed.packs, {ClassRow::packs_of(tile.warps_x * warp_size), Slab::y, 1})};
      return start(kernel<T, tile, NoNorm, NoStores, SeveralClasses, Source::field>, NoStores{}, classes);
    }
    if (args.stores.any()) {
      using Stores = SweepStores<T>;
      return start(kernel<T, tile, NoNorm, Stores>, Stores::of(args.stores, columns), OneClass{});
    }
    if (!args.norm.result && args.source.empty())
      return start(kernel<T, tile, NoNorm, NoStores, OneClass, Source::heat>, NoStores{}, OneClass{});
    with_norm(args.norm, [&]<class Norm>() { start(kernel<T, tile, Norm>, NoStores{}, OneClass{}); });
    finish_norm(args.norm, columns.blocks(), stream);
  }
};

}  // namespace

template <class T>
void stencil_tma_pipeline(StencilKernel<T>& kernel) {
  WideRow<T, tiles, PipelineLaunch>::complete(kernel);
  kernel.stores_faces = [](Box block, bool column_above, int tile_index) {
    return with_tile<tiles>(tile_index, [&]<PipelineTile tile>() {
      // If the subdomain ends in a tile, the copy of the tile includes its ghosts: no column replaces them.
      constexpr Index x = tile.warps_x * warp_size * Pack<T>::cells;
      return PipelineLaunch<T, tile>::chunk(block, {}).fits(block) && (!column_above || block.hi.x % x == 0);
    });
  };
  kernel.unsupported = by_tile<tiles>([]<PipelineTile tile>() {
    return without_bulk_copies(isotherm::cuda::kernel<T, tile>, pipeline_bytes<T, tile>);
  });
  kernel.resources = by_tile<tiles>([]<PipelineTile tile>() {
    return resources_of(isotherm::cuda::kernel<T, tile>, tile.warps() * warp_size, pipeline_bytes<T, tile>);
  });
  kernel.sweeps_materials = true;
}

ISOTHERM_BOTH_PRECISIONS(stencil_tma_pipeline, StencilKernel);

}  // namespace isotherm::cuda
