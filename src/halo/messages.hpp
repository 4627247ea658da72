// What the ranks of a decomposition have to tell each other in a halo exchange. Arithmetic only.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/box.hpp"
#include "grid/decomposition.hpp"
#include "kernels/peer_copy.hpp"

namespace isotherm {

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

// What a rank sends to other ranks in an exchange of so many layers; it receives as much.
struct ExchangeTraffic {
  int messages = 0;
  Index cells = 0;
};
ExchangeTraffic exchange_traffic(const Decomposition& decomposition, int rank, int layers);
// What it copies from its own block in one.
Index copied_cells(const Decomposition& decomposition, int rank, int layers);

// Tags of a pair's messages: what one side sends in direction d the other receives from direction -d.
int send_tag(const HaloMessage& message);
int receive_tag(const HaloMessage& message);
inline constexpr int first_free_tag = 27;

// The ranks that these messages go to, each once, in order of their first message.
std::vector<int> peers_of(const std::vector<HaloMessage>& messages);

// Every pair of neighbours has its round, in which neither has another: by round, the peer of `rank`, or -1.
// The same on all ranks. A greedy edge colouring: at most 2 * 26 - 1 rounds.
std::vector<int> rounds_of_pairs(const Decomposition& decomposition, int rank, int ghosts);

// Halo messages whose rows are too short to be stored one by one, and their places in the receiver's buffer.

// Messages that travel dense, of one way between two ranks: by tag, where each begins [bytes]. Both ranks lay
// the receiver's buffer out alike.
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
