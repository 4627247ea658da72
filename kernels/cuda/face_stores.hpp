// Sweeps that store what they leave at the faces of the block into the neighbours' ghosts too, so that no
// exchange follows (FaceStores in stencil.hpp). For .cu files only.
//
//     block:  until every peer has ended its last sweep
//             planes of its chunk -> out, and what is at a face -> the peer's ghosts
//     the last block at the faces of a link:  swept -> the peer
//
// Why one word will do. Sweep k reads the ghosts of one field, which the peers' sweeps k - 1 have stored, and
// stores into those of the other, which these sweeps have read: that a peer has ended k - 1 says both.
//
// Why it ends. What a sweep waits for was launched before it, on another device, where nothing that waits for
// this one can hold its place. All blocks wait, not those at faces alone, so that they walk together: blocks
// that set out late stay late, and read again what the others have brought into L2 (pace.hpp).
//
// Memory order. As in peer_copy.cu: block barrier, fence, counter; counter, fence, flag. What the peers have
// stored is read by bulk copies of the thread that has seen the flag, behind a fence between the two ways.
#pragma once

#include "kernels/cuda/hopper.hpp"
#include "kernels/cuda/peer_flags.hpp"
#include "kernels/cuda/tile_update.hpp"

namespace isotherm::cuda {

template <class T>
struct SweepStores;

// Which of a lane's cells lie at faces that are stored.
template <class T>
class FaceCells {
 public:
  // Its first cell at (x, y), in a block of n.
  __device__ __forceinline__ FaceCells(const SweepStores<T>& stores, Int3 n, int x, int y) {
    is_first_row_ = y == 0 && stores.goes(Face::y_min);
    is_first_cell_ = x == 0 && stores.goes(Face::x_min);
    if (stores.goes(Face::y_max)) last_row_ = static_cast<int>(n.y) - 1 - y;
    if (stores.goes(Face::x_max)) last_cell_ = static_cast<int>(n.x) - 1 - x;
  }

  // Row r of a plane, across x and y: at (x, y, z), with a bit in `mine` for each cell of the block.
  __device__ __forceinline__ void store_row(const SweepStores<T>& stores, int r, const Pack<T>& value,
                                            unsigned mine, int x, int y, int z) const {
    if (r == 0 && is_first_row_) store(value, mine, stores.place(Face::y_min, x, z));
    if (r == last_row_) store(value, mine, stores.place(Face::y_max, x, z));
    if (is_first_cell_ && mine != 0) *stores.place(Face::x_min, y, z) = value.v[0];
#pragma unroll
    for (int i = 0; i < Pack<T>::cells; ++i) {
      if (i == last_cell_ && mine != 0) *stores.place(Face::x_max, y, z) = value.v[i];
    }
  }

  __device__ __forceinline__ static void store(const Pack<T>& value, unsigned mine, T* to) {
    if (mine == (1u << Pack<T>::cells) - 1) return value.store(to);
#pragma unroll
    for (int i = 0; i < Pack<T>::cells; ++i) {
      if ((mine >> i & 1u) != 0) to[i] = value.v[i];
    }
  }

 private:
  bool is_first_row_, is_first_cell_;
  int last_row_ = -1, last_cell_ = -1;
};

struct NoStores {
  static constexpr bool any = false;
  struct Cells {
    __device__ __forceinline__ Cells(const NoStores&, Int3, int, int) {}
    template <class T>
    __device__ __forceinline__ void store_row(const NoStores&, int, const Pack<T>&, unsigned, int, int,
                                              int) const {}
  };
};

// What a launch takes along.
template <class T>
struct SweepStores {
  static constexpr bool any = true;
  using Cells = FaceCells<T>;
  FaceStores<T> faces;
  unsigned arrivals[face_count];  // by link: of blocks at its faces, a block at both counts twice

  static SweepStores of(const FaceStores<T>& faces, const Columns& columns) {
    SweepStores stores{faces, {}};
    const Index blocks[] = {columns.count_y, columns.count_x, columns.count_x * columns.count_y};
    for (int f = 0; f < face_count; ++f) {
      const int axis = axis_of(static_cast<Face>(f));
      const Index chunks = axis == 2 ? 1 : columns.count_z;
      if (faces.faces[f].to)
        stores.arrivals[faces.faces[f].link] += static_cast<unsigned>(blocks[axis] * chunks);
    }
    return stores;
  }

  __device__ __forceinline__ bool goes(Face f) const { return faces.at(f).to != nullptr; }
  // Is the first or last layer of the chunk along the face's axis the block's, and does it go elsewhere?
  __device__ __forceinline__ bool is_at(Face f, Int3 n, const Box& chunk) const {
    const int axis = axis_of(f);
    return goes(f) && (is_max(f) ? chunk.hi[axis] >= n[axis] : chunk.lo[axis] == 0);
  }
  __device__ __forceinline__ T* place(Face f, int p, int q) const {
    return faces.at(f).to + p * faces.at(f).pitch_p + q * faces.at(f).pitch_q;
  }

  // By one thread of each block, before the first bulk copy. False where it was given up: the block ends
  // without a store.
  __device__ __forceinline__ bool wait_for_peers() const {
    const PeerLinks& links = faces.links;
    const std::uint64_t sweep = links.progress->swept;
    for (int l = 0; l < links.count; ++l) {
      if (!await(links.link[l].here->swept, sweep, *links.abandoned)) return false;
    }
    bulk_copies_see_loads();
    return true;
  }
  // By one thread of each block, whose stores the others of the block have joined.
  __device__ __forceinline__ void say_swept(Int3 n, const Box& chunk) const {
    const PeerLinks& links = faces.links;
    PeerProgress& progress = *links.progress;
    const std::uint64_t sweep = progress.swept + 1;
    for (int f = 0; f < face_count; ++f) {
      if (!is_at(static_cast<Face>(f), n, chunk)) continue;
      const int link = faces.faces[f].link;
      __threadfence_system();
      if (atomicAdd(&progress.faces_swept[link], 1u) + 1 != arrivals[link]) continue;
      progress.faces_swept[link] = 0;
      __threadfence_system();
      publish(links.link[link].there->swept, sweep);
    }
    __threadfence();
    if (atomicAdd(&progress.blocks_swept, 1u) + 1 == gridDim.x) {  // nobody else looks at them in this launch
      progress.blocks_swept = 0;
      progress.swept = sweep;
    }
  }
};

}  // namespace isotherm::cuda
