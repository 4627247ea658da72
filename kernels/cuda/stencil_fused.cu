// Stencil row `fused`: several sweeps in one pass over the field (temporal blocking), so that memory is read
// and written once for all of them.
//
// Algebra   `depth` sweeps, each stencil_update() of what the one before it left; walls on all faces are
// applied
//           at every level, where the tile meets them. The same bits as so many single sweeps.
// Mapping   a block owns a tile of 32 packs of 16 bytes along x by some rows of y and walks along z. Each
// lane
//           owns some rows of its pack, at all levels. When plane n arrives, level 1 computes plane n - 1,
//           level 2 plane n - 2, ...: what a level makes of a row is at once the plane above of the next
//           level in the same lane. x neighbours come by shuffle, y neighbours from the lane's own rows or,
//           at the first and last row of a warp, from the warps beside it. Tiles overlap by `depth` cells
//           along x and y and chunks by as many planes along z; what is computed there is wrong a cell deeper
//           at each level, and not left.
// Lives in  registers: of each level the plane below and the one at work. Shared memory: a ring of planes of
// the
//           field, which bulk tensor copies bring ahead of the warps (compute capability 9.0), and the first
//           and last row of each warp at each level, twice, so that one barrier a plane is enough for all
//           levels.
// Traffic   one read and one write of the field for `depth` sweeps, and the overlap, which L2 absorbs: a tile
// of
//           64 x 32 cells (fp64) leaves 56 x 24 at depth 4.
#include <algorithm>
#include <cstddef>

#include "kernels/cuda/fused_walls.hpp"
#include "kernels/cuda/hopper.hpp"
#include "kernels/cuda/policy.hpp"
#include "kernels/cuda/resources.hpp"
#include "kernels/cuda/rows.hpp"

namespace isotherm::cuda {
namespace {

constexpr int most_depth = 4;
// Of a chunk: so many blocks that leave part of a norm are known before walls are.
constexpr Index least_planes = 8;

// A block: warps above each other along y, rows of y that a lane owns, planes of the ring.
constexpr std::array tiles = {Tile{8, 4, 4}};

// What a plane of a tile has around it.
enum class Around {
  side_walls,  // perhaps walls across x and y beside the tile, of one value a face
  walls,       // and walls across z
  anything     // walls anywhere
};

template <class T, int depth, Tile tile>
struct FusedShared {
  static constexpr int warps = tile.x, rows = tile.y, stages = tile.z;
  static constexpr int x = warp_size * Pack<T>::cells, y = warps * rows, edges = std::max(depth - 1, 1);
  struct alignas(128) Slab {
    T cell[y][x];
  };
  Slab planes[stages];
  Pack<T> edge[2][edges][warps][2][warp_size];  // [buffer][level][warp][first, last row]
  BytesBarrier full[stages];
};

// The planes that a block reads, and those that it leaves. The n-th of `count` steps brings plane first + n,
// if that is below `end`.
struct Span {
  int from, to, first, end, count;

  template <class T>
  __device__ __forceinline__ Span(const FusedArgs<T>& a, int depth) {
    const int planes = static_cast<int>(a.planes), chunk = blockIdx.x / (a.x.count * a.y.count);
    from = static_cast<int>(a.region.lo.z) + chunk * planes;
    to = min(from + planes, static_cast<int>(a.region.hi.z));
    first = max(from - depth, static_cast<int>(a.read.lo.z));
    end = min(to + depth, static_cast<int>(a.read.hi.z));
    count = to + depth - first;
  }
};

template <class T, int depth, Tile tile, class Extras>
class FusedTile {
  using Shared = FusedShared<T, depth, tile>;
  static constexpr int rows = tile.y, warps = tile.x, stages = tile.z, cells = Pack<T>::cells;

 public:
  __device__ __forceinline__ FusedTile(const FusedArgs<T>& a, const TensorMap<T>& map, Shared& shared)
      : a_(a),
        map_(map),
        shared_(shared),
        span_(a, depth),
        lane_(threadIdx.x % warp_size),
        warp_(threadIdx.x / warp_size),
        at_(a, blockIdx.x % (a.x.count * a.y.count), lane_, warp_),
        to_(&a.out(at_.x, at_.y, 0)) {
#pragma unroll
    for (int level = 0; level < depth; ++level) {
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        held_[level][0][r] = Pack<T>::zero();
        held_[level][1][r] = Pack<T>::zero();
      }
    }
  }

  __device__ __forceinline__ void sweep() {
    if (threadIdx.x == 0) {
      for (int i = 0; i < stages; ++i) shared_.full[i].init();
      BytesBarrier::publish();
    }
    __syncthreads();
    for (int n = 0; n < stages - 1; ++n) ask_for(n);
    walk();
    extras_.template leave<warps * warp_size>(a_);
  }

 private:
  __device__ __forceinline__ void ask_for(int n) {
    if (threadIdx.x != 0 || span_.first + n >= span_.end) return;
    BytesBarrier& full = shared_.full[n % stages];
    full.expect(sizeof(shared_.planes[0]));
    full.copy(map_, shared_.planes[n % stages].cell, at_.tile_x, at_.tile_y, span_.first + n);
  }

  // What a level holds is named anew from plane to plane, three planes a turn. At the ends of the field, and
  // where anything may be, it is moved instead: a fifth slower, and compiled in a third of the time. Tiles
  // without walls go the way of those with walls beside them: alone they would be an eighth faster, and wait
  // for the others.
  __device__ __forceinline__ void walk() {
    for (int n = 0; n < span_.count;) {
      if (const int turns = Extras::any_walls ? 0 : turns_from(n); turns > 0) {
        for (const int end = n + 3 * turns; n < end; n += 3) {
          plane<Around::side_walls, 0>(n);
          plane<Around::side_walls, 1>(n + 1);
          plane<Around::side_walls, 2>(n + 2);
        }
      } else {
        plane<Extras::any_walls ? Around::anything : Around::walls, 0>(n++);
        move_down();
      }
    }
  }
  // So many times three steps from n on no level stands at a wall across z.
  __device__ __forceinline__ int turns_from(int n) const {
    const int bottom = span_.first + n - depth, top = span_.first + n - 1;  // planes at work
    if (a_.wall(Face::z_min).is_wall && bottom <= 0) return 0;
    int steps = span_.count - n;
    if (a_.wall(Face::z_max).is_wall) steps = min(steps, static_cast<int>(a_.in.extent.z) - 1 - top);
    return max(steps, 0) / 3;
  }
  __device__ __forceinline__ void move_down() {
#pragma unroll
    for (int level = 0; level < depth; ++level) {
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        held_[level][0][r] = held_[level][1][r];
        held_[level][1][r] = held_[level][2][r];
      }
    }
  }

  template <Around around, int phase>
  __device__ __forceinline__ void plane(int n) {
    if (span_.first + n < span_.end) shared_.full[slot_].wait(parity_);
    Pack<T> made[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r)
      made[r] = Pack<T>::load(&shared_.planes[slot_].cell[warp_ * rows + r][lane_ * cells]);
    levels<around, phase, 0>(n, made);
    buffer_ ^= 1;
    __syncthreads();  // the rows at the edges of warps are there, and nobody reads the plane before this one
    ask_for(n + stages - 1);
    last_slot_ = slot_;
    if (++slot_ == stages) {
      slot_ = 0;
      parity_ ^= 1;
    }
  }

  // Of plane first + n - level, from the one above it, `made` by the level before.
  template <Around around, int phase, int level>
  __device__ __forceinline__ void levels(int n, Pack<T> (&made)[rows]) {
    constexpr bool beside = around != Around::anything;
    Pack<T>(&below)[rows] = held_[level][phase];
    Pack<T>(&at)[rows] = held_[level][(phase + 1) % 3];
    Pack<T>(&above)[rows] = held_[level][(phase + 2) % 3];
    const int z = span_.first + n - 1 - level;
    Pack<T> y_lo = edge_row<level>(warp_ - 1, 1), y_hi = edge_row<level>(warp_ + 1, 0);
    if constexpr (beside) at_.apply_y_walls_beside(a_, at, y_lo, y_hi);
#pragma unroll
    for (int r = 0; r < rows; ++r) above[r] = made[r];
    if constexpr (around != Around::side_walls)
      at_.template apply_z_walls<Extras::any_walls>(a_, z, below, at, above);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      Neighbours<T> near{at[r],
                         r > 0 ? at[r - 1] : y_lo,
                         r < rows - 1 ? at[r + 1] : y_hi,
                         below[r],
                         above[r],
                         __shfl_up_sync(0xffffffffu, at[r].v[cells - 1], 1),
                         __shfl_down_sync(0xffffffffu, at[r].v[0], 1)};
      if constexpr (beside) at_.apply_x_walls_beside(a_, near);
      if constexpr (around == Around::anything) at_.apply_any_side_walls(a_, r, z, near);
      made[r] = updated_pack(a_.c, near, extras_.source(a_, at_.x, at_.y + r, z));
    }
    if constexpr (level + 1 < depth) {
      shared_.edge[buffer_][level][warp_][0][lane_] = made[0];
      shared_.edge[buffer_][level][warp_][1][lane_] = made[rows - 1];
      levels<around, phase, level + 1>(n, made);
    } else if (z >= span_.from) {
      leave<around>(z, made, at);
    }
  }

  // What another warp left of the plane at work, or, beyond the tile, anything. `last`: its last row.
  template <int level>
  __device__ __forceinline__ Pack<T> edge_row(int warp, int last) const {
    const int inside = min(max(warp, 0), warps - 1);
    if constexpr (level == 0) {
      return Pack<T>::load(
          &shared_.planes[last_slot_].cell[inside * rows + last * (rows - 1)][lane_ * cells]);
    } else {
      return shared_.edge[buffer_ ^ 1][level - 1][inside][last][lane_];
    }
  }

  template <Around around>
  __device__ __forceinline__ void leave(int z, const Pack<T> (&made)[rows], const Pack<T> (&before)[rows]) {
    T* const to = to_ + z * a_.out.pitch_z;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const unsigned mine = at_.cells_of(r);
      T* const row = to + r * a_.out.pitch_y;
      if (mine == at_.all_cells) made[r].store(row);
#pragma unroll
      for (int i = 0; i < cells; ++i) {
        const bool is_mine = (mine >> i & 1u) != 0;
        if (around == Around::anything && is_mine && mine != at_.all_cells) row[i] = made[r].v[i];
        extras_.add(a_, is_mine, made[r].v[i], before[r].v[i]);
      }
    }
  }

  const FusedArgs<T>& a_;
  const TensorMap<T>& map_;
  Shared& shared_;
  const Span span_;
  const int lane_, warp_;
  const FusedPlace<T, rows> at_;
  T* const to_;
  Extras extras_{};
  Pack<T> held_[depth][3][rows];  // of each level two planes and the one that comes, in turns
  int parity_ = 0, slot_ = 0, last_slot_ = stages - 1, buffer_ = 0;
};

template <class T, int depth, int warps, int rows, int stages, class Extras>
__global__ void __launch_bounds__(warps* warp_size, 1)
    fused(const __grid_constant__ TensorMap<T> map, const __grid_constant__ FusedArgs<T> a) {
  constexpr Tile tile{warps, rows, stages};
  auto& shared = *reinterpret_cast<FusedShared<T, depth, tile>*>(dynamic_shared());
  FusedTile<T, depth, tile, Extras>(a, map, shared).sweep();
}

template <class T, int depth, Tile tile, class Extras>
struct Fused {
  using Shared = FusedShared<T, depth, tile>;
  static constexpr auto kernel = fused<T, depth, tile.x, tile.y, tile.z, Extras>;
  static constexpr int threads = tile.x * warp_size;

  static void allow_shared() {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(sizeof(Shared))),
          "cudaFuncSetAttribute");
  }
  static Index slots() {
    static const Index number = [] {  // one device a process
      allow_shared();
      return blocks_at_once(kernel, threads, sizeof(Shared));
    }();
    return number;
  }
  static unsigned blocks(const FusedArgs<T>& a) {
    return static_cast<unsigned>(a.x.count * a.y.count * ceil_div(a.region.extent().z, a.planes));
  }

  // `walls`: which there are.
  static FusedArgs<T> cut(Box region, Int3 extent, const Walls<T>& walls) {
    const auto wall = [&](Face f) { return walls.faces[static_cast<int>(f)].is_wall; };
    constexpr Index halo_x = ceil_div(depth, Pack<T>::cells) * Pack<T>::cells;
    FusedArgs<T> a{};
    a.region = region;
    a.read = region;
    const auto grow = [&](Index& lo, Index& hi, Index end, Face lower, Face upper) {
      lo = wall(lower) ? std::max<Index>(lo - depth, 0) : lo - depth;
      hi = wall(upper) ? std::min(hi + depth, end) : hi + depth;
    };
    grow(a.read.lo.x, a.read.hi.x, extent.x, Face::x_min, Face::x_max);
    grow(a.read.lo.y, a.read.hi.y, extent.y, Face::y_min, Face::y_max);
    grow(a.read.lo.z, a.read.hi.z, extent.z, Face::z_min, Face::z_max);
    a.x = TileCuts::of(region.lo.x, region.hi.x, extent.x, wall(Face::x_min), wall(Face::x_max), Shared::x,
                       halo_x, Pack<T>::cells);
    a.y = TileCuts::of(region.lo.y, region.hi.y, extent.y, wall(Face::y_min), wall(Face::y_max), Shared::y,
                       depth);
    // Beside its own planes a chunk reads `depth` at either end, and waits for its first.
    constexpr Index overhead = 2 * depth + 2;
    const Index planes = balanced_planes(a.x.count * a.y.count, region.extent().z, slots(), overhead);
    a.planes = std::max(planes, least_planes);
    return a;
  }

  // Is what FewExtras has enough?
  static bool will_do(const SweepArgs<T>& args) {
    if (!args.source.empty() || args.norm.result) return false;
    for (const Wall<T>& wall : args.walls.faces) {
      if (wall.b_field) return false;
    }
    const FusedArgs<T> a = cut(args.region, args.in.extent, args.walls);
    return a.x.aligned && a.y.aligned;
  }

  static void sweep(const SweepArgs<T>& args, Stream stream) {
    FusedArgs<T> a = cut(args.region, args.in.extent, args.walls);
    a.in = args.in;
    a.out = args.out;
    a.source = args.source;
    a.c = args.c;
    a.walls = args.walls;
    a.norm = args.norm;
    allow_shared();
    launch("fused", kernel, {dim3(blocks(a)), dim3(threads), sizeof(Shared)}, stream,
           TensorMap<T>::make(args.in, {Shared::x, Shared::y, 1}), a);
    finish_norm(args.norm, blocks(a), stream);
  }
};

// Calls body.operator()<depth, extras>() for the kernel that does what is asked.
template <class T, Tile tile, class Body>
void with_fused(const SweepArgs<T>& args, int depth, Body body) {
  const auto of_depth = [&]<int d>(auto self) {
    if constexpr (d < most_depth) {
      if (depth != d) return self.template operator()<d + 1>(self);
    }
    if (depth != d)
      throw Error(ExitCode::internal, "the kernel row fused was asked for a depth that it does not have");
    // A single sweep is what is left at the end of several: not worth a kernel that can do less.
    if constexpr (d > 1) {
      if (Fused<T, d, tile, FewExtras>::will_do(args)) return body.template operator()<d, FewExtras>();
    }
    body.template operator()<d, AllExtras>();
  };
  of_depth.template operator()<1>(of_depth);
}

template <class T>
void sweep(const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
  if (args.region.empty()) return finish_norm(args.norm, 0, stream);
  constexpr Index longest = Index{1} << 30;  // what the copy engine counts
  const Int3 end = args.region.hi;
  if (std::max({end.x, end.y, end.z}) > longest) {
    throw Error(ExitCode::unavailable,
                "kernel fused has no room for more than 2^30 cells along an axis; use another solver.kernel");
  }
  with_tile<tiles>(plan.policy, [&]<Tile tile>() {
    with_fused<T, tile>(args, plan.depth, [&]<int depth, class Extras>() {
      Fused<T, depth, tile, Extras>::sweep(args, stream);
    });
  });
}

// One part a block, at any depth and with any walls.
template <class T>
std::size_t norm_scratch_bytes(Box region, int policy) {
  if (region.empty()) return 0;
  return with_tile<tiles>(policy, [&]<Tile tile>() {
    constexpr Index y = tile.x * tile.y, x = warp_size * Pack<T>::cells;
    constexpr Index halo = ceil_div(most_depth, Pack<T>::cells) * Pack<T>::cells;
    const Index columns =
        TileCuts::of(region.lo.x, region.hi.x, 0, false, false, x, halo, Pack<T>::cells).count *
        TileCuts::of(region.lo.y, region.hi.y, 0, false, false, y, most_depth).count;
    return static_cast<std::size_t>(columns * ceil_div(region.extent().z, least_planes)) * sizeof(double);
  });
}

template <class T>
std::string unsupported(int policy) {
  return with_tile<tiles>(policy, [&]<Tile tile>() {
    using Deepest = Fused<T, most_depth, tile, FewExtras>;
    return without_bulk_copies(Deepest::kernel, sizeof(typename Deepest::Shared));
  });
}

template <class T>
KernelResources resources(int policy) {
  return with_tile<tiles>(policy, [&]<Tile tile>() {
    using Deepest = Fused<T, most_depth, tile, FewExtras>;
    Deepest::allow_shared();
    return resources_of(Deepest::kernel, Deepest::threads, sizeof(typename Deepest::Shared));
  });
}

}  // namespace

template <class T>
void stencil_fused(StencilKernel<T>& row) {
  row.launch = sweep<T>;
  row.max_depth = most_depth;
  row.own_walls = {true, true, true};
  row.policies = names_of<tiles>();
  row.norm_scratch_bytes = norm_scratch_bytes<T>;
  row.unsupported = unsupported<T>;
  row.resources = resources<T>;
}

template void stencil_fused(StencilKernel<float>&);
template void stencil_fused(StencilKernel<double>&);

}  // namespace isotherm::cuda
