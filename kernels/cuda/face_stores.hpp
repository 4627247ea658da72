// Sweeps that store what they leave at the faces of the block into the neighbours' ghosts too, or across x
// into their columns, so that no exchange follows (FaceStores in stencil.hpp). For .cu files only.
//
//     block:  sweep k-1 has ended -> all peers, that the launch before was the last to store
//             until every peer has said the same
//             planes of its chunk -> out, and what is at a face -> the peer's ghosts or columns
//
// Why one number will do. Sweep k reads the ghosts of one field, which the peers' sweeps k - 1 have stored,
// and stores into those of the other, which these sweeps have read: that a peer has ended k - 1 says both.
//
// Why the next launch says it. A sweep that says its own end has a fence behind stores that are still on
// their way to another device, in each of its blocks and where nothing is left to hide it: 4 us of 80, and 6
// half way, where it breaks the schedule (TUNING.md). Between launches those stores arrive in any case.
//
// Why it ends. A block says it for all links before it waits for anyone, whatever the order in which the GPU
// starts blocks, however few fit on it. What it waits for is the start of a launch on another device, where
// nothing that waits for this one can hold its place, and which comes whatever becomes of this one: ranks
// take such sweeps alike. All blocks wait, not those at faces alone, so that they walk together: blocks that
// set out late stay late, and read again what the others have brought into L2 (pace.hpp).
//
// What is at a face is read back, beside the rows of the next plane: a choice among the rows, or an address
// more for each, would cost every row of every plane, whether it is at a face or not (TUNING.md).
//
// Memory order. What a launch has stored, its follower releases with the flag. What the peers have stored is
// read by bulk copies of a thread that joins those that have acquired the flags, behind a fence between the
// two ways.
#pragma once

#include "kernels/cuda/hopper.hpp"
#include "kernels/cuda/peer_flags.hpp"
#include "kernels/cuda/warp_update.hpp"

namespace isotherm::cuda {

struct NoStores {
  static constexpr bool any = false;
  __device__ __forceinline__ static bool is_down(Index chunk) { return chunk % 2 != 0; }
  struct Item {
    template <class... Arguments>
    __device__ __forceinline__ explicit Item(const Arguments&...) {}
  };
};

template <class T>
class FaceItem;

// What a launch takes along.
template <class T>
struct SweepStores {
  static constexpr bool any = true;
  using Item = FaceItem<T>;
  FaceStores<T> faces;
  bool first_is_down;  // the first chunk, and every other; else the second

  static SweepStores of(const FaceStores<T>& faces, const Columns& columns) {
    // What is stored at another device is on its way the longer, the earlier in the sweep it was made: where
    // it is the upper face alone that goes, its chunk is walked down.
    const bool lower = faces.at(Face::z_min).to, upper = faces.at(Face::z_max).to;
    return {faces, upper && !lower && columns.count_z % 2 != 0};
  }

  // Every other chunk is walked down, so that neighbours read the planes between them at one time.
  ISOTHERM_HOST_DEVICE bool is_down(Index chunk) const { return (chunk % 2 != 0) != first_is_down; }

  ISOTHERM_HOST_DEVICE bool goes(Face f) const { return faces.at(f).to != nullptr; }
  // Is the first or last layer of the chunk along the face's axis the block's, and does it go elsewhere?
  __device__ __forceinline__ bool is_at(Face f, Int3 n, const Box& chunk) const {
    const int axis = axis_of(f);
    return goes(f) && (is_max(f) ? chunk.hi[axis] >= n[axis] : chunk.lo[axis] == 0);
  }
  // Do the cells beside the chunk, beyond the lower or upper face across x, come in columns?
  __device__ __forceinline__ bool has_column(bool upper, Int3 n, const Box& chunk) const {
    return faces.columns[upper] && (upper ? chunk.hi.x >= n.x : chunk.lo.x == 0);
  }
  // From row y on, of the plane z or the one next to it that is the block's.
  __device__ __forceinline__ const T* column(bool upper, Int3 n, int y, int z) const {
    const Index plane = max(0, min(z, static_cast<int>(n.z) - 1));
    return faces.columns[upper] + y + plane * faces.column_pitch;
  }

  // By all threads of each block, before the first bulk copy. False where it was given up: the block ends
  // without a store.
  __device__ __forceinline__ bool meet_peers() const {
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

  // The pack at (x, y) of a face across z, of which `mine` says the cells.
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

// Of the cells that a block has at faces across x and y, in every plane those of one thread: a cell of a face
// across x, a pack of one across y. They are read back when the next plane is there, and stored behind its
// rows: the wait for a plane is one for every load on its way, too, so that none must be when it begins.
template <class T>
class FaceItem {
 public:
  // A tile of `packs` along x by `rows`, of a block whose first plane is z, going by `step`.
  __device__ __forceinline__ FaceItem(const SweepStores<T>& stores, const TileArgs<T>& a, const Box& chunk,
                                      int packs, int rows, int z, int step) {
    const Int3 n = a.in.extent;
    int i = static_cast<int>(threadIdx.x);
    for (const Face f : {Face::x_min, Face::x_max, Face::y_min, Face::y_max}) {
      const int items = axis_of(f) == 0 ? rows : packs;
      if (0 <= i && i < items && stores.is_at(f, n, chunk)) take(stores, a, chunk, f, i, z, step);
      i -= items;
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
  static constexpr int cells = Pack<T>::cells;

  __device__ __forceinline__ void take(const SweepStores<T>& stores, const TileArgs<T>& a, const Box& chunk,
                                       Face f, int i, int z, int step) {
    const int last_x = static_cast<int>(a.in.extent.x) - 1, last_y = static_cast<int>(a.in.extent.y) - 1;
    const bool across_x = axis_of(f) == 0;
    const int x = across_x ? (is_max(f) ? last_x : 0) : static_cast<int>(chunk.lo.x) + i * cells;
    const int y = across_x ? static_cast<int>(chunk.lo.y) + i : (is_max(f) ? last_y : 0);
    if (x > last_x || y > last_y) return;
    count_ = across_x ? 1 : min(cells, last_x + 1 - x);
    from_ = &a.out(x, y, z);
    to_ = stores.place(f, across_x ? y : x, z);
    from_step_ = step * a.out.pitch_z;
    to_step_ = step * stores.faces.at(f).pitch;
  }

  int count_ = 0;  // cells of the thread's
  const T* from_ = nullptr;
  T* to_ = nullptr;
  Index from_step_ = 0, to_step_ = 0;
  Pack<T> held_;
};

}  // namespace isotherm::cuda
