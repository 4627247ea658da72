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
// What is at a face is read back, behind the rows of a plane: a choice among them would cost every row of
// every plane, whether it is at a face or not (TUNING.md).
//
// Memory order. As in peer_copy.cu: block barrier, fence, counter; counter, fence, flag. What the peers have
// stored is read by bulk copies of the thread that has seen the flag, behind a fence between the two ways.
#pragma once

#include "kernels/cuda/hopper.hpp"
#include "kernels/cuda/peer_flags.hpp"
#include "kernels/cuda/warp_update.hpp"

namespace isotherm::cuda {

struct NoStores {
  static constexpr bool any = false;
};

// What a launch takes along.
template <class T>
struct SweepStores {
  static constexpr bool any = true;
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

  // What this lane has left of plane z of `out`, from (x, y) on, `plane` its place there: cells at faces once
  // more, into the ghosts that they go to.
  template <int rows>
  __device__ __forceinline__ void store_plane(const TileArgs<T>& a, const Box& chunk,
                                              const TileWarp<T, rows>& mine, const T* plane, int x, int y,
                                              int z) const {
    const Int3 n = a.in.extent;
    const int last_x = static_cast<int>(n.x) - 1, last_y = static_cast<int>(n.y) - 1;
    if (is_at(Face::x_min, n, chunk)) store_column(Face::x_min, a, mine, plane, -x, y, z);
    if (is_at(Face::x_max, n, chunk)) store_column(Face::x_max, a, mine, plane, last_x - x, y, z);
    if (is_at(Face::y_min, n, chunk)) store_row(Face::y_min, a, mine, plane, -y, x, z);
    if (is_at(Face::y_max, n, chunk)) store_row(Face::y_max, a, mine, plane, last_y - y, x, z);
    if (goes(Face::z_min) && z == 0) store_rows(Face::z_min, a, mine, plane, x, y);
    if (goes(Face::z_max) && z == n.z - 1) store_rows(Face::z_max, a, mine, plane, x, y);
  }

 private:
  template <int rows>
  using Rows = TileWarp<T, rows>;
  static constexpr int cells = Pack<T>::cells;

  __device__ __forceinline__ T* place(Face f, int p, int q) const {
    return faces.at(f).to + p * faces.at(f).pitch_p + q * faces.at(f).pitch_q;
  }
  __device__ __forceinline__ static void store(const Pack<T>& value, unsigned mine, T* to) {
    if (mine == (1u << cells) - 1) return value.store(to);
#pragma unroll
    for (int i = 0; i < cells; ++i) {
      if ((mine >> i & 1u) != 0) to[i] = value.v[i];
    }
  }

  // Cell i of the pack in every row, if it is one of the pack's.
  template <int rows>
  __device__ __forceinline__ void store_column(Face f, const TileArgs<T>& a, const Rows<rows>& mine,
                                               const T* plane, int i, int y, int z) const {
    if (i < 0 || i >= cells) return;
    T value[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) value[r] = mine.has_row(r) ? plane[i + r * a.out.pitch_y] : T{0};
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if (mine.has_row(r)) *place(f, y + r, z) = value[r];
    }
  }
  // Row r, if it is one of the lane's.
  template <int rows>
  __device__ __forceinline__ void store_row(Face f, const TileArgs<T>& a, const Rows<rows>& mine,
                                            const T* plane, int r, int x, int z) const {
    if (r < 0 || r >= rows || mine.cells_of(r) == 0) return;
    store(Pack<T>::load(plane + r * a.out.pitch_y), mine.cells_of(r), place(f, x, z));
  }
  template <int rows>
  __device__ __forceinline__ void store_rows(Face f, const TileArgs<T>& a, const Rows<rows>& mine,
                                             const T* plane, int x, int y) const {
    Pack<T> value[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if (mine.cells_of(r) != 0) value[r] = Pack<T>::load(plane + r * a.out.pitch_y);
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if (mine.cells_of(r) != 0) store(value[r], mine.cells_of(r), place(f, x, y + r));
    }
  }
};

}  // namespace isotherm::cuda
