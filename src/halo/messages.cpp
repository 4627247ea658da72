#include "halo/messages.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

namespace isotherm {
namespace {

int tag(Direction d) { return (d[0] + 1) + 3 * (d[1] + 1) + 9 * (d[2] + 1); }

Direction opposite(Direction d) { return {-d[0], -d[1], -d[2]}; }

std::vector<Direction> directions(int ghosts) { return ghosts == 1 ? face_directions() : all_directions(); }

// The outer `ghosts` layers that the neighbour in direction `d` needs. Neighbours have the same extents along
// other axes, so the two boxes of a message agree.
Box edge_box(Int3 extent, int ghosts, Direction d) {
  Box box{{0, 0, 0}, extent};
  for (int axis = 0; axis < 3; ++axis) {
    if (d[axis] < 0) box.hi[axis] = ghosts;
    if (d[axis] > 0) box.lo[axis] = extent[axis] - ghosts;
  }
  return box;
}

Box ghost_box(Int3 extent, int ghosts, Direction d) {
  return edge_box(extent, ghosts, d).shifted({ghosts * d[0], ghosts * d[1], ghosts * d[2]});
}

// Swaps two blocks. Along each axis a message is as long as the smaller block: it covers the lower ends and,
// where sizes differ, a second one covers the upper ends.
void add_swap(std::vector<HaloMessage>& messages, int peer, Box mine, Box theirs, bool is_lower) {
  for (int number = 0; number < 8; ++number) {
    Box edge = mine, ghosts = theirs;
    Direction ends{};
    bool is_new = true;
    for (int axis = 0; axis < 3; ++axis) {
      const Index size = std::min(mine.extent()[axis], theirs.extent()[axis]);
      const bool upper = ((number >> axis) & 1) != 0;
      is_new = is_new && !(upper && mine.extent()[axis] == theirs.extent()[axis]);
      ends[axis] = upper ? is_lower ? 1 : -1 : 0;
      for (Box* box : {&edge, &ghosts})
        (upper ? box->lo : box->hi)[axis] = upper ? box->hi[axis] - size : box->lo[axis] + size;
    }
    if (is_new) messages.push_back({peer, ends, edge, ghosts, ghosts, edge});
  }
}

bool is_covered_twice(Box large, Box small) {
  for (int axis = 0; axis < 3; ++axis)
    if (large.extent()[axis] > 2 * small.extent()[axis]) return false;
  return !small.empty();
}

}  // namespace

GhostSides ghost_sides(const Decomposition& decomposition, int rank) {
  GhostSides sides;
  const std::vector<Direction> faces = face_directions();  // in the order of Face
  for (std::size_t f = 0; f < face_count; ++f) {
    const std::optional<int> neighbour = decomposition.neighbour(rank, faces[f]);
    sides.filled[f] = neighbour.has_value();
    sides.remote[f] = neighbour && *neighbour != rank;
  }
  return sides;
}

Box widened_subdomain(Int3 extent, const std::array<bool, face_count>& sides, Index layers) {
  Box box{{0, 0, 0}, extent};
  for (int axis = 0; axis < 3; ++axis) {
    if (sides[static_cast<int>(face(axis, false))]) box.lo[axis] -= layers;
    if (sides[static_cast<int>(face(axis, true))]) box.hi[axis] += layers;
  }
  return box;
}

Box interior_box(Int3 extent, Box region, const std::array<bool, face_count>& remote, Index reach) {
  Box interior = region;
  // The upper bound is not below the lower: a subdomain thinner than twice the reach has no interior.
  for (int axis = 0; axis < 3; ++axis) {
    const auto is_remote = [&](bool max) { return remote[static_cast<int>(face(axis, max))]; };
    if (is_remote(false)) interior.lo[axis] = std::min(extent[axis], reach);
    if (is_remote(true)) interior.hi[axis] = std::max(interior.lo[axis], extent[axis] - reach);
  }
  return interior;
}

std::vector<HaloMessage> halo_messages(const Decomposition& decomposition, int rank, int ghosts,
                                       bool to_itself) {
  const Int3 extent = decomposition.subdomain(rank).extent();
  std::vector<HaloMessage> messages;
  for (const Direction d : directions(ghosts)) {
    const std::optional<int> peer = decomposition.neighbour(rank, d);
    if (!peer || (*peer == rank) != to_itself) continue;
    const Int3 theirs = decomposition.subdomain(*peer).extent();
    messages.push_back({*peer, d, edge_box(extent, ghosts, d), ghost_box(extent, ghosts, d),
                        edge_box(theirs, ghosts, opposite(d)), ghost_box(theirs, ghosts, opposite(d))});
  }
  return messages;
}

std::vector<HaloMessage> gather_messages(std::span<const Box> blocks, int rank) {
  for (const Box& large : blocks)
    for (const Box& small : blocks)
      if (!is_covered_twice(large, small)) return {};
  std::vector<HaloMessage> messages;
  for (int peer = 0; peer < static_cast<int>(blocks.size()); ++peer)
    if (peer != rank) add_swap(messages, peer, blocks[rank], blocks[peer], rank < peer);
  return messages;
}

Index exchanged_cells(const Decomposition& decomposition, int rank, int layers) {
  Index cells = 0;
  for (const HaloMessage& m : halo_messages(decomposition, rank, layers)) cells += m.edge.cells();
  return cells;
}

HaloMessage one_cell_of(const HaloMessage& message) {
  HaloMessage cut = message;
  for (Box* box : {&cut.edge, &cut.ghosts, &cut.peer_edge, &cut.peer_ghosts})
    box->hi = box->lo + Int3{1, 1, 1};
  return cut;
}

int send_tag(const HaloMessage& message) { return tag(message.direction); }
int receive_tag(const HaloMessage& message) { return tag(opposite(message.direction)); }

std::vector<int> peers_of(std::span<const HaloMessage> messages) {
  std::vector<int> peers;
  for (const HaloMessage& m : messages) {
    if (std::find(peers.begin(), peers.end(), m.peer) == peers.end()) peers.push_back(m.peer);
  }
  return peers;
}

std::vector<int> rounds_of_pairs(const Decomposition& decomposition, int rank, int ghosts) {
  std::vector<std::uint64_t> taken(static_cast<std::size_t>(decomposition.ranks()));  // a bit per round
  std::vector<int> mine;
  int rounds = 0;
  for (int low = 0; low < decomposition.ranks(); ++low) {
    for (const int high : peers_of(halo_messages(decomposition, low, ghosts))) {
      if (high < low) continue;  // has its round already
      std::uint64_t &at_low = taken[low], &at_high = taken[high];
      const int round = std::countr_one(at_low | at_high);
      at_low |= std::uint64_t{1} << round;
      at_high |= std::uint64_t{1} << round;
      rounds = std::max(rounds, round + 1);
      if (low != rank && high != rank) continue;
      if (std::ssize(mine) <= round) mine.resize(static_cast<std::size_t>(round) + 1, -1);
      mine[round] = low == rank ? high : low;
    }
  }
  mine.resize(static_cast<std::size_t>(rounds), -1);
  return mine;
}

}  // namespace isotherm
