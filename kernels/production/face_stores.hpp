// Sweeps that also store their cells at the faces of the subdomain to the neighbours: to their ghosts, or
// across x to their columns. No halo exchange follows (FaceStores in stencil.hpp). For .cu files only.
//
//     block:  signal to all peers: sweep k-1, that is the launch before, has ended
//             wait until every peer has signalled the same
//             planes of its chunk -> out, cells at a face -> the peer's ghosts or columns
//
// One number is enough: sweep k reads the ghosts of one field, which the peers' sweeps k - 1 have stored, and
// stores to the ghosts of the other field, which these sweeps have read. The end of k - 1 implies both.
// The next launch signals the end. A sweep that signals its own end needs a fence after its stores to another
// device, with no work to hide it: 4 us of 80 (docs/tuning-log). Between launches these stores end anyway.
// No deadlock: a block signals on all links before it waits, however few blocks fit on the GPU. It waits only
// for the start of a launch on another device, which does not depend on this launch.
// All blocks wait, not only those at faces: blocks that start late stay late, and read again the lines that
// the others have loaded into L2 (throttle.hpp).
// Stores: at a face across x, lanes store cells as they compute them. Across y and z whole rows and planes
// are at the face. A selection among rows would cost time in every row of every block, so the rows and planes
// are read back from `out` and stored (docs/tuning-log).
// Memory order: the flag of the next launch releases the stores of a launch. TMA reads cells that the peers
// have stored: its thread passes a barrier with the threads that acquired the flags, then a proxy fence.
#pragma once

#include "kernels/cuda/hopper.hpp"
#include "kernels/cuda/peer_flags.hpp"
#include "kernels/production/tile_boundaries.hpp"

namespace isotherm::cuda {

struct NoStores {
  static constexpr bool any = false;
  __device__ __forceinline__ static bool is_down(Index chunk) { return chunk % 2 != 0; }
  __device__ __forceinline__ static bool has_column(bool, Int3, const Box&) { return false; }
};

// Arguments of a launch that stores faces.
template <class T>
struct SweepStores {
  static constexpr bool any = true;
  FaceStores<T> faces;
  bool first_is_down;  // walk down chunks 0, 2, ..., or else 1, 3, ...

  static SweepStores of(const FaceStores<T>& faces, const Columns& columns) {
    // The earlier in the sweep a store to another device is issued, the more time it has to complete: if only
    // the upper face has a neighbour, its chunk is walked down.
    const bool lower = faces.at(Face::z_min).to, upper = faces.at(Face::z_max).to;
    return {faces, upper && !lower && columns.count_z % 2 != 0};
  }

  // Every other chunk is walked down, so that neighbours read the planes between them at the same time.
  ISOTHERM_HOST_DEVICE bool is_down(Index chunk) const { return (chunk % 2 != 0) != first_is_down; }

  ISOTHERM_HOST_DEVICE bool has_target(Face f) const { return faces.at(f).to != nullptr; }
  // Is the chunk at face f of the subdomain, and is that face stored to a neighbour?
  __device__ __forceinline__ bool is_at(Face f, Int3 n, const Box& chunk) const {
    const int axis = axis_of(f);
    return has_target(f) && (is_max(f) ? chunk.hi[axis] >= n[axis] : chunk.lo[axis] == 0);
  }
  // Are the cells next to the chunk, beyond the lower or upper face across x, in columns?
  __device__ __forceinline__ bool has_column(bool upper, Int3 n, const Box& chunk) const {
    return faces.columns[upper] && (upper ? chunk.hi.x >= n.x : chunk.lo.x == 0);
  }
  // The column from row y on, in plane z or the nearest plane of the subdomain.
  __device__ __forceinline__ const T* column(bool upper, Int3 n, int y, int z) const {
    const Index plane = max(0, min(z, static_cast<int>(n.z) - 1));
    return faces.columns[upper] + y + plane * faces.column_pitch;
  }

  // Called by all threads before the first bulk copy. False if the wait was abandoned: then store nothing.
  __device__ __forceinline__ bool wait_for_peers() const {
    const PeerLinks& links = faces.links;
    const std::uint64_t sweep = links.progress->swept;
    const int lane = static_cast<int>(threadIdx.x % warp_size),
              warp = static_cast<int>(threadIdx.x / warp_size);
    const bool has_link = lane < links.count;
    if (warp == 1 && has_link) publish(links.link[lane].there->swept, sweep);
    const bool here = warp != 0 || !has_link || await(links.link[lane].here->swept, sweep, *links.abandoned);
    if (!__syncthreads_and(here)) return false;
    bulk_copies_see_loads();
    if (threadIdx.x == warp_size) count_block(sweep);
    return true;
  }

  __device__ __forceinline__ T* place(Face f, int p, int q) const {
    return faces.at(f).to + p + q * faces.at(f).pitch;
  }

  // Stores the pack at (x, y) of a face across z: the cells with a bit in `mine`.
  __device__ __forceinline__ void store_pack(Face f, const Pack<T>& value, unsigned mine, int x,
                                             int y) const {
    T* const to = place(f, x, y);
    if (mine == (1u << Pack<T>::cells) - 1) return value.store(to);
#pragma unroll
    for (int i = 0; i < Pack<T>::cells; ++i) {
      if ((mine >> i & 1u) != 0) to[i] = value.v[i];
    }
  }

 private:
  __device__ __forceinline__ void count_block(std::uint64_t sweep) const {
    PeerProgress& progress = *faces.links.progress;
    if (atomicAdd(&progress.blocks_in_sweep, 1u) + 1 != gridDim.x) return;
    progress.blocks_in_sweep = 0;
    progress.swept = sweep + 1;
  }
};

// Stores the cell that a thread has at a face across x, in each of its rows.
template <class T>
class RowEnd {
 public:
  // For a lane of the first or the last warp along x (`first`, `last`) with rows from y on, in a block that
  // starts at plane z and walks by `step`.
  __device__ __forceinline__ RowEnd(const SweepStores<T>& stores, const TileArgs<T>& a, const Box& chunk,
                                    bool first, bool last, int y, int z, int step)
      : is_first_(threadIdx.x % warp_size == 0) {
    const bool is_last = threadIdx.x % warp_size == warp_size - 1;
    const Face f = is_first_ ? Face::x_min : Face::x_max;
    if (!(is_first_ && first) && !(is_last && last)) return;
    if (!stores.is_at(f, a.in.extent, chunk)) return;
    to_ = stores.place(f, y, z);
    step_ = step * stores.faces.at(f).pitch;
  }
  // Called in each plane for each row r. The face is at the end of a whole pack.
  __device__ __forceinline__ void store(int r, const Pack<T>& made) const {
    if (to_) to_[r] = is_first_ ? made.v[0] : made.v[Pack<T>::cells - 1];
  }
  __device__ __forceinline__ void advance() {
    if (to_) to_ += step_;
  }

 private:
  bool is_first_;
  T* to_ = nullptr;
  Index step_ = 0;
};

// The cells of a thread block at faces across y: a pack per thread and plane. It is read back when the next
// plane has arrived, and stored after that plane's rows: no load may be in flight when a wait begins.
template <class T>
class FaceItem {
 public:
  // The tile has `packs` along x; the block starts at plane z and walks by `step`.
  __device__ __forceinline__ FaceItem(const SweepStores<T>& stores, const TileArgs<T>& a, const Box& chunk,
                                      int packs, int z, int step) {
    // Not the first two warps: a delay of the thread that requests planes delays its block.
    int i = static_cast<int>(threadIdx.x) - others;
    for (const Face f : {Face::y_min, Face::y_max}) {
      if (0 <= i && i < packs && stores.is_at(f, a.in.extent, chunk)) take(stores, a, chunk, f, i, z, step);
      i -= packs;
    }
  }

  __device__ __forceinline__ void load() {
    if (count_ == 0) return;
    if (count_ == cells) {
      held_ = Pack<T>::load(from_);
    } else {
#pragma unroll
      for (int i = 0; i < cells - 1; ++i) {
        if (i < count_) held_.v[i] = from_[i];
      }
    }
    from_ += from_step_;
  }
  __device__ __forceinline__ void store() {
    if (count_ == 0) return;
    if (count_ == cells) {
      held_.store(to_);
    } else {
#pragma unroll
      for (int i = 0; i < cells - 1; ++i) {
        if (i < count_) to_[i] = held_.v[i];
      }
    }
    to_ += to_step_;
  }

 private:
  static constexpr int cells = Pack<T>::cells, others = 2 * warp_size;

  __device__ __forceinline__ void take(const SweepStores<T>& stores, const TileArgs<T>& a, const Box& chunk,
                                       Face f, int i, int z, int step) {
    const int last_x = static_cast<int>(a.in.extent.x) - 1, last_y = static_cast<int>(a.in.extent.y) - 1;
    const int x = static_cast<int>(chunk.lo.x) + i * cells, y = is_max(f) ? last_y : 0;
    if (x > last_x) return;
    count_ = min(cells, last_x + 1 - x);
    from_ = &a.out(x, y, z);
    to_ = stores.place(f, x, z);
    from_step_ = step * a.out.pitch_z;
    to_step_ = step * stores.faces.at(f).pitch;
  }

  int count_ = 0;  // cells of this thread's pack
  const T* from_ = nullptr;
  T* to_ = nullptr;
  Index from_step_ = 0, to_step_ = 0;
  Pack<T> held_;
};

// All stores of a lane of `tma_pipeline` to neighbours, plane by plane; by default none.
template <class T, int rows, class Stores>
struct HaloStores {
  template <class... Arguments>
  __device__ __forceinline__ explicit HaloStores(const Arguments&...) {}
  template <class... Arguments>
  __device__ __forceinline__ void load(const Arguments&...) {}
  __device__ __forceinline__ void store_row(int, const Pack<T>&) {}
  template <class... Arguments>
  __device__ __forceinline__ void store(const Arguments&...) {}
  template <class... Arguments>
  __device__ __forceinline__ void finish(const Arguments&...) {}
};

template <class T, int rows>
class HaloStores<T, rows, SweepStores<T>> {
 public:
  // For a lane of warp `warp_x` of `warps_x` along x; (x, y): its first cell.
  __device__ __forceinline__ HaloStores(const SweepStores<T>& stores, const TileArgs<T>& a, const Box& chunk,
                                        const PlaneWalk& walk, int x, int y, int warp_x, int warps_x)
      : stores_(stores),
        a_(a),
        chunk_(chunk),
        walk_(walk),
        x_(x),
        y_(y),
        stores_first_(stores.is_at(walk.face_prev(), a.in.extent, chunk)),
        item_(stores, a, chunk, warps_x * warp_size, walk.first, walk.step),
        row_end_(stores, a, chunk, warp_x == 0, warp_x == warps_x - 1, y, walk.first, walk.step) {}

  // Before plane n is updated: reads back results of plane n - 1, and one row of the first plane.
  __device__ __forceinline__ void load(int n, const TileWarp<T, rows>& mine) {
    if (n > 1) item_.load();
    if (stores_first_ && 1 < n && n <= rows + 1 && mine.cells_of(n - 2) != 0)
      first_ = Pack<T>::load(&a_.out(x_, y_ + n - 2, walk_.first));
  }
  __device__ __forceinline__ void store_row(int r, const Pack<T>& made) { row_end_.store(r, made); }
  __device__ __forceinline__ void store(int n, const TileWarp<T, rows>& mine) {
    row_end_.advance();
    if (n > 1) item_.store();
    if (stores_first_ && 1 < n && n <= rows + 1)  // a row of the first plane with each later plane
      stores_.store_pack(walk_.face_prev(), first_, mine.cells_of(n - 2), x_, y_ + n - 2);
  }
  __device__ __forceinline__ void finish(const TileWarp<T, rows>& mine) {
    item_.load();
    item_.store();
    if (walk_.count <= rows && stores_first_) store_plane(walk_.face_prev(), mine, walk_.first);
    if (stores_.is_at(walk_.face_next(), a_.in.extent, chunk_))
      store_plane(walk_.face_next(), mine, walk_.plane(walk_.count));
  }

 private:
  // Stores plane z, which is at a face across z.
  __device__ __forceinline__ void store_plane(Face f, const TileWarp<T, rows>& mine, int z) const {
    Pack<T> value[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if (mine.cells_of(r) != 0) value[r] = Pack<T>::load(&a_.out(x_, y_ + r, z));
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if (mine.cells_of(r) != 0) stores_.store_pack(f, value[r], mine.cells_of(r), x_, y_ + r);
    }
  }

  const SweepStores<T>& stores_;
  const TileArgs<T>& a_;
  const Box& chunk_;
  const PlaneWalk& walk_;
  int x_, y_;
  bool stores_first_;
  Pack<T> first_;
  FaceItem<T> item_;
  RowEnd<T> row_end_;
};

}  // namespace isotherm::cuda
