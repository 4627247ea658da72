// Stencil kernel `temporal`: several sweeps in one pass over the field (temporal blocking), so that memory is
// read and written once for all of them.
//
// Lecture   lectures/stencil/10_streaming_temporal.cu has the levels and the overlap, 09_streaming_tma.cu the
//           copies; the tile in registers is that of register_tile.cu.
// Algebra   time_block sweeps, each stencil_update() of the previous result; every level applies the
//           boundaries on all faces that its tile touches. The same bits as in single sweeps. Where b
//           varies over a face across x or y, tiles take one value for it, and varying_sides.cu sweeps the
//           time_block layers of cells next to that face again: to read b per cell would cost every tile.
// Mapping   a thread block owns a tile of 32 packs of 16 bytes along x by some rows of y and walks along z.
//           Each lane owns some rows of its pack, at all levels. When plane n arrives, level 1 computes plane
//           n - 1, level 2 plane n - 2, ...: the result of a level is the plane above for the next level, in
//           the same lane. x neighbours are exchanged by warp shuffle; y neighbours are the lane's own rows
//           or, beyond the first and last row of a warp, rows of its neighbour warps (shared memory). Tiles
//           have halos of time_block cells along x and one less along y, where the first level reads one more
//           row; parts of a column have halos of time_block planes along z. Each level invalidates one more
//           layer of the halo; no halo is stored. Persistent thread blocks share the columns of tiles evenly.
// Storage   registers: for each level, the plane below and the current one. Shared memory: a multistage
//           pipeline of planes of the field, and one of the source, which TMA (compute capability 9.0) fills
//           ahead of the warps; the first and last row of each warp at each level, in two buffers, so that
//           one barrier per plane is enough for all levels.
// Traffic   one read and one write of the field for time_block sweeps, and the overlap, which L2 absorbs: a
//           tile of 64 x 32 cells (fp64) stores 56 x 26 at time_block 4, in whole sectors of memory.
// Source    overlapping tiles in registers: FastStencil (SC 2026); levels that follow each other through a
//           stream of planes: AN5D (Matsumura et al., CGO 2020). Neither is correct next to boundaries.
#include <algorithm>
#include <cstddef>

#include "kernels/cuda/launch.hpp"
#include "kernels/production/temporal_tile.hpp"

namespace isotherm::cuda {
namespace {

constexpr int max_time_block = 4;    // larger ones need too many registers and are slower: docs/tuning-log
constexpr Index least_planes = 4;    // minimum per thread block
constexpr Index most_blocks = 1024;  // each stores one partial of a norm
// The most cells of a subdomain along an axis: TMA must be able to count them and the ghosts.
constexpr Index longest_axis = (Index{1} << 30) - 64;
constexpr Index largest_plane = Index{1} << 31;  // TemporalLane::beyond_z() has offsets of 32 bits

// Warps along y, rows of y that a lane owns, pipeline stages. `throttle`: cycles between planes; 0: none. In
// large fields, thread blocks that request planes a little slower than the instructions of four levels allow
// stay at about the same plane (docs/tuning-log).
struct ThrottledTile {
  Tile tile;
  int throttle;
  std::string name() const {
    return throttle > 0 ? tile.name() + "@" + std::to_string(throttle) : tile.name();
  }
};
constexpr Tile only{8, 4, 4};
constexpr std::array tiles = {ThrottledTile{only, 0}, ThrottledTile{only, 2050}, ThrottledTile{only, 2100},
                              ThrottledTile{only, 2000}};

template <class T, int time_block, int warps, int rows, int stages, class Extras>
__global__ void __launch_bounds__(warps* warp_size, 1)
    temporal(const __grid_constant__ TemporalMaps<T> maps, const __grid_constant__ TemporalArgs<T> a,
             const __grid_constant__ ClassMap<Extras> class_map) {
  constexpr Tile tile{warps, rows, stages};
  auto& shared = *reinterpret_cast<TemporalShared<T, time_block, tile, Extras>*>(dynamic_shared());
  if (threadIdx.x == 0) {
    shared.throttle.begin();
    for (BytesBarrier& full : shared.full) full.init();
    BytesBarrier::publish();
  }
  __syncthreads();
  TemporalPosition<tile> position;
  FusedNorm norm;
  ColumnPart part;
  for (ColumnWalk parts(a.shares, blockIdx.x); parts.next(part);)
    TemporalTile<T, time_block, tile, Extras>(a, maps, class_map, shared, position, norm, part).sweep();
  if constexpr (Extras::norm) {
    if (a.norm.result) norm.template store<warps * warp_size>(a.norm);
  }
}

template <class T, int time_block, Tile tile, class Extras>
struct Temporal {
  using Shared = TemporalShared<T, time_block, tile, Extras>;
  static constexpr auto kernel = temporal<T, time_block, tile.x, tile.y, tile.z, Extras>;
  static constexpr int threads = tile.x * warp_size;

  static Index slots() {
    static const Index number = blocks_at_once(kernel, threads, sizeof(Shared));  // one device per process
    return number;
  }
  // The tiles, without the shares of thread blocks.
  static TemporalArgs<T> cut(const SweepArgs<T>& args) {
    const Box region = args.region;
    const Int3 extent = args.in.extent;
    const auto boundary = [&](Face f) { return args.boundaries.faces[static_cast<int>(f)].is_boundary; };
    constexpr Index halo_x = ceil_div(time_block, Pack<T>::cells) * Pack<T>::cells;
    TemporalArgs<T> a{};
    a.region = region;
    a.read = args.boundaries.widened(region, time_block, extent);
    a.x = TileCuts::of(region.lo.x, region.hi.x, extent.x, boundary(Face::x_min), boundary(Face::x_max),
                       Shared::x, halo_x, Pack<T>::cells, 32 / sizeof(T));
    a.y = TileCuts::of(region.lo.y, region.hi.y, extent.y, boundary(Face::y_min), boundary(Face::y_max),
                       Shared::y, time_block - 1);
    return a;
  }

  static TemporalMaps<T> maps(const SweepArgs<T>& args) {
    const FieldView<const T>& source = Shared::has_sources ? args.source : args.in;
    return {TensorMap<T>::make(args.in, {Shared::x, Shared::y + 2, 1}),
            TensorMap<T>::make(source, {Shared::x, Shared::y, 1})};
  }

  static ClassMap<Extras> class_map(const SweepArgs<T>& args) {
    if constexpr (Extras::classes)
      return TensorMap<std::uint8_t>::make(args.materials.mixed.packs,
                                           {ClassRow::packs_of(warp_size), Shared::y, 1});
    return {};
  }

  static void sweep(const SweepArgs<T>& args, Box counted, int throttle, Stream stream) {
    TemporalArgs<T> a = cut(args);
    a.counted = counted;
    a.in = args.in;
    a.out = args.out;
    a.source = args.source;
    a.c = args.c;
    a.boundaries = args.boundaries;
    a.norm = args.norm;
    a.throttle = static_cast<unsigned>(throttle);
    a.materials = args.materials;
    // A part of a column also reads time_block planes at either end, and waits for its first plane.
    constexpr Index overhead = 2 * time_block + 2;
    a.shares = ColumnShares::of(a.x.count * a.y.count, args.region.extent().z, std::min(slots(), most_blocks),
                                least_planes, overhead);
    const auto blocks = static_cast<unsigned>(a.shares.blocks);
    launch("temporal", kernel, {dim3(blocks), dim3(threads), sizeof(Shared)}, stream, maps(args), a,
           class_map(args));
    finish_norm(args.norm, blocks, stream);
  }
};

// True if boundaries are only at the edges of tiles, and each tile stores whole packs.
template <class T, int time_block, Tile tile>
bool boundaries_are_simple(const SweepArgs<T>& args) {
  const TemporalArgs<T> a = Temporal<T, time_block, tile, AllExtras>::cut(args);
  // The axes must be long enough: a lane handles at most one boundary across each axis.
  return a.x.aligned && a.y.aligned && args.in.extent.x > Pack<T>::cells && args.in.extent.y > tile.y;
}
// The layers of cells whose sweeps depend on b of a face across x or y on which b varies, and the rest of the
// region. Tiles take one value for b; the layers are swept again, and only then counted in a norm.
template <class T>
struct Sides {
  Box layers[4], rest;

  Sides(const SweepArgs<T>& args, int time_block) : rest(args.region) {
    if (time_block == 1 || !args.materials.empty()) return;  // the kernel reads b of every cell
    for (int face = 0; face < 4; ++face) {
      const Boundary<T>& boundary = args.boundaries.faces[face];
      if (!boundary.is_boundary || !boundary.b_field) continue;
      const int axis = face / 2;
      layers[face] = rest;
      Index &lo = rest.lo[axis], &hi = rest.hi[axis];
      if (face % 2 == 0)
        lo = layers[face].hi[axis] = std::clamp<Index>(time_block, lo, hi);
      else
        hi = layers[face].lo[axis] = std::clamp<Index>(args.in.extent[axis] - time_block, lo, hi);
    }
  }
};
template <class T>
bool vary_at_sides(const SweepArgs<T>& args) {
  const auto& faces = args.boundaries.faces;
  return std::any_of(faces, faces + 4,
                     [](const Boundary<T>& each) { return each.is_boundary && each.b_field; });
}
template <class T>
Source kind_of_source(const SweepArgs<T>& args) {
  const auto any = [&](auto is) { return std::ranges::any_of(args.c.sweep, is); };
  if (args.source.empty())
    return any([](const Coefficients<T>& c) { return c.heat != 0; }) ? Source::heat : Source::none;
  // Scaling the source costs a twentieth of the rate in fp64 (docs/tuning-log), nothing in fp32.
  const bool scales =
      sizeof(T) == sizeof(float) || any([](const Coefficients<T>& c) { return c.sigma != 1; });
  return scales ? Source::field : Source::stored_field;
}

// Calls body.operator()<time_block, Extras>() with the variant that supports these arguments and little else.
template <class T, Tile tile, class Body>
void with_temporal(const SweepArgs<T>& args, int time_block, Body body) {
  constexpr const char* unknown = "the kernel temporal was asked for a time block that it does not have";
  with_number<1, max_time_block>(time_block, unknown, [&]<int d>() {
    // A single sweep is the remainder of a run: not worth specialised variants.
    if constexpr (d > 1) {
      const Source source = kind_of_source(args);
      const bool has_field = !args.source.empty(), norm = args.norm.result != nullptr;
      const bool simple = boundaries_are_simple<T, d, tile>(args);
      const auto with = [&]<Source of, bool norm = false, bool classes = false>() {
        body.template operator()<d, TemporalExtras<false, of, norm, classes>>();
      };
      if (!args.materials.empty()) {
        if (!simple || vary_at_sides(args)) return body.template operator()<d, AllOfMaterials>();
        return has_field ? with.template operator()<Source::field, false, true>()
                         : with.template operator()<Source::none, false, true>();
      }
      if (simple) {
        if (norm)
          return has_field ? with.template operator()<Source::field, true>()
                           : with.template operator()<Source::heat, true>();
        if (source == Source::none) return with.template operator()<Source::none>();
        if (source == Source::heat) return with.template operator()<Source::heat>();
        if constexpr (sizeof(T) == sizeof(double)) {
          if (source == Source::stored_field) return with.template operator()<Source::stored_field>();
        }
        return with.template operator()<Source::field>();
      }
    }
    if (!args.materials.empty()) return body.template operator()<d, AllOfMaterials>();
    body.template operator()<d, AllExtras>();
  });
}

template <class T>
void sweep(const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
  if (args.region.empty()) return finish_norm(args.norm, 0, stream);
  const Sides<T> sides(args, plan.time_block);
  with_tile<tiles>(plan.tile, [&]<ThrottledTile throttled>() {
    with_temporal<T, throttled.tile>(args, plan.time_block, [&]<int depth, class Extras>() {
      Temporal<T, depth, throttled.tile, Extras>::sweep(args, sides.rest, throttled.throttle, stream);
    });
  });
  if (!args.materials.empty()) sweep_mixed(args, plan.time_block, stream);
  for (int face = 0; face < 4; ++face) {
    if (sides.layers[face].empty()) continue;
    SweepArgs<T> side = args;
    side.region = sides.layers[face];
    side.norm.accumulate = true;
    sweep_varying_side(side, face, plan.time_block, stream);
  }
}

template <class T>
std::size_t norm_scratch_bytes(Box region, int) {
  return region.empty() ? 0 : std::max(most_blocks, most_blocks_at_sides(region)) * sizeof(double);
}

template <class T, ThrottledTile throttled>
using Longest = Temporal<T, max_time_block, throttled.tile, TemporalExtras<false, Source::field, true>>;

}  // namespace

template <class T>
void stencil_temporal(StencilKernel<T>& kernel) {
  kernel.launch = sweep<T>;
  kernel.max_time_block = max_time_block;
  kernel.longest_axis = longest_axis;
  kernel.largest_plane = largest_plane;
  kernel.own_boundaries = {true, true, true};
  kernel.tiles = names_of<tiles>();
  kernel.norm_scratch_bytes = norm_scratch_bytes<T>;
  kernel.unsupported = by_tile<tiles>([]<ThrottledTile throttled>() {
    using Kernel = Longest<T, throttled>;
    return without_bulk_copies(Kernel::kernel, sizeof(typename Kernel::Shared));
  });
  kernel.resources = by_tile<tiles>([]<ThrottledTile throttled>() {
    using Kernel = Longest<T, throttled>;
    return resources_of(Kernel::kernel, Kernel::threads, sizeof(typename Kernel::Shared));
  });
  kernel.sweeps_materials = true;
}

ISOTHERM_BOTH_PRECISIONS(stencil_temporal, StencilKernel);

}  // namespace isotherm::cuda
