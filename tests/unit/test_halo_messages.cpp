#include "halo/messages.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace isotherm {
namespace {

std::vector<Decomposition> decompositions(int ghosts) {
  std::vector<Decomposition> all;
  for (const Int3 grid : {Int3{1, 1, 1}, Int3{2, 1, 1}, Int3{3, 2, 1}, Int3{2, 2, 2}, Int3{3, 3, 3}}) {
    for (int bits = 0; bits < 8; ++bits) {
      all.emplace_back(Int3{17, 19, 23}, grid, std::array{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0},
                       ghosts);
    }
  }
  return all;
}

// What a message carries is the same cells of the whole grid at both ends.
TEST(HaloMessages, WhatOneSideSendsTheOtherExpects) {
  for (const int ghosts : {1, 3}) {
    for (const Decomposition& d : decompositions(ghosts)) {
      for (int rank = 0; rank < d.ranks(); ++rank) {
        for (const HaloMessage& m : halo_messages(d, rank, ghosts)) {
          int found = 0;
          for (const HaloMessage& theirs : halo_messages(d, m.peer, ghosts)) {
            if (theirs.peer != rank || receive_tag(theirs) != send_tag(m)) continue;
            ++found;
            EXPECT_EQ(theirs.ghosts, m.peer_ghosts);
            EXPECT_EQ(theirs.peer_edge, m.edge);
            EXPECT_EQ(theirs.edge, m.peer_edge);
            EXPECT_EQ(theirs.ghosts.extent(), m.edge.extent());
          }
          EXPECT_EQ(found, 1);
        }
      }
    }
  }
}

TEST(HaloMessages, TagsOfAPairDiffer) {
  const Decomposition ring({8, 8, 8}, {2, 2, 2}, {true, true, true}, 2);
  std::map<int, std::set<int>> tags;
  const std::vector<HaloMessage> messages = halo_messages(ring, 0, 2);
  for (const HaloMessage& m : messages) {
    EXPECT_TRUE(tags[m.peer].insert(send_tag(m)).second);
    EXPECT_LT(send_tag(m), first_free_tag);
  }
  EXPECT_EQ(messages.size(), 26u);
  EXPECT_EQ(peers_of(messages).size(), 7u);
}

TEST(HaloMessages, EveryPairOfNeighboursHasOneRoundAndNobodyTwoAtOnce) {
  for (const int ghosts : {1, 2}) {
    for (const Decomposition& d : decompositions(ghosts)) {
      std::vector<std::vector<int>> rounds;
      for (int rank = 0; rank < d.ranks(); ++rank) rounds.push_back(rounds_of_pairs(d, rank, ghosts));
      for (int rank = 0; rank < d.ranks(); ++rank) {
        ASSERT_EQ(rounds[rank].size(), rounds[0].size());
        std::multiset<int> met;
        for (std::size_t r = 0; r < rounds[rank].size(); ++r) {
          const int peer = rounds[rank][r];
          if (peer < 0) continue;
          EXPECT_EQ(rounds[peer][r], rank);
          met.insert(peer);
        }
        const std::vector<int> peers = peers_of(halo_messages(d, rank, ghosts));
        EXPECT_EQ(met, std::multiset<int>(peers.begin(), peers.end()));
      }
    }
  }
}

TEST(HaloMessages, OneCellOfEachBox) {
  const Decomposition d({9, 8, 7}, {1, 1, 2}, {}, 2);
  for (const HaloMessage& m : halo_messages(d, 1, 2)) {
    const HaloMessage cut = one_cell_of(m);
    EXPECT_EQ(cut.cells(), 1u);
    EXPECT_TRUE(cut.edge.lo == m.edge.lo && cut.ghosts.lo == m.ghosts.lo);
    EXPECT_TRUE(cut.peer_edge.lo == m.peer_edge.lo && cut.peer_ghosts.lo == m.peer_ghosts.lo);
  }
}

TEST(HaloMessages, TrafficIsThatOfFacesOrOfAllDirections) {
  const Decomposition d({10, 12, 21}, {2, 1, 3}, {false, true, true});  // blocks of 5 x 12 x 7
  const ExchangeTraffic faces = exchange_traffic(d, 0, 1), all = exchange_traffic(d, 0, 3);
  EXPECT_EQ(faces.messages, 3);
  EXPECT_EQ(faces.cells, 12 * 7 + 2 * 5 * 12);
  // Of the 26 directions the 9 beyond the wall at x_min send nothing, nor the two back to this rank across y.
  EXPECT_EQ(all.messages, 15);
  EXPECT_EQ(all.cells, (5 + 3) * (12 + 6) * (7 + 6) - 5 * (12 + 6) * 7);
  EXPECT_EQ(exchange_traffic(Decomposition({8, 8, 8}, {1, 1, 1}, {true, true, true}), 0, 2).messages, 0);
}

}  // namespace
}  // namespace isotherm
