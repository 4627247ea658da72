// Which cells are exchanged, with whom, what of it is hidden, and what is said of it.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/box.hpp"
#include "halo/gpu_aware_mpi.hpp"
#include "halo/hiding.hpp"
#include "halo/messages.hpp"
#include "output/records/run_record.hpp"
#include "support/error_text.hpp"

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
  // Of the 26 directions the 9 beyond the boundary at x_min send nothing, nor the two back to this rank
  // across y.
  EXPECT_EQ(all.messages, 15);
  EXPECT_EQ(all.cells, (5 + 3) * (12 + 6) * (7 + 6) - 5 * (12 + 6) * 7);
  EXPECT_EQ(exchange_traffic(Decomposition({8, 8, 8}, {1, 1, 1}, {true, true, true}), 0, 2).messages, 0);
}

TEST(HaloRegions, GhostsAndTheEdgeThatFillsThemAreEquallyLarge) {
  const Int3 extent{5, 6, 7};
  for (const Direction& d : all_directions()) {
    for (const int ghosts : {1, 2, 5}) {
      EXPECT_EQ(ghost_box(extent, ghosts, d).extent(), edge_box(extent, ghosts, d).extent());
    }
  }
  EXPECT_EQ(ghost_box(extent, 2, {-1, 0, 1}), (Box{{-2, 0, 7}, {0, 6, 9}}));
  EXPECT_EQ(edge_box(extent, 2, {-1, 0, 1}), (Box{{0, 0, 5}, {2, 6, 7}}));
}

using Sides = std::array<bool, face_count>;

Sides sides_of(int bits) {
  Sides sides;
  for (int f = 0; f < face_count; ++f) sides[static_cast<std::size_t>(f)] = bits >> f & 1;
  return sides;
}

TEST(HaloRegions, ABlockIsWidenedWhereItHasNeighbours) {
  EXPECT_EQ(widened_block({5, 6, 7}, {}, 3), (Box{{0, 0, 0}, {5, 6, 7}}));
  EXPECT_EQ(widened_block({5, 6, 7}, sides_of(0b111111), 2), (Box{{-2, -2, -2}, {7, 8, 9}}));
  EXPECT_EQ(widened_block({5, 6, 7}, sides_of(0b100101), 1), (Box{{-1, -1, 0}, {5, 6, 8}}));
  EXPECT_EQ(widened_block({5, 6, 7}, sides_of(0b111111), 0), (Box{{0, 0, 0}, {5, 6, 7}}));
}

// x: two ranks between boundaries; y: this rank alone, periodic; z: three ranks in a ring.
TEST(HaloRegions, SidesTellWallsFromOwnCellsFromOtherRanks) {
  const Decomposition d({8, 8, 9}, {2, 1, 3}, {false, true, true});
  const GhostSides first = ghost_sides(d, 0), second = ghost_sides(d, 1);
  EXPECT_EQ(first.filled, sides_of(0b111110));
  EXPECT_EQ(first.remote, sides_of(0b110010));
  EXPECT_EQ(second.filled, sides_of(0b111101));
  EXPECT_EQ(second.remote, sides_of(0b110001));
}

// The same of a widened block, whose region reaches into ghosts of other ranks.
TEST(HaloRegions, PartsOfAWidenedBlockTileIt) {
  const Int3 extent{5, 4, 3};
  for (int bits = 0; bits < 64; ++bits) {
    const Sides remote = sides_of(bits);
    for (const int own : {0, 0b001100}) {  // periodic along y by itself
      const Box region = widened_block(extent, sides_of(bits | own), 2);
      const Box interior = interior_box(extent, region, remote, 1);
      const std::vector<Box> rest = boxes_around(region, interior);
      Index cells = interior.cells();
      for (const Box& box : rest) cells += box.cells();
      EXPECT_EQ(cells, region.cells());
      for (int f = 0; f < face_count; ++f) {
        const int axis = f / 2;
        const Index gap = f % 2 == 1 ? extent[axis] - interior.hi[axis] : interior.lo[axis];
        EXPECT_EQ(gap, remote[static_cast<std::size_t>(f)] ? 1 : own >> f & 1 ? -2 : 0);
      }
      for (std::size_t i = 0; i < rest.size(); ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
          const Box &a = rest[i], &b = j < i ? rest[j] : interior;
          const Box common{{std::max(a.lo.x, b.lo.x), std::max(a.lo.y, b.lo.y), std::max(a.lo.z, b.lo.z)},
                           {std::min(a.hi.x, b.hi.x), std::min(a.hi.y, b.hi.y), std::min(a.hi.z, b.hi.z)}};
          EXPECT_EQ(common.cells(), 0);
        }
      }
    }
  }
}

// Every cell of the block lies in exactly one part, and in the interior only if `reach` cells further lie no
// remote ghosts.
TEST(HaloRegions, InteriorAndShellsTileTheBlock) {
  for (int bits = 0; bits < 64; ++bits) {
    const Sides remote = sides_of(bits);
    for (const Int3 extent : {Int3{1, 1, 1}, Int3{2, 1, 3}, Int3{1, 4, 2}, Int3{5, 4, 3}, Int3{9, 8, 10}}) {
      for (const Index reach : {1, 2, 4}) {
        const Box interior = interior_box(extent, {{0, 0, 0}, extent}, remote, reach);
        const std::vector<Box> rest = boxes_around({{0, 0, 0}, extent}, interior);
        for (const Box& box : rest) EXPECT_FALSE(box.empty());
        for (Index z = 0; z < extent.z; ++z) {
          for (Index y = 0; y < extent.y; ++y) {
            for (Index x = 0; x < extent.x; ++x) {
              const Int3 cell{x, y, z};
              bool inside = true;
              for (int axis = 0; axis < 3; ++axis) {
                if (remote[static_cast<std::size_t>(2 * axis)] && cell[axis] < reach) inside = false;
                if (remote[static_cast<std::size_t>(2 * axis + 1)] && cell[axis] >= extent[axis] - reach) {
                  inside = false;
                }
              }
              int holders = 0;
              for (const Box& box : rest) holders += box.contains(cell);
              ASSERT_EQ(interior.contains(cell), inside);
              ASSERT_EQ(holders, inside ? 0 : 1);
            }
          }
        }
      }
    }
  }
}

TEST(HaloRegions, TheRestIsPlanesThenRowsThenWhatIsBeside) {
  const Box block{{0, 0, 0}, {8, 7, 6}}, interior = interior_box({8, 7, 6}, block, sides_of(0b111111), 1);
  EXPECT_EQ(interior, (Box{{1, 1, 1}, {7, 6, 5}}));
  EXPECT_EQ(boxes_around(block, interior), (std::vector<Box>{{{0, 0, 0}, {8, 7, 1}},
                                                             {{0, 0, 5}, {8, 7, 6}},
                                                             {{0, 0, 1}, {8, 1, 5}},
                                                             {{0, 6, 1}, {8, 7, 5}},
                                                             {{0, 1, 1}, {1, 6, 5}},
                                                             {{7, 1, 1}, {8, 6, 5}}}));
  EXPECT_EQ(boxes_around(block, {}), std::vector<Box>{block});
  EXPECT_TRUE(boxes_around(block, block).empty());
}

HaloLink link(int peer, std::vector<Direction> directions, std::string transport, double seconds) {
  return {peer,
          std::move(directions),
          2'000'000,
          transport,
          {{"peer", transport == "peer" ? "" : "not on one host", transport == "peer" ? seconds : 0, 0},
           {"host", "", transport == "host" ? seconds : 1, 5e-6}}};
}

TEST(HaloRecord, NamesThePathOfEveryPairWhereTheyAreFew) {
  const HaloRecord record{
      {{0, link(1, {{1, 0, 0}}, "host", 1e-3)}, {0, link(2, {{0, 1, 0}, {0, -1, 0}}, "peer", 1e-5)}}, {}};
  EXPECT_EQ(transports_in_use(record), "host, peer");
  const std::vector<std::string> lines = halo_lines(record);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "ranks 0-1 x+ by host: 1.91 MiB each way in 1000.0 us: 2.00 GB/s, latency 5.0 us");
  EXPECT_EQ(lines[1], "ranks 0-2 y+ y- by peer: 1.91 MiB each way in 10.0 us: 200.00 GB/s, latency 0.0 us");
}

TEST(HaloRecord, SaysTheMedianOfPairsOfOneKindWhereTheyAreMany) {
  HaloRecord record;
  for (int i = 0; i < 31; ++i) {
    record.pairs.push_back({i, link(i + 1, {{0, 0, 1}}, "host", i == 0 ? 1.0 : i < 16 ? 1e-3 : 2e-3)});
  }
  EXPECT_EQ(halo_lines(record),
            std::vector<std::string>{
                "z+ by host (31 pairs): 1.91 MiB each way in 2000.0 us: 1.00 GB/s, latency 5.0 us"});
}

TEST(HaloRecord, NothingToSayWithoutNeighbours) {
  EXPECT_EQ(transports_in_use({}), "none");
  EXPECT_TRUE(halo_lines({}).empty());
}

TEST(HaloRecord, JsonHasWhatWasTriedAndWhyItWasNotTaken) {
  const nlohmann::ordered_json json =
      to_json_object(HaloRecord{{{3, link(7, {{-1, 0, 1}}, "host", 1e-3)}}, {}});
  const auto& pair = json["links"][0];
  EXPECT_EQ(pair["rank"], 3);
  EXPECT_EQ(pair["peer"], 7);
  EXPECT_EQ(pair["directions"][0], "x-z+");
  EXPECT_EQ(pair["bandwidth_bytes_per_s"], 2e9);
  EXPECT_EQ(pair["trials"][0]["why_not"], "not on one host");
  EXPECT_TRUE(pair["trials"][0]["exchange_s"].is_null());
  EXPECT_EQ(pair["trials"][1]["exchange_s"], 1e-3);
}

TEST(HaloRecord, SaysWhatIsHiddenWhereItWasMeasured) {
  HaloRecord record{{{0, link(1, {{1, 0, 0}}, "host", 1e-3)}}, HaloCost{40e-6, 2e-6}};
  EXPECT_EQ(halo_lines(record).back(), "95.0 % hidden: of an exchange of 40.0 us, 2.0 us add to a step");
  nlohmann::ordered_json json = to_json_object(record);
  EXPECT_DOUBLE_EQ(json["hidden_percent"], 95);
  EXPECT_EQ(json["exchange_s"], 40e-6);
  EXPECT_EQ(json["exposed_s"], 2e-6);
  record.cost.reset();
  EXPECT_EQ(halo_lines(record).size(), 1u);
  json = to_json_object(record);
  for (const char* key : {"hidden_percent", "exchange_s", "exposed_s"})
    EXPECT_TRUE(json[key].is_null()) << key;
}

// What of an exchange is hidden: the arithmetic.

TEST(Hiding, IsWhatAStepDoesNotTakeBeyondItsSweep) {
  const StepSeconds sample{10e-6, 100e-6, 102e-6};
  const HaloCost cost = halo_cost(std::array{sample});
  EXPECT_DOUBLE_EQ(cost.exchange, 10e-6);
  EXPECT_NEAR(cost.exposed, 2e-6, 1e-15);
  EXPECT_NEAR(*cost.hidden_share(), 0.8, 1e-9);
}

TEST(Hiding, DifferencesAreTakenWithinASample) {
  // The device slows down: medians of the spans, subtracted, would leave 52.
  const std::array samples{StepSeconds{10, 100, 102}, StepSeconds{11, 150, 152}, StepSeconds{12, 200, 250}};
  const HaloCost cost = halo_cost(samples);
  EXPECT_EQ(cost.exchange, 11);
  EXPECT_EQ(cost.exposed, 2);
}

TEST(Hiding, IsNeitherLessThanNothingNorMoreThanAll) {
  EXPECT_EQ(halo_cost(std::array{StepSeconds{10, 100, 99}}).exposed, 0);
  EXPECT_EQ(halo_cost(std::array{StepSeconds{10, 100, 99}}).hidden_share(), 1);
  const HaloCost worse = halo_cost(std::array{StepSeconds{10, 100, 130}});
  EXPECT_EQ(worse.exposed, 30);
  EXPECT_EQ(worse.hidden_share(), 0);
}

TEST(Hiding, AnExchangeThatTakesNoTimeHasNoShare) {
  EXPECT_EQ(halo_cost(std::array{StepSeconds{0, 1, 1}}).hidden_share(), std::nullopt);
}

constexpr const char* open_mpi = "Open MPI v5.0.7";
constexpr const char* cray = "MPI VERSION    : CRAY MPICH version 8.1.28.29 (ANL base 3.4a2)";

TEST(GpuAwareMpi, TakesMpiAtItsWord) {
  EXPECT_EQ(judge_device_memory(true, open_mpi, ""), "");
  EXPECT_EQ(judge_device_memory(false, open_mpi, ""),
            "Open MPI v5.0.7 says that it was built without CUDA, or runs without it; use one that has it");
}

TEST(GpuAwareMpi, IsNeverAGuess) {
  expect_start(judge_device_memory(std::nullopt, "Some MPI 1.0", "1"),
               "Some MPI 1.0 has no query that says whether it takes device memory");
}

TEST(GpuAwareMpi, CrayMpichHasASwitch) {
  const std::string off = "the GPU support of " + std::string(cray) +
                          " is off; set MPICH_GPU_SUPPORT_ENABLED=1, in a program that was built with the "
                          "accelerator's module loaded";
  for (const char* value : {"", "0", "yes"}) {
    EXPECT_EQ(judge_device_memory(std::nullopt, cray, value), off);
    EXPECT_EQ(judge_device_memory(true, cray, value), off);
  }
  EXPECT_EQ(judge_device_memory(std::nullopt, cray, "1"), "");
  EXPECT_EQ(judge_device_memory(true, cray, "1"), "");
  EXPECT_NE(judge_device_memory(false, cray, "1"), "");
}

TEST(GpuAwareMpi, CannotBeAskedBeforeMpiHasStarted) {
  EXPECT_EQ(why_mpi_takes_no_device_memory(),
            "MPI can be asked only when it has started; isotherm check does, where the deck names this row");
}

}  // namespace
}  // namespace isotherm
