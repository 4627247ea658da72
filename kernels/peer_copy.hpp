// Halo messages that a GPU stores straight into the memory of other GPUs, into the ghosts of their fields or
// into buffers that they unpack.
#pragma once

#include <cstdint>

#include "core/field_view.hpp"
#include "core/stream.hpp"

namespace isotherm {

// What GPUs that store into each other's memory share: flags by which they order the stores, and how far each
// of them has come. Whose memory it is, and how it is seen from here, is the caller's matter (CUDA IPC
// between ranks).

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

// A box of cells, and the box of equally many that becomes equal to it. Pitches in elements.
template <class T>
struct PeerMessage {
  const T* from;
  T* to;
  Index from_pitch_y, from_pitch_z, to_pitch_y, to_pitch_z;
  Int3 extent;
  int link;  // of the peer
  // The cells of `to` follow each other, x fastest, as its pitches say too, from a multiple of 16 bytes on
  // and with room up to the next.
  bool to_is_dense = false;
};
template <class T>
struct PeerMessages {
  PeerMessage<T> message[most_peer_messages];
  int count;
};

// From this row length on, in bytes, rows go straight into the peer's ghosts; shorter ones, those of faces
// across x above all, travel dense: cell by cell they would cross the link as many short packets.
inline constexpr Index least_direct_row = line_bytes;

// Once an exchange, store() and then wait() on one stream, by both sides of a link. Arguments may stay the
// same for ever, so both can be recorded into graphs.
template <class T>
struct PeerCopy {
  // Tells the peers that the ghosts and buffers here are free: work queued before on this stream was the last
  // to use them. Then stores each message as soon as its peer has said the same. Each link has one at least.
  void (*store)(const PeerMessages<T>& messages, const PeerLinks& links, Stream stream);
  // Unpacks what came in buffers, `arrivals` from there into this device's own ghosts: none of some links, or
  // none at all. Work queued behind it finds the messages of all peers in the ghosts.
  void (*wait)(const PeerMessages<T>& arrivals, const PeerLinks& links, Stream stream);
  // Work queued behind it finds what the peers' last sweep has stored, where that was one with FaceStores:
  // needed by all but the next of those. Tells the peers, which do it alike, the end of the last one here.
  void (*await_sweeps)(const PeerLinks& links, Stream stream);
  // Within this device's memory. No message is dense.
  void (*copy)(const PeerMessages<T>& messages, Stream stream);
};

template <class T>
const PeerCopy<T>& peer_copy();  // throws Error(unavailable) in a build without CUDA

}  // namespace isotherm
