// What GPUs that store into each other's memory share: flags by which they order the stores, and how far each
// of them has come. Whose memory it is and how it came to be seen from here is the caller's (CUDA IPC between
// ranks).
#pragma once

#include <cstdint>

namespace isotherm {

inline constexpr int most_peer_messages = 26;  // faces, edges and corners

// What one peer writes into this device's memory: numbers from 1 on, which only grow.
struct PeerFlags {
  // Of exchanges (peer_copy.hpp).
  std::uint64_t free;    // the peer's ghosts and buffers may be overwritten with the edges of this exchange
  std::uint64_t stored;  // the peer's edges of this exchange are in the ghosts and buffers here
  // Of sweeps that store their faces themselves (FaceStores in stencil.hpp).
  std::uint64_t swept;  // so many of them the peer has ended, and begun the next or something else
};

// How far a device has come; in its memory, and the kernels' own. Zeros at first.
struct PeerProgress {
  std::uint64_t exchange;  // the last whose edges are stored
  unsigned entered, done;  // blocks of the launch under way
  unsigned done_of[most_peer_messages];

  // Sweeps that have stored their faces. That under way is one of them when all its blocks, which are
  // counted, know its number.
  std::uint64_t swept;
  unsigned blocks_in_sweep;
};

struct PeerLink {
  PeerFlags* here;   // written by the peer; zeros at first
  PeerFlags* there;  // in the peer's memory, of whose links this device is one
};
struct PeerLinks {
  PeerLink link[most_peer_messages];
  int count;
  PeerProgress* progress;
  // In pinned host memory. Once it is not 0, kernels that wait give up, and end without a store to any field.
  std::uint32_t* abandoned;
};

}  // namespace isotherm
