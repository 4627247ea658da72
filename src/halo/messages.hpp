// The cells that the ranks of a decomposition exchange, as boxes of a subdomain. Arithmetic only.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/box.hpp"
#include "grid/decomposition.hpp"

namespace isotherm {

// The kind of cells beyond each Face.
struct GhostSides {
  // Cells of a neighbour, which an exchange puts into the ghosts; no boundary.
  std::array<bool, face_count> filled{};
  std::array<bool, face_count> remote{};  // ... and the neighbour is another rank, not this one itself
};
GhostSides ghost_sides(const Decomposition& decomposition, int rank);

// The subdomain and `layers` layers beyond the faces in `sides`, with the edges and corners between them.
Box widened_subdomain(Int3 extent, const std::array<bool, face_count>& sides, Index layers);

// The cells of `region`, the subdomain or a widened one, that can be computed before remote ghosts arrive;
// may be empty. `reach`: the distance at which a computed cell reads; d for d sweeps of a time block.
Box interior_box(Int3 extent, Box region, const std::array<bool, face_count>& remote, Index reach);

// One message each way between this rank and `peer`: the cells of `edge` are copied to the peer's
// `peer_ghosts`, those of `peer_edge` to `ghosts`. All four have one size; the peer's are in its own interior
// indices. A peer may have several messages: along a periodic axis of two parts, and around corners.
struct HaloMessage {
  int peer;
  Direction direction;  // of the peer
  Box edge, ghosts;
  Box peer_edge, peer_ghosts;
  std::size_t cells() const { return static_cast<std::size_t>(edge.cells()); }
};

// The shortest message between the same boxes: the first cell of each.
HaloMessage one_cell_of(const HaloMessage& message);

// Six faces where ghosts == 1, edges and corners too where ghosts > 1, in one order on all ranks: the
// messages to other ranks or, in directions in which this rank is its own neighbour (periodic, one part), to
// itself.
std::vector<HaloMessage> halo_messages(const Decomposition& decomposition, int rank, int ghosts,
                                       bool to_itself = false);

// Sends the `blocks` of all ranks to all ranks, in indices of a field that every rank has whole. Two blocks
// of different sizes need several messages, each as large as both allow; they overlap, and their `direction`
// is only a number. None where a block is empty, or more than twice as large as another.
std::vector<HaloMessage> gather_messages(std::span<const Box> blocks, int rank);

// Cells that a rank sends to other ranks, and receives, in an exchange of `layers` layers.
Index exchanged_cells(const Decomposition& decomposition, int rank, int layers);

// Tags of a pair's messages. A message that is sent in direction d is received from direction -d.
int send_tag(const HaloMessage& message);
int receive_tag(const HaloMessage& message);
inline constexpr int first_free_tag = 27;

// The peers of these messages, each once, in order of their first message.
std::vector<int> peers_of(std::span<const HaloMessage> messages);

// The peer of `rank` in each round, or -1; each pair has one round. Greedy edge colouring: at most 51 rounds.
std::vector<int> rounds_of_pairs(const Decomposition& decomposition, int rank, int ghosts);

}  // namespace isotherm
