// Halo messages that a GPU stores straight into the memory of other GPUs, into the ghosts of their fields or
// into buffers that they unpack.
#pragma once

#include "core/device.hpp"
#include "core/field_view.hpp"
#include "kernels/peer_links.hpp"

namespace isotherm {

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

// What is stored cell by cell crosses the link as many short packets. From this row length on, in bytes, rows
// go straight into the peer's ghosts; shorter ones, those of faces across x above all, travel dense.
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
