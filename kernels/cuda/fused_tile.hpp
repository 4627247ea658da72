// The block of a fused sweep: its ring of planes, and the levels that follow each other through its
// registers. stencil_fused.cu says how it goes. For .cu files only.
#pragma once

#include <algorithm>

#include "kernels/cuda/fused_walls.hpp"
#include "kernels/cuda/hopper.hpp"
#include "kernels/cuda/policy.hpp"

namespace isotherm::cuda {

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

}  // namespace isotherm::cuda
