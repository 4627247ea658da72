// Which cells the ranks of a decomposition exchange, and where these lie in a subdomain. Arithmetic only.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/box.hpp"
#include "grid/decomposition.hpp"
#include "kernels/peer_copy.hpp"

namespace isotherm {

// The ghosts, `ghosts` layers deep, that lie in direction `d` of a block.
Box ghost_box(Int3 extent, int ghosts, Direction d);
// The block's own cells, as many, next to that side: what the neighbour in direction `d` needs. Neighbours
// share their extents along the axes that `d` does not cross, so the two boxes of a message agree.
Box edge_box(Int3 extent, int ghosts, Direction d);

// By Face, what lies beyond it.
struct GhostSides {
  std::array<bool, face_count>
      filled{};  // cells of a neighbour, which an exchange puts into the ghosts; no boundary
  std::array<bool, face_count> remote{};  // ... and the neighbour is another rank, not this one itself
};
GhostSides ghost_sides(const Decomposition& decomposition, int rank);

// The block and so many layers of ghosts beyond the faces with `sides`, edges and corners between them
// included.
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

// What a rank sends to other ranks in an exchange of so many layers, and receives; and what it copies within.
struct ExchangeTraffic {
  int messages = 0;
  Index cells = 0;
};
ExchangeTraffic exchange_traffic(const Decomposition& decomposition, int rank, int layers);
Index copied_cells(const Decomposition& decomposition, int rank, int layers);

// Tags of a pair's messages: what one side sends in direction d the other receives from direction -d.
int send_tag(const HaloMessage& message);
int receive_tag(const HaloMessage& message);
inline constexpr int first_free_tag = 27;

// The ranks that these messages go to, each once, in order of their first message.
std::vector<int> peers_of(const std::vector<HaloMessage>& messages);

// Every pair of neighbours has its round, in which neither has another: by round, the peer of `rank`, or -1.
// A greedy edge colouring: at most 2 * 26 - 1 rounds.
std::vector<int> rounds_of_pairs(const Decomposition& decomposition, int rank, int ghosts);

// Messages of one way between two ranks that travel dense, because their rows are too short to be stored one
// by one: by tag, where each begins in the receiver's buffer, in bytes.
struct DenseMessages {
  std::map<int, std::size_t> places;
  std::size_t bytes = 0;
};
template <class T>
DenseMessages dense_messages(std::span<const HaloMessage> messages, int peer,
                             int (*tag)(const HaloMessage&)) {
  DenseMessages dense;
  for (const HaloMessage& m : messages) {
    const bool is_short = m.edge.extent().x * Index{sizeof(T)} < least_direct_row;
    if (m.peer == peer && is_short) dense.places[tag(m)] = m.cells() * sizeof(T);
  }
  for (auto& [each_tag, place] : dense.places) {
    const std::size_t length = std::exchange(place, dense.bytes);
    dense.bytes += (length + line_bytes - 1) / line_bytes * line_bytes;
  }
  return dense;
}

}  // namespace isotherm
