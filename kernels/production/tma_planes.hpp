// The pipeline of `tma_pipeline`: TMA copies planes of a tile to shared memory ahead of the warps that
// compute (lectures/stencil/09_streaming_tma.cu has it alone). For .cu files only.
#pragma once

#include "kernels/cuda/hopper.hpp"
#include "kernels/production/throttle.hpp"
#include "kernels/production/tile_update.hpp"

namespace isotherm::cuda {

// A stage: a plane of the tile with a row on either side, and the packs on either side of these rows. TMA
// fetches whole lines of 128 bytes; a box that started a pack before the tile would move six lines per row
// instead of four. `classes`: with several materials, a stage also has the class of each pack.
template <class T, int warps_x, int warps_y, int rows, bool classes>
struct Plane {
  static constexpr int cells = Pack<T>::cells, x = warps_x * warp_size * cells, y = warps_y * rows;
  static_assert(x <= 256 && y % 8 == 0, "a TMA box has at most 256 cells; sides are aligned to 128 bytes");
  static_assert(column_unit % y == 0, "a side may be a part of a column");
  alignas(128) T cell[y + 2][x];
  alignas(128) T side[2][y][cells];
  alignas(128) std::uint8_t class_of[classes ? y : 1][ClassRow::packs_of(warps_x * warp_size)];

  static constexpr std::uint32_t bytes = sizeof(cell) + sizeof(side) + (classes ? sizeof(class_of) : 0),
                                 column_bytes = y * sizeof(T);
};

// With several materials, a sweep also copies the classes of packs.
struct OneClass {
  static constexpr bool any = false;
};
struct SeveralClasses {
  static constexpr bool any = true;
  TensorMap<std::uint8_t> map;
};

// Planes that a block on its schedule has requested and not yet begun to compute: the third stage holds the
// current plane, and a block that is late uses the fourth to catch up.
inline constexpr int planes_ahead = 2;

// Shared memory of a thread block.
template <class Slab, int stages>
struct PipelineShared {
  Slab planes[stages];
  BytesBarrier full[stages];
};

// Plane n of the walk uses stage n % stages. One thread requests planes; all wait for them. `columns`:
// whether the cells across the lower and the upper side of the tile are in columns (FaceStores).
template <class T, class Slab, int stages, class Stores, class Classes>
struct PlanePipeline {
  PipelineShared<Slab, stages>& shared;
  const TensorMap<T>&map, &side_map;
  const Classes& classes;
  const Stores& stores;
  const TileArgs<T>& a;
  const PlaneWalk& walk;
  const Throttle& throttle;
  const bool (&columns)[2];
  int tile_x, tile_y;

  __device__ __forceinline__ void begin() const {
    if (threadIdx.x == 0) {
      for (int i = 0; i < stages; ++i) shared.full[i].init();
      BytesBarrier::publish();
    }
    __syncthreads();
    for (int n = 0; n < stages; ++n) request(n);
  }
  __device__ __forceinline__ Slab& plane(int n) const { return shared.planes[n % stages]; }
  __device__ __forceinline__ void wait(int n) const { shared.full[n % stages].wait(n / stages % 2); }

  __device__ __forceinline__ void request(int n) const {
    if (threadIdx.x != 0 || n > walk.count + 1) return;
    if (n >= stages) throttle.wait_for_plane(n - planes_ahead);
    const int z = walk.plane(n);
    BytesBarrier& full = shared.full[n % stages];
    Slab& plane = shared.planes[n % stages];
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
  }
};

}  // namespace isotherm::cuda
