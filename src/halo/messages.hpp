// Which cells the ranks of a decomposition exchange, and where these lie in a subdomain. Arithmetic only.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/box.hpp"
#include "grid/decomposition.hpp"

namespace isotherm {

// By Face, what lies beyond it.
struct GhostSides {
  std::array<bool, face_count>
      filled{};  // cells of a neighbour, which an exchange puts into the ghosts; no boundary
  std::array<bool, face_count> remote{};  // ... and the neighbour is another rank, not this one itself
};
GhostSides ghost_sides(const Decomposition& decomposition, int rank);

// The block and so many layers beyond the faces with `sides`, with the edges and corners between them.
Box widened_subdomain(Int3 extent, const std::array<bool, face_count>& sides, Index layers);

// The cells of `region`, the block or a widened one, that can be computed before remote ghosts arrive; may be
// empty. `reach`: how many cells away a computed cell reads; d for d sweeps of a time block.
Box interior_box(Int3 extent, Box region, const std::array<bool, face_count>& remote, Index reach);

// One message each way between this rank and `peer`: the cells of `edge` become the peer's `peer_ghosts`, and
// those of `peer_edge` become `ghosts`. All four are equally large; the peer's are in its own interior
// indices. Several messages may have one peer: along a periodic axis of two parts, and around corners.
struct HaloMessage {
  int peer;
  Direction direction;  // of the peer
  Box edge, ghosts;
  Box peer_edge, peer_ghosts;
  std::size_t cells() const { return static_cast<std::size_t>(edge.cells()); }
};

// A direction in which this rank is its own neighbour: periodic, one part.
struct LocalCopy {
  Box from, to;
};

// The first cell of each box of a message: the shortest that goes the same way.
HaloMessage one_cell_of(const HaloMessage& message);

// Six faces where ghosts == 1, edges and corners too where ghosts > 1, in one order on all ranks.
std::vector<HaloMessage> halo_messages(const Decomposition& decomposition, int rank, int ghosts);
std::vector<LocalCopy> local_copies(const Decomposition& decomposition, int rank, int ghosts);

// `blocks` of all ranks to all ranks, in the indices of a field that every rank has whole. Two blocks of
// different sizes take several messages as large as both hold, which overlap and whose `direction` is but a
// number. None where a block is empty, or twice as large as another.
std::vector<HaloMessage> gather_messages(std::span<const Box> blocks, int rank);

// That a rank sends to other ranks in an exchange of so many layers, and receives.
Index exchanged_cells(const Decomposition& decomposition, int rank, int layers);

// Tags of a pair's messages: what one side sends in direction d the other receives from direction -d.
int send_tag(const HaloMessage& message);
int receive_tag(const HaloMessage& message);
inline constexpr int first_free_tag = 27;

// The ranks that these messages go to, each once, in order of their first message.
std::vector<int> peers_of(std::span<const HaloMessage> messages);

// By round, the peer of `rank`, or -1: each pair has one. Greedy edge colouring: at most 2 * 26 - 1 rounds.
std::vector<int> rounds_of_pairs(const Decomposition& decomposition, int rank, int ghosts);

}  // namespace isotherm
