// The block of a fused sweep: its ring of planes, and the levels that follow each other through its
// registers. stencil_temporal.cu says how it goes. For .cu files only.
#pragma once

#include <algorithm>

#include "kernels/cuda/fused_extras.hpp"
#include "kernels/cuda/hopper.hpp"
#include "kernels/cuda/pace.hpp"
#include "kernels/cuda/policy.hpp"

namespace isotherm::cuda {

// What a plane of a tile has around it.
enum class Around {
  side_boundaries,  // perhaps boundaries across x and y beside the tile, of one value a face
  boundaries,       // and boundaries across z
  anything          // boundaries anywhere
};

template <class T, int depth, Tile tile, class Extras>
struct FusedShared {
  static constexpr int warps = tile.x, rows = tile.y, stages = tile.z;
  static constexpr int x = warp_size * Pack<T>::cells, y = warps * rows, edges = std::max(depth - 1, 1);
  // The tile's rows, and one more at either end: what the first level needs.
  struct alignas(128) Slab {
    T cell[y + 2][x];
  };
  // A source is wanted by one level after another, and comes a plane behind the field: with its barrier.
  // Where boundaries are anywhere each level reads it from memory.
  static constexpr bool has_sources = Extras::sources && !Extras::any_boundaries;
  static constexpr int source_stages = has_sources ? depth + stages - 2 : 1;
  struct alignas(128) SourceSlab {
    T cell[has_sources ? y : 1][x];
  };
  Slab planes[stages];
  SourceSlab sources[source_stages];
  Pack<T> edge[2][edges][warps][2][warp_size];  // [buffer][level][warp][first, last row]
  BytesBarrier full[stages];
  SharedPace pace;
};

template <class T>
struct FusedMaps {
  TensorMap<T> field, source;
};

// Where a block stands in its ring of planes and its buffers of edges, whatever column it walks.
template <Tile tile>
struct FusedPosition {
  static constexpr int stages = tile.z;
  unsigned parity = 0;  // of each plane's barrier, a bit
  int slot = 0, buffer = 0;

  __device__ __forceinline__ int last_slot() const { return (slot + stages - 1) % stages; }
};

// The planes that a part of a column reads, and those that it leaves. The n-th of `count` steps brings plane
// first + n, if that is below `end`.
struct Span {
  int from, first, end, count;

  template <class T>
  __device__ __forceinline__ Span(const FusedArgs<T>& a, const ColumnPart& part, int depth) {
    const int lo = static_cast<int>(a.region.lo.z), to = lo + static_cast<int>(part.to);
    from = lo + static_cast<int>(part.from);
    first = max(from - depth, static_cast<int>(a.read.lo.z));
    end = min(to + depth, static_cast<int>(a.read.hi.z));
    count = to + depth - first;
  }
};

template <class T, int depth, Tile tile, class Extras>
class FusedTile {
  using Shared = FusedShared<T, depth, tile, Extras>;
  static constexpr int rows = tile.y, warps = tile.x, stages = tile.z, cells = Pack<T>::cells;

 public:
  __device__ __forceinline__ FusedTile(const FusedArgs<T>& a, const FusedMaps<T>& maps, Shared& shared,
                                       FusedPosition<tile>& position, FusedNorm& norm, const ColumnPart& part)
      : a_(a),
        maps_(maps),
        shared_(shared),
        in_(position),
        norm_(norm),
        span_(a, part, depth),
        lane_(threadIdx.x % warp_size),
        warp_(threadIdx.x / warp_size),
        at_(a, part.column, lane_, warp_),
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
    for (int n = 0; n < stages - 1; ++n) ask_for(n, (in_.slot + n) % stages);
    walk();
  }

 private:
  // The plane of step n, and the source of the plane before it.
  __device__ __forceinline__ void ask_for(int n, int slot) {
    if (threadIdx.x != 0 || n >= span_.count || !comes(n)) return;
    if (n >= stages - 1) shared_.pace.wait(a_.pace);
    BytesBarrier& full = shared_.full[slot];
    const int z = span_.first + n;
    const bool field = z < span_.end, source = Shared::has_sources && n > 0;
    full.expect((field ? sizeof(shared_.planes[0]) : 0) + (source ? sizeof(shared_.sources[0]) : 0));
    if (field) full.copy(maps_.field, shared_.planes[slot].cell, at_.tile_x, at_.tile_y - 1, z);
    if (source) {
      auto& slab = shared_.sources[(n - 1) % Shared::source_stages];
      full.copy(maps_.source, slab.cell, at_.tile_x, at_.tile_y, z - 1);
    }
  }
  __device__ __forceinline__ bool comes(int n) const {
    return span_.first + n < span_.end + (Shared::has_sources ? 1 : 0);
  }

  // What a level holds is named anew from plane to plane, three planes a turn. At the ends of the field, and
  // where anything may be, it is moved instead: a fifth slower, and compiled in a third of the time. Tiles
  // without boundaries go the way of those with boundaries beside them: alone they would be an eighth faster,
  // and wait for the others.
  __device__ __forceinline__ void walk() {
    for (int n = 0; n < span_.count;) {
      if (const int turns = Extras::any_boundaries ? 0 : turns_from(n); turns > 0) {
        for (const int end = n + 3 * turns; n < end; n += 3) {
          plane<Around::side_boundaries, 0>(n);
          plane<Around::side_boundaries, 1>(n + 1);
          plane<Around::side_boundaries, 2>(n + 2);
        }
      } else {
        plane<Extras::any_boundaries ? Around::anything : Around::boundaries, 0>(n++);
        move_down();
      }
    }
  }
  // So many times three steps from n on no level stands at a boundary across z.
  __device__ __forceinline__ int turns_from(int n) const {
    const int bottom = span_.first + n - depth, top = span_.first + n - 1;  // planes at work
    if (a_.face(Face::z_min).is_boundary && bottom <= 0) return 0;
    int steps = span_.count - n;
    if (a_.face(Face::z_max).is_boundary) steps = min(steps, static_cast<int>(a_.in.extent.z) - 1 - top);
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
    const bool come = comes(n);
    if (come) shared_.full[in_.slot].wait(in_.parity >> in_.slot & 1);
    Pack<T> made[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r)
      made[r] = Pack<T>::load(&shared_.planes[in_.slot].cell[1 + warp_ * rows + r][lane_ * cells]);
    levels<around, phase, 0>(n, made);
    in_.buffer ^= 1;
    __syncthreads();  // the rows at the edges of warps are there, and nobody reads the plane before this one
    ask_for(n + stages - 1, in_.last_slot());
    if (come) in_.parity ^= 1u << in_.slot;
    in_.slot = (in_.slot + 1) % stages;
    if (++source_slot_ == Shared::source_stages) source_slot_ = 0;
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
    if constexpr (beside) at_.apply_y_boundaries(a_, at, y_lo, y_hi);
#pragma unroll
    for (int r = 0; r < rows; ++r) above[r] = made[r];
    if constexpr (around != Around::side_boundaries)
      at_.template apply_z_boundaries<Extras::any_boundaries>(a_, z, below, at, above);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      Neighbours<T> near{at[r],
                         r > 0 ? at[r - 1] : y_lo,
                         r < rows - 1 ? at[r + 1] : y_hi,
                         below[r],
                         above[r],
                         __shfl_up_sync(0xffffffffu, at[r].v[cells - 1], 1),
                         __shfl_down_sync(0xffffffffu, at[r].v[0], 1)};
      if constexpr (beside) at_.apply_x_boundaries(a_, near);
      if constexpr (around == Around::anything) at_.apply_side_boundaries(a_, r, z, near);
      made[r] = updated_pack(a_.c, near, source<level>(r, z));
    }
    if constexpr (level + 1 < depth) {
      shared_.edge[in_.buffer][level][warp_][0][lane_] = made[0];
      shared_.edge[in_.buffer][level][warp_][1][lane_] = made[rows - 1];
      levels<around, phase, level + 1>(n, made);
    } else if (z >= span_.from) {
      leave<around>(z, made, at);
    }
  }

  // Of the plane that a level is at, in row r of the lane.
  template <int level>
  __device__ __forceinline__ Pack<T> source(int r, int z) const {
    if constexpr (!Extras::sources) {
      return Pack<T>::zero();
    } else if constexpr (Shared::has_sources) {
      const int behind = source_slot_ - level, slot = behind < 0 ? behind + Shared::source_stages : behind;
      return Pack<T>::load(&shared_.sources[slot].cell[warp_ * rows + r][lane_ * cells]);
    } else {
      return source_of(a_, at_.x, at_.y + r, z);
    }
  }

  // What another warp left of the plane at work, or, beyond the tile, anything. `last`: its last row.
  template <int level>
  __device__ __forceinline__ Pack<T> edge_row(int warp, int last) const {
    if constexpr (level == 0) {
      return Pack<T>::load(
          &shared_.planes[in_.last_slot()].cell[1 + warp * rows + last * (rows - 1)][lane_ * cells]);
    } else {
      const int inside = min(max(warp, 0), warps - 1);
      return shared_.edge[in_.buffer ^ 1][level - 1][inside][last][lane_];
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
      if constexpr (around != Around::anything) continue;
#pragma unroll
      for (int i = 0; i < cells; ++i) {
        if ((mine >> i & 1u) != 0 && mine != at_.all_cells) row[i] = made[r].v[i];
      }
    }
    if constexpr (Extras::norm) {
      if (!a_.norm.result) return;
      norm_.add(a_.norm.op, [&](auto add) {
#pragma unroll
        for (int r = 0; r < rows; ++r) {
          const unsigned mine = at_.cells_of(r);
#pragma unroll
          for (int i = 0; i < cells; ++i) {
            if ((mine >> i & 1u) != 0) add(made[r].v[i], before[r].v[i]);
          }
        }
      });
    }
  }

  const FusedArgs<T>& a_;
  const FusedMaps<T>& maps_;
  Shared& shared_;
  FusedPosition<tile>& in_;
  FusedNorm& norm_;
  const Span span_;
  const int lane_, warp_;
  const FusedPlace<T, rows> at_;
  T* const to_;
  int source_slot_ = Shared::source_stages - 1;  // of the plane that the first level is at
  Pack<T> held_[depth][3][rows];                 // of each level two planes and the one that comes, in turns
};

}  // namespace isotherm::cuda
