// Stencil kernel `tma_pipeline`: planes of a tile arrive in shared memory by bulk tensor copies, ahead of
// the warps that compute (compute capability 9.0 and later).
//
// Algebra   one sweep, stencil_update(); boundaries on all faces are applied where the tile meets them.
// Mapping   a block owns a column of 32 or 64 packs of 16 bytes along x by some rows of y and walks along z.
//           One thread asks the copy engine for the next plane of the tile and its halo in y and x; a barrier
//           in shared memory opens when its bytes have come. Each lane of a warp then updates some rows of
//           its pack: y neighbours come from shared memory, or its own rows; x neighbours by shuffle; z
//           neighbours from registers and from the plane above, which is in shared memory already.
// Storage   shared memory: a ring of planes of x by (y + 2) cells and the packs beside them, some 36 KB each,
//           and their barriers. Registers: the plane behind and the one at work.
// Traffic   as `register_tile`: each cell once, and the tile's halo, which comes from L2. What differs is who
//           loads: no thread computes an address or waits in a register for a load. Blocks that drift apart
//           would read their halos from memory twice: a schedule (pace.hpp) keeps them together, and blocks
//           above each other walk towards each other, or apart, so that they read the planes between them at
//           one time (TUNING.md).
#include <algorithm>
#include <cstddef>

#include "kernels/cuda/hopper.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/production/face_stores.hpp"
#include "kernels/production/throttle.hpp"
#include "kernels/production/wide_row.hpp"

namespace isotherm::cuda {
namespace {

// A block: warps beside each other along x and above each other along y, rows of y that a lane owns, planes
// of the ring. `pace`: the percent of the memory's peak that its schedule is made for; 0: it has none.
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
// A pace that memory cannot give is worse than none. What it gives differs by some percent from machine to
// machine and from shape to shape: a run's autotuner finds the best.
constexpr std::array tiles = {
    PipelineTile{2, 4, 8, 4, 83}, PipelineTile{2, 4, 8, 4, 87}, PipelineTile{2, 4, 8, 4, 86},
    PipelineTile{2, 4, 8, 4, 85}, PipelineTile{2, 4, 8, 4, 84}, PipelineTile{2, 4, 8, 4, 82},
    PipelineTile{2, 4, 8, 4, 80}, PipelineTile{2, 4, 8, 4, 78}, PipelineTile{2, 4, 8, 4, 0},
    PipelineTile{1, 8, 8, 4, 84}, PipelineTile{1, 8, 8, 4, 82}, PipelineTile{1, 8, 8, 4, 0}};

// Planes that a chunk costs beside its own: the two it only reads, and the time until the first has come.
constexpr Index chunk_overhead = 6;

// Planes that a block on its schedule has asked for and not yet begun to compute: with the third place of the
// ring the one at work, a block that is late has one in reserve to catch up with.
constexpr int planes_ahead = 2;

// A plane of the ring: the tile with the rows beside it, and the packs beside these rows. The engine fetches
// whole lines of 128 bytes; a box that started a pack before the tile would move six lines per row for four.
// `classes`: of a body of several materials, with the class of each pack.
template <class T, int warps_x, int warps_y, int rows, bool classes>
struct Plane {
  static constexpr int cells = Pack<T>::cells, x = warps_x * warp_size * cells, y = warps_y * rows;
  static_assert(x <= 256 && y % 8 == 0, "the engine's boxes, and what aligns the sides to 128 bytes");
  static_assert(column_unit % y == 0, "a side may be a part of a column");
  alignas(128) T cell[y + 2][x];
  alignas(128) T side[2][y][cells];
  alignas(128) std::uint8_t class_of[classes ? y : 1][ClassRow::packs_of(warps_x * warp_size)];

  static constexpr std::uint32_t bytes = sizeof(cell) + sizeof(side) + (classes ? sizeof(class_of) : 0),
                                 column_bytes = y * sizeof(T);
};

template <class T, int warps_x, int warps_y, int rows, int stages, bool classes>
struct Pipeline {
  Plane<T, warps_x, warps_y, rows, classes> planes[stages];
  BytesBarrier full[stages];

  __device__ __forceinline__ void begin() {
    for (int i = 0; i < stages; ++i) full[i].init();
    BytesBarrier::publish();
  }
};

// A thread's. Blocks of others (the stores of `peer`, 10 000 registers) find room beside one of 256 threads
// that asks for no norm and leaves the faces to them; the compiler would take all there are.
template <class Norm, class Stores, class Classes>
constexpr unsigned most_registers = std::is_same_v<Norm, NoNorm> && !Stores::any && !Classes::any ? 208 : 255;

// What a sweep of a body of several materials has more, and any other not: packs of classes.
struct OneClass {
  static constexpr bool any = false;
};
struct SeveralClasses {
  static constexpr bool any = true;
  TensorMap<std::uint8_t> map;
};

// Of the rows of a lane in one plane. Mostly all of a warp's are of one class, and are read once.
template <class T, int rows, class Classes>
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
  __device__ __forceinline__ const Coefficients<T>& operator()(int r) {
    if constexpr (!Classes::any) {
      return a_.c;
    } else {
      if (r > 0 && !is_one_) held_ = of_row(r);
      return held_;
    }
  }

 private:
  __device__ __forceinline__ Coefficients<T> of_row(int r) const {
    const Coefficients<T>* const c = a_.by_class + class_[r];
    return {__ldg(&c->c0), __ldg(&c->cx), __ldg(&c->cy), __ldg(&c->cz), __ldg(&c->sigma)};
  }

  const TileArgs<T>& a_;
  int class_[rows];
  bool is_one_ = true;
  Coefficients<T> held_;
};

// The planes of a chunk as its block comes to them: the first that it updates is the 1st, and the 0th lies
// behind that.
struct Walk {
  int first, step, count;

  // Every other chunk is walked down.
  template <class Stores>
  __device__ __forceinline__ Walk(const Columns& columns, const Box& chunk, const Stores& stores) {
    const bool down = stores.is_down((chunk.lo.z - columns.box.lo.z) / columns.planes);
    first = static_cast<int>(down ? chunk.hi.z - 1 : chunk.lo.z);
    step = down ? -1 : 1;
    count = static_cast<int>(chunk.hi.z - chunk.lo.z);
  }
  __device__ __forceinline__ int plane(int n) const { return first + (n - 1) * step; }
  __device__ __forceinline__ Face behind() const { return step > 0 ? Face::z_min : Face::z_max; }
  __device__ __forceinline__ Face ahead() const { return step > 0 ? Face::z_max : Face::z_min; }
};

// Where a lane finds the cell beside its warp: in the tile, or in the packs beside it, or in the column that
// takes their place. Only the first and the last lane need it; that the others read what the first one does
// saves a branch a row.
template <class Slab>
struct Beside {
  int at, step;  // cells from the start of a plane to that of the first row, and from row to row

  // `columns`: of the lower side, of the upper.
  __device__ __forceinline__ Beside(int lane, int warp_x, int warps_x, int row, const bool (&columns)[2]) {
    const bool behind = lane == warp_size - 1;
    if (warp_x == (behind ? warps_x - 1 : 0)) {
      constexpr int sides = offsetof(Slab, side) / sizeof(Slab::side[0][0][0]);
      const bool is_column = behind ? columns[1] : columns[0];
      step = is_column ? 1 : Slab::cells;
      at = sides + (behind ? Slab::y * Slab::cells : is_column ? 0 : Slab::cells - 1) + row * step;
    } else {
      const int pack = warp_x * warp_size + (behind ? lane : 0);
      at = (row + 1) * Slab::x + pack * Slab::cells + (behind ? Slab::cells : -1);
      step = Slab::x;
    }
  }
};

template <class Stores, class T>
__device__ __forceinline__ bool has_column(const Stores& stores, bool upper, const TileArgs<T>& a,
                                           const Box& chunk) {
  if constexpr (Stores::any) return stores.has_column(upper, a.in.extent, chunk);
  return false;
}

// What a lane has left of plane z, at a face across z.
template <int rows, class Stores, class T>
__device__ __forceinline__ void store_plane(const Stores& stores, Face f, const TileArgs<T>& a,
                                            const TileWarp<T, rows>& mine, int x, int y, int z) {
  Pack<T> value[rows];
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    if (mine.cells_of(r) != 0) value[r] = Pack<T>::load(&a.out(x, y + r, z));
  }
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    if (mine.cells_of(r) != 0) stores.store_pack(f, value[r], mine.cells_of(r), x, y + r);
  }
}

template <class T, int warps_x, int warps_y, int rows, int stages, class Norm, class Stores, class Classes>
__global__ void __maxnreg__((most_registers<Norm, Stores, Classes>))
    tma_pipeline(const __grid_constant__ TensorMap<T> map, const __grid_constant__ TensorMap<T> side_map,
                 const __grid_constant__ TileArgs<T> a, Schedule schedule,
                 const __grid_constant__ Stores stores, const __grid_constant__ Classes classes) {
  using Slab = Plane<T, warps_x, warps_y, rows, Classes::any>;
  using Pipe = Pipeline<T, warps_x, warps_y, rows, stages, Classes::any>;
  Pipe& pipeline = *reinterpret_cast<Pipe*>(dynamic_shared());
  const Box chunk = a.columns.of_block();
  const Walk walk(a.columns, chunk, stores);
  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  const int warp_x = warp % warps_x, row = warp / warps_x * rows;  // in the tile
  const int pack = (warp_x * warp_size + lane) * Pack<T>::cells;
  const int tile_x = static_cast<int>(chunk.lo.x), tile_y = static_cast<int>(chunk.lo.y);
  const int x = tile_x + pack, y = tile_y + row;
  const bool columns[2] = {has_column(stores, false, a, chunk), has_column(stores, true, a, chunk)};
  const Beside<Slab> beside(lane, warp_x, warps_x, row, columns);
  Norm norm;

  if constexpr (Stores::any) {
    if (!stores.meet_peers()) return;
  }
  // The n-th plane of the walk goes to place n % stages of the ring.
  const Throttle throttle(schedule);
  const auto ask_for = [&](int n) {
    if (threadIdx.x != 0 || n > walk.count + 1) return;
    if (n >= stages) throttle.wait_for_plane(n - planes_ahead);
    const int z = walk.plane(n);
    BytesBarrier& full = pipeline.full[n % stages];
    Slab& plane = pipeline.planes[n % stages];
    constexpr std::uint32_t saved = sizeof(plane.side[0]) - Slab::column_bytes;
    full.expect(Slab::bytes - (columns[0] + columns[1]) * saved);
    full.copy(map, plane.cell, tile_x, tile_y - 1, z);
    if constexpr (Classes::any) full.copy(classes.map, plane.class_of, ClassRow::start<T>(tile_x), tile_y, z);
    for (const bool upper : {false, true}) {
      if constexpr (Stores::any) {
        if (columns[upper]) {
          full.copy_line(stores.column(upper, a.in.extent, tile_y, z), plane.side[upper], Slab::column_bytes);
          continue;
        }
      }
      full.copy(side_map, plane.side[upper], upper ? tile_x + Slab::x : tile_x - Slab::cells, tile_y, z);
    }
  };
  const auto wait_for = [&](int n) { pipeline.full[n % stages].wait(n / stages % 2); };

  if (threadIdx.x == 0) pipeline.begin();
  __syncthreads();
  for (int n = 0; n < stages; ++n) ask_for(n);

  Pack<T> behind[rows], at[rows];
  wait_for(0);
  wait_for(1);
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    behind[r] = Pack<T>::load(&pipeline.planes[0].cell[row + 1 + r][pack]);
    at[r] = Pack<T>::load(&pipeline.planes[1].cell[row + 1 + r][pack]);
  }
  __syncthreads();  // the first place is free
  ask_for(stages);

  const Edges edges = edges_of(a, chunk);
  TileWarp<T, rows> mine(a, lane, x, y);
  if (edges == Edges::boundaries) mine.fetch_boundaries(a, lane, x, y, walk.first);
  if (a.beyond_z_boundary(walk.plane(0))) {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if (mine.has_row(r)) behind[r] = mine.beyond_z(a.face(walk.behind()), at[r], x, y + r);
    }
  }
  T* to = &a.out(x, y, walk.first);
  bool first_goes = false;
  Pack<T> first;
  if constexpr (Stores::any) first_goes = stores.is_at(walk.behind(), a.in.extent, chunk);
  static_assert(2 + 2 * warps_x <= warps_x * warps_y, "warps for two faces across y, beside the first two");
  typename Stores::Item item(stores, a, chunk, warps_x * warp_size, walk.first, walk.step);
  typename Stores::RowEnd row_end(stores, a, chunk, warp_x == 0, warp_x == warps_x - 1, y, walk.first,
                                  walk.step);
  for (int n = 1; n <= walk.count; ++n) {
    const int z = walk.plane(n);
    wait_for(n + 1);
    if constexpr (Stores::any) {  // what the plane before has left, while the rows of this one are at work
      if (n > 1) item.load();
      if (first_goes && 1 < n && n <= rows + 1 && mine.cells_of(n - 2) != 0)
        first = Pack<T>::load(&a.out(x, y + n - 2, walk.first));
    }
    const Slab& plane = pipeline.planes[n % stages];
    Slab& next = pipeline.planes[(n + 1) % stages];
    if (a.beyond_z_boundary(walk.plane(n + 1))) {  // each lane puts there what it alone reads
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        if (mine.has_row(r))
          mine.beyond_z(a.face(walk.ahead()), at[r], x, y + r).store(&next.cell[row + 1 + r][pack]);
      }
    }
    const T* const beside_row = &plane.cell[0][0] + beside.at;
    RowCoefficients<T, rows, Classes> coefficients(a, plane, row, ClassRow::place<T>(x, tile_x));
    with_edges(edges, [&]<Edges here>() {
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const Pack<T> ahead = Pack<T>::load(&next.cell[row + 1 + r][pack]);
        const T outside = beside_row[r * beside.step];
        T x_lo = __shfl_up_sync(0xffffffffu, at[r].v[Pack<T>::cells - 1], 1);
        T x_hi = __shfl_down_sync(0xffffffffu, at[r].v[0], 1);
        x_lo = lane == 0 ? outside : x_lo;
        x_hi = lane == warp_size - 1 ? outside : x_hi;
        const Pack<T> y_lo = r > 0 ? at[r - 1] : Pack<T>::load(&plane.cell[row][pack]);
        const Pack<T> y_hi = r < rows - 1 ? at[r + 1] : Pack<T>::load(&plane.cell[row + 1 + rows][pack]);
        const Neighbours<T> near{at[r], y_lo, y_hi, behind[r], ahead, x_lo, x_hi};
        const Pack<T> made = mine.template update < here,
                      Stores::any || Classes::any > (a, coefficients(r), r, near, x, y + r, z,
                                                     to + r * a.out.pitch_y, norm);
        if constexpr (Stores::any) {
          if (here == Edges::none || mine.has_row(r)) row_end.store(r, made);
        }
        behind[r] = ahead;  // kept until all rows have had the plane behind them
      }
    });
    if (edges == Edges::boundaries && n < walk.count) mine.fetch_boundaries(a, lane, x, y, walk.plane(n + 1));
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const Pack<T> ahead = behind[r];
      behind[r] = at[r];
      at[r] = ahead;
    }
    to += walk.step * a.out.pitch_z;
    __syncthreads();  // nobody reads the plane any more
    ask_for(n + stages);
    if constexpr (Stores::any) {
      row_end.advance();
      if (n > 1) item.store();
      if (first_goes && 1 < n && n <= rows + 1)  // of the first plane per row with each that follows
        stores.store_pack(walk.behind(), first, mine.cells_of(n - 2), x, y + n - 2);
    }
  }
  if constexpr (Stores::any) {
    item.load();
    item.store();
    if (walk.count <= rows && first_goes) store_plane<rows>(stores, walk.behind(), a, mine, x, y, walk.first);
    if (stores.is_at(walk.ahead(), a.in.extent, chunk))
      store_plane<rows>(stores, walk.ahead(), a, mine, x, y, walk.plane(walk.count));
  }
  norm.template leave<warps_x * warps_y * warp_size>(static_cast<double*>(a.norm.scratch));
}

template <class T, PipelineTile tile, bool classes = false>
constexpr std::size_t pipeline_bytes =
    sizeof(Pipeline<T, tile.warps_x, tile.warps_y, tile.rows, tile.stages, classes>);

template <class T, PipelineTile tile, class Norm = NoNorm, class Stores = NoStores, class Classes = OneClass>
constexpr auto kernel =
    tma_pipeline<T, tile.warps_x, tile.warps_y, tile.rows, tile.stages, Norm, Stores, Classes>;

template <class T, PipelineTile tile, bool classes>
constexpr Threads threads(unsigned blocks) {
  return {dim3(blocks), dim3(tile.warps() * warp_size), pipeline_bytes<T, tile, classes>};
}

// More than 48 KB of shared memory a block must be asked for.
template <class Kernel>
void allow_shared(Kernel* function, std::size_t bytes) {
  check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "cudaFuncSetAttribute");
}

// Blocks that the device holds at once.
template <class T, PipelineTile tile>
Index slots() {
  static const Index number = [] {  // one device a process
    const auto function = kernel<T, tile, UpdateSum<ReductionOp::sum_squares>>;
    allow_shared(function, pipeline_bytes<T, tile>);
    return blocks_at_once(function, tile.warps() * warp_size, pipeline_bytes<T, tile>);
  }();
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
                        args.boundaries, columns,  args.norm,   args.materials.coefficients[0]};
    using Slab = Plane<T, tile.warps_x, tile.warps_y, tile.rows, false>;
    const TensorMap<T> map = TensorMap<T>::make(args.in, {Slab::x, Slab::y + 2, 1});
    const TensorMap<T> side_map = TensorMap<T>::make(args.in, {Slab::cells, Slab::y, 1});
    const double bytes = columns.cells() * (least_bytes_per_cell<T>(!args.source.empty()) +
                                            (args.materials.empty() ? 0.0 : 1.0 / Pack<T>::cells));
    const auto schedule =
        Schedule::of(bytes, columns.blocks(), columns.planes, slots<T, tile>(), tile.throttle);
    const auto start = [&]<class Stores, class Classes>(auto function, const Stores& stores,
                                                        const Classes& classes) {
      allow_shared(function, pipeline_bytes<T, tile, Classes::any>);
      launch("tma_pipeline", function, threads<T, tile, Classes::any>(columns.blocks()), stream, map,
             side_map, a, schedule, stores, classes);
    };
    if (!args.materials.empty()) {
      const SeveralClasses classes{TensorMap<std::uint8_t>::make(
          args.materials.mixed.packs, {ClassRow::packs_of(tile.warps_x * warp_size), Slab::y, 1})};
      return start(kernel<T, tile, NoNorm, NoStores, SeveralClasses>, NoStores{}, classes);
    }
    if (args.stores.any()) {
      using Stores = SweepStores<T>;
      return start(kernel<T, tile, NoNorm, Stores>, Stores::of(args.stores, columns), OneClass{});
    }
    with_norm(args.norm, [&]<class Norm>() { start(kernel<T, tile, Norm>, NoStores{}, OneClass{}); });
    finish_norm(args.norm, columns.blocks(), stream);
  }
};

template <class T>
std::string unsupported(int tile_index) {
  return with_tile<tiles>(tile_index, [&]<PipelineTile tile>() {
    return without_bulk_copies(kernel<T, tile>, pipeline_bytes<T, tile>);
  });
}

template <class T>
KernelResources resources(int tile_index) {
  return with_tile<tiles>(tile_index, [&]<PipelineTile tile>() {
    const auto function = kernel<T, tile>;
    allow_shared(function, pipeline_bytes<T, tile>);
    return resources_of(function, tile.warps() * warp_size, pipeline_bytes<T, tile>);
  });
}

}  // namespace

template <class T>
void stencil_tma_pipeline(StencilKernel<T>& kernel) {
  WideRow<T, tiles, PipelineLaunch>::complete(kernel);
  kernel.stores_faces = [](Box block, bool column_above, int tile_index) {
    return with_tile<tiles>(tile_index, [&]<PipelineTile tile>() {
      // The ghosts of a plane that ends within a tile arrive with the tile.
      constexpr Index x = tile.warps_x * warp_size * Pack<T>::cells;
      return PipelineLaunch<T, tile>::chunk(block, {}).fits(block) && (!column_above || block.hi.x % x == 0);
    });
  };
  kernel.unsupported = unsupported<T>;
  kernel.resources = resources<T>;
  kernel.sweeps_materials = true;
}

template void stencil_tma_pipeline(StencilKernel<float>&);
template void stencil_tma_pipeline(StencilKernel<double>&);

}  // namespace isotherm::cuda
