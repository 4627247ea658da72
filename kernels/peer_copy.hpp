// Halo messages that a GPU stores directly into the memory of other GPUs: into the ghosts of their fields or
// into buffers that they unpack.
#pragma once

#include <cstdint>

#include "core/field_view.hpp"
#include "core/stream.hpp"

namespace isotherm {

// State of GPUs that store into each other's memory: flags that order the stores, and the progress of each
// GPU. The caller allocates and maps this memory (CUDA IPC between ranks).

inline constexpr int most_peer_messages = 26;  // faces, edges and corners

// Written by one peer into this device's memory: numbers from 1 on that only increase.
struct PeerFlags {
  // Numbers of exchanges (PeerCopy).
  std::uint64_t free;    // the peer's ghosts and buffers may be overwritten with the edges of this exchange
  std::uint64_t stored;  // the peer's edges of this exchange are in the ghosts and buffers here
  // The number of sweeps that store their faces themselves (FaceStores in stencil.hpp).
  std::uint64_t swept;  // that the peer has completed; stored when it starts later work
};

// Progress of a device, in its memory, used by kernels only. Zeros at first.
struct PeerProgress {
  std::uint64_t exchange;  // the last exchange whose edges are stored
  unsigned entered, done;  // thread blocks of the current launch
  unsigned done_of[most_peer_messages];

  // Sweeps that have stored their faces. The current one counts once all its thread blocks have read its
  // number.
  std::uint64_t swept;
  unsigned blocks_in_sweep;
};

struct PeerLink {
  PeerFlags* here;   // written by the peer; zeros at first
  PeerFlags* there;  // in the peer's memory: its link to this device
};
struct PeerLinks {
  PeerLink link[most_peer_messages];
  int count;
  PeerProgress* progress;
  // In pinned host memory. If it is not 0, kernels that wait give up and end without a store to any field.
  std::uint32_t* abandoned;
};

// A box of cells that is copied to another of the same extent. Pitches in elements.
template <class T>
struct PeerMessage {
  const T* from;
  T* to;
  Index from_pitch_y, from_pitch_z, to_pitch_y, to_pitch_z;
  Int3 extent;
  int link;  // of the peer
  // `to` is contiguous, x fastest, in agreement with its pitches. It starts at a multiple of 16 bytes and is
  // padded to the next.
  bool to_is_dense = false;
};
template <class T>
struct PeerMessages {
  PeerMessage<T> message[most_peer_messages];
  int count;
};

// Rows of at least this many bytes are stored into the peer's ghosts. Shorter rows, mostly of x faces, are
// stored into dense buffers: cell by cell they would cross the link as many short packets.
inline constexpr Index least_direct_row = line_bytes;

// In each exchange both sides of a link call store() and then wait() on one stream. Arguments may stay the
// same, so both can be recorded into graphs.
template <class T>
struct PeerCopy {
  static const PeerCopy& on_gpu();  // throws as FaceCopy::on() without CUDA
  // Signals to the peers that the ghosts and buffers here are free: work queued before on this stream was the
  // last to use them. Then stores each message, at least one per link, once its peer has signalled the same.
  void (*store)(const PeerMessages<T>& messages, const PeerLinks& links, Stream stream);
  // Waits for the messages of all peers, and copies `arrivals`, if any, from buffers into this device's
  // ghosts. Work queued after it finds all messages in the ghosts.
  void (*wait)(const PeerMessages<T>& arrivals, const PeerLinks& links, Stream stream);
  // Waits for the stores of the peers' last sweep with FaceStores: needed before any work except the next
  // such sweep. Signals the end of this device's last such sweep to the peers, which call this too.
  void (*await_sweeps)(const PeerLinks& links, Stream stream);
  // Copies within this device's memory. No message is dense.
  void (*copy)(const PeerMessages<T>& messages, Stream stream);
};

}  // namespace isotherm
