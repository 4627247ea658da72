// Which rank owns which cells and exchanges with which ranks; costs, hidden exchanges, messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "grid/decomposition.hpp"
#include "halo/hiding.hpp"
#include "halo/messages.hpp"
#include "halo/packed_transport.hpp"
#include "output/records/run_record.hpp"
#include "support/error_text.hpp"
#include "support/field_by_index.hpp"
#include "support/process_grid.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

using Periodic = std::array<bool, 3>;

Int3 chosen(Backend backend, int cell_bytes, Int3 cells, int ranks, Periodic periodic = {}, int ghosts = 1) {
  return process_grids_by_cost(cells, ranks, periodic, ghosts, ExchangeWeights::of(backend, cell_bytes))
      .front()
      .grid;
}

TEST(CheapestProcessGrid, IsTheCheapestOfAllThatFit) {
  Random random;
  const auto draw = [&](int lo, int hi) { return random.between(lo, hi); };
  for (int repeat = 0; repeat < 300; ++repeat) {
    const Int3 cells{draw(1, 9), draw(1, 9), draw(1, 9)};
    const Periodic periodic{random.coin(), random.coin(), random.coin()};
    const int ranks = draw(1, 24), ghosts = draw(1, 3);
    const ExchangeWeights w =
        ExchangeWeights::of(random.coin() ? Backend::cuda : Backend::host, 4 * draw(1, 2));
    std::vector<double> costs;
    for (const Int3 grid : all_process_grids(ranks)) {
      try {
        Decomposition(cells, grid, periodic, ghosts);
      } catch (const Error&) {
        continue;
      }
      costs.push_back(sweep_cost(cells, grid, periodic, ghosts, w).total());
    }
    SCOPED_TRACE(text(cells) + " on " + std::to_string(ranks) + " ranks, halo " + std::to_string(ghosts));
    if (costs.empty()) {
      EXPECT_THROW(process_grids_by_cost(cells, ranks, periodic, ghosts, w), Error);
      continue;
    }
    std::sort(costs.begin(), costs.end());
    const std::vector<EstimatedGrid> grids = process_grids_by_cost(cells, ranks, periodic, ghosts, w);
    ASSERT_EQ(grids.size(), costs.size());
    for (std::size_t i = 0; i < grids.size(); ++i) {
      EXPECT_NO_THROW(Decomposition(cells, grids[i].grid, periodic, ghosts));
      EXPECT_EQ(grids[i].grid.product(), ranks);
      EXPECT_DOUBLE_EQ(grids[i].cost.total(), costs[i]);
    }
  }
}

struct Chosen {
  Int3 cells;
  int ranks;
  Int3 grid;
  Periodic periodic = {};
  int ghosts = 1;
};
void expect_chosen(Backend backend, const std::vector<Chosen>& cases) {
  for (const Chosen& c : cases) {
    for (const int bytes : {4, 8})
      EXPECT_EQ(chosen(backend, bytes, c.cells, c.ranks, c.periodic, c.ghosts), c.grid)
          << text(c.cells) << " on " << c.ranks << ", " << bytes << " bytes";
  }
}

// x is cut only where y and z cannot be cut further.
TEST(CheapestProcessGrid, OfGpus) {
  const Int3 cube{1024, 1024, 1024};
  expect_chosen(Backend::cuda,
                {{cube, 1, {1, 1, 1}},
                 {cube, 2, {1, 2, 1}},  // a face across z would cost more
                 {cube, 4, {1, 2, 2}},
                 {cube, 8, {1, 4, 2}},             // least surface: 2x2x2
                 {{512, 512, 512}, 8, {1, 8, 1}},  // the number of messages counts
                 {{512, 512, 64}, 8, {1, 8, 1}},
                 {{512, 64, 512}, 8, {1, 1, 8}},
                 {{16384, 16, 16}, 8, {8, 1, 1}},  // rows are long enough to be cut, other axes are too short
                 {{64, 16384, 16384}, 8, {1, 4, 2}},
                 {{2048, 1, 1}, 7, {7, 1, 1}},
                 {cube, 7, {1, 1, 7}},  // seven parts of y are not whole tiles
                 // Two parts along a periodic axis cost two cuts, along another axis one.
                 {cube, 2, {1, 1, 2}, {false, true, false}},
                 {cube, 2, {1, 2, 1}, {true, true, true}},
                 // Four cells fill a sector, but ghosts that are swept next to the block need a tile.
                 {cube, 8, {1, 2, 4}, {}, 4}});
  EXPECT_EQ(chosen(Backend::cuda, 8, {Index{1} << 60, 1, 1}, 5), (Int3{5, 1, 1}));
}

TEST(CheapestProcessGrid, OfProcessors) {
  const Int3 cube{256, 256, 256};
  expect_chosen(Backend::host, {{cube, 2, {1, 1, 2}},
                                {cube, 4, {1, 2, 2}},
                                {cube, 8, {1, 2, 4}},
                                {{1000, 10, 10}, 8, {8, 1, 1}},
                                {cube, 2, {1, 1, 2}, {false, true, true}}});
  // Many ranks cut x too: cutting only y and z would leave thin subdomains.
  EXPECT_EQ(chosen(Backend::host, 8, {512, 512, 512}, 64), (Int3{2, 4, 8}));
  EXPECT_EQ(chosen(Backend::host, 8, {512, 512, 512}, 512), (Int3{2, 16, 16}));
  EXPECT_EQ(chosen(Backend::host, 8, {1 << 20, 1 << 20, 1 << 20}, 1000003),
            (Int3{1, 1, 1000003}));  // a prime
}

TEST(ProcessGridErrors, MoreRanksThanFit) {
  const auto error = [](Int3 cells, int ranks, Periodic periodic, int ghosts) {
    return deck_error([&] { chosen(Backend::host, 8, cells, ranks, periodic, ghosts); });
  };
  expect_start(error({8, 8, 8}, 1000, {}, 1), "no process grid of 1000 ranks fits 8x8x8 cells");
  expect_says(error({8, 8, 8}, 1000, {}, 1), "use 512 ranks, the most that fit");
  expect_says(error({8, 8, 8}, 511, {}, 1),
              "use 448 ranks, the next lower count that fits; the most are 512");
  expect_says(error({8, 4, 1}, 9, {}, 4), "use 2 ranks, the most that fit; or use a halo of at most 1 cell");
  expect_says(error({8, 8, 3}, 2, {false, false, true}, 4), "along z, or a halo of at most 3 cells");
  // The limit on the halo is that of this many ranks, not of one.
  expect_says(error({8, 8, 3}, 8, {false, false, true}, 4), "along z, or a halo of at most 2 cells");
}

// mpi/test_halo_exchange.cpp tests neighbours, directions and the contents of messages: it computes each
// ghost from its coordinates.

TEST(Decomposition, EveryCellBelongsToExactlyOneRank) {
  for (const Int3 grid : {Int3{1, 1, 1}, Int3{3, 1, 2}, Int3{2, 3, 4}, Int3{5, 2, 1}, Int3{1, 4, 3}}) {
    const Decomposition d({5, 7, 11}, grid, {false, true, false});
    std::vector<Index> sizes;
    for (int rank = 0; rank < d.ranks(); ++rank) sizes.push_back(d.subdomain(rank).cells());
    for_each_cell(d.cells(), [&](Int3 cell) {
      int holders = 0;
      for (int rank = 0; rank < d.ranks(); ++rank) holders += d.subdomain(rank).contains(cell);
      EXPECT_EQ(holders, 1);
    });
    EXPECT_EQ(d.smallest_subdomain(), *std::ranges::min_element(sizes));
    EXPECT_EQ(d.largest_subdomain(), *std::ranges::max_element(sizes));
  }
}

TEST(Decomposition, FirstBlocksTakeTheCellsLeftOver) {
  const Decomposition d({11, 4, 2}, {4, 1, 1}, {});
  const Index lo[] = {0, 3, 6, 9}, hi[] = {3, 6, 9, 11};
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(d.subdomain(rank), (Box{{lo[rank], 0, 0}, {hi[rank], 4, 2}}));
  }
}

TEST(Decomposition, XIsTheFastestAxisOfRanks) {
  const Decomposition d({4, 6, 8}, {2, 3, 4}, {});
  for (int rank = 0; rank < 24; ++rank)
    EXPECT_EQ(d.coordinates(rank), (Int3{rank % 2, rank / 2 % 3, rank / 6}));
}

TEST(Decomposition, BlocksOfMoreThan32BitsOfCells) {
  const Int3 cells{Index{1} << 20, Index{1} << 20, (Index{1} << 20) + 1};
  const Decomposition d(cells, {1, 1, 2}, {});
  EXPECT_EQ(d.subdomain(0).cells(), (Index{1} << 40) * ((Index{1} << 19) + 1));
  EXPECT_EQ(d.subdomain(1).hi, cells);
  EXPECT_EQ(d.smallest_subdomain(), Index{1} << 59);
}

std::string error_of(Int3 cells, Int3 grid, Periodic periodic = {}, int ghosts = 1) {
  return deck_error([&] { Decomposition(cells, grid, periodic, ghosts); });
}

TEST(DecompositionErrors, NameTheAxisAndWhatFits) {
  expect_start(
      error_of({8, 8, 3}, {1, 1, 4}),
      "process grid 1x1x4 leaves ranks without cells (axis z has 3 cells for 4 ranks); use at most 3");
  expect_start(error_of({1 << 20, 1 << 20, 1 << 20}, {1 << 20, 1 << 20, 1}),
               "process grid 1048576x1048576x1 is too large (its product passes 2^31 - 1)");
  expect_start(error_of({Index{1} << 31, Index{1} << 31, 1}, {1, 1, 1}),
               "grid of 2147483648x2147483648x1 cells is too large (their number passes 2^61)");
}

TEST(DecompositionErrors, BlocksThinnerThanTheHalo) {
  expect_start(error_of({8, 5, 8}, {1, 4, 1}, {}, 2),
               "subdomains along y are thinner than the halo (5 cells over 4 ranks leave 1 cell per "
               "subdomain, the halo is 2 cells wide); use at most 2 ranks along y, at least 8 cells along y, "
               "or a halo of at most 1 cell (solver.halo_width, and solver.time_block if given)");
  // A periodic axis of one part is its own neighbour, so the message must not suggest fewer ranks.
  const std::string alone =
      "subdomains along z are thinner than the halo (3 cells over 1 rank leave 3 cells per subdomain, the "
      "halo is 4 cells wide); use at least 4 cells along z, or a halo of at most 3 cells";
  expect_start(error_of({8, 8, 3}, {1, 1, 1}, {false, false, true}, 4), alone);
  expect_start(deck_error([] { chosen(Backend::host, 8, {8, 8, 3}, 1, {false, false, true}, 4); }), alone);
  // The limit on the halo is that of all axes, not only of the one in the message.
  expect_says(error_of({30, 8, 9}, {2, 2, 3}, {}, 5), "or a halo of at most 3 cells");
  EXPECT_EQ(Decomposition({30, 8, 9}, {2, 2, 3}, {}).max_halo_width(), 3);
  EXPECT_EQ(Decomposition({30, 8, 9}, {2, 1, 1}, {}).max_halo_width(), 15);
  EXPECT_EQ(Decomposition({30, 8, 9}, {1, 1, 1}, {false, true, false}).max_halo_width(), 8);
  EXPECT_EQ(Decomposition({30, 8, 9}, {1, 1, 1}, {}).max_halo_width(), std::nullopt);
  // One part between boundaries has no exchange: any thickness will do.
  EXPECT_EQ(chosen(Backend::host, 8, {8, 9, 1}, 4, {true, true, false}, 4), (Int3{2, 2, 1}));
  EXPECT_EQ(Decomposition({8, 8, 1}, {2, 2, 1}, {}, 4).smallest_subdomain(), 16);
}

TEST(GatherMessages, BringEveryBlockToEveryRank) {
  Random random;
  for (int i = 0; i < 100; ++i) {
    Int3 parts, cells;
    for (int axis = 0; axis < 3; ++axis) {
      parts[axis] = random.between<Index>(1, 3);
      cells[axis] = random.between<Index>(parts[axis], 4 * parts[axis]);
    }
    const Decomposition d(cells, parts, {});
    std::vector<Box> blocks;
    for (int rank = 0; rank < d.ranks(); ++rank) blocks.push_back(d.subdomain(rank));
    std::vector<std::vector<HaloMessage>> all;
    for (int rank = 0; rank < d.ranks(); ++rank) all.push_back(gather_messages(blocks, rank));
    for (int rank = 0; rank < d.ranks(); ++rank) {
      std::set<std::pair<int, int>> tags;
      std::vector<bool> known(static_cast<std::size_t>(cells.product()));
      const auto note = [&](Int3 cell) { known[index_of(cell, cells)] = true; };
      for_each_cell(blocks[rank], note);
      for (const HaloMessage& m : all[rank]) {
        EXPECT_TRUE(tags.insert({m.peer, send_tag(m)}).second);
        const bool sent = std::ranges::any_of(all[m.peer], [&](const HaloMessage& theirs) {
          return theirs.peer == rank && send_tag(theirs) == receive_tag(m) && theirs.edge == m.ghosts &&
                 theirs.ghosts == m.edge;
        });
        EXPECT_TRUE(sent) << text(cells) << " in " << text(parts);
        EXPECT_EQ(m.edge.extent(), m.ghosts.extent());
        for_each_cell(m.ghosts, note);
      }
      EXPECT_EQ(std::ranges::count(known, false), 0) << text(cells) << " in " << text(parts);
    }
  }
  EXPECT_TRUE(gather_messages(std::vector<Box>{{{}, {5, 1, 1}}, {{5, 0, 0}, {7, 1, 1}}}, 0).empty());
}

// In a round, a rank has one peer at most.
TEST(HaloMessages, EveryPairOfNeighboursHasOneRoundAndTagsThatDiffer) {
  for (const Int3 grid : {Int3{1, 1, 1}, Int3{2, 1, 1}, Int3{3, 2, 1}, Int3{2, 2, 2}, Int3{3, 3, 3}}) {
    for (int bits = 0; bits < 16; ++bits) {
      const int ghosts = 1 + bits / 8;
      const Decomposition d({17, 19, 23}, grid, {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0}, ghosts);
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
        const std::vector<HaloMessage> messages = halo_messages(d, rank, ghosts);
        const std::vector<int> peers = peers_of(messages);
        EXPECT_EQ(met, std::multiset<int>(peers.begin(), peers.end()));
        std::set<std::pair<int, int>> tags;
        for (const HaloMessage& m : messages) {
          EXPECT_TRUE(tags.emplace(m.peer, send_tag(m)).second);
          EXPECT_LT(send_tag(m), first_free_tag);
        }
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

using Sides = std::array<bool, face_count>;

Sides sides_of_bits(int bits) {
  Sides sides;
  for (int f = 0; f < face_count; ++f) sides[f] = bits >> f & 1;
  return sides;
}

// Every cell of the region is in exactly one part, and in the interior only if no remote ghosts are within
// `reach` cells. `own`: faces where the block is its own neighbour; the region extends into those ghosts.
TEST(HaloRegions, InteriorAndExteriorTileTheRegion) {
  for (int bits = 0; bits < 64; ++bits) {
    const Sides remote = sides_of_bits(bits);
    for (const Int3 n : {Int3{1, 1, 1}, Int3{2, 1, 3}, Int3{1, 4, 2}, Int3{5, 4, 3}, Int3{9, 8, 10}}) {
      for (const Index reach : {1, 2, 4}) {
        for (const auto& [layers, own] : {std::pair{0, 0}, {2, 0}, {2, 0b001100}}) {
          if (layers > 0 && reach > 1) continue;
          const Box region = widened_subdomain(n, sides_of_bits(bits | own), layers);
          const Box interior = interior_box(n, region, remote, reach);
          const std::vector<Box> rest = boxes_around(region, interior);
          for (const Box& box : rest) EXPECT_FALSE(box.empty());
          Index wrong = 0;
          for_each_cell(region, [&](Int3 cell) {
            bool inside = true;
            for (int f = 0; f < face_count; ++f) {
              const Index from_face = f % 2 ? n[f / 2] - 1 - cell[f / 2] : cell[f / 2];
              if (remote[f] && from_face < reach) inside = false;
            }
            Index holders = 0;
            for (const Box& box : rest) holders += box.contains(cell);
            wrong += interior.contains(cell) != inside || holders != (inside ? 0 : 1);
          });
          EXPECT_EQ(wrong, 0) << bits << " reach " << reach << " own " << own;
        }
      }
    }
  }
}

HaloLink link(int rank, Direction direction, double seconds) {
  return {rank,      rank + 1, {direction},
          2'000'000, "host",   {{"peer", "not on one host", 0, 0}, {"host", "", seconds, 5e-6}}};
}

TEST(HaloRecord, GivesTheMedianOfManyPairsOfOneKind) {
  HaloRecord record;
  for (int i = 0; i < 31; ++i)
    record.pairs.push_back(link(i, {0, 0, 1}, i == 0 ? 1.0 : i < 16 ? 1e-3 : 2e-3));
  EXPECT_EQ(halo_lines(record),
            std::vector<std::string>{
                "z+ by host (31 pairs): 1.91 MiB each way in 2000.0 us: 1.00 GB/s, latency 5.0 us"});
}

TEST(HaloRecord, JsonHasTheTrialsAndTheReasonsAgainstThem) {
  RunRecord record;
  record.halo.pairs = {link(3, {-1, 0, 1}, 1e-3)};
  const nlohmann::json pair = nlohmann::json::parse(to_json(record))["halo"]["links"][0];
  EXPECT_EQ(pair["directions"][0], "x-z+");
  EXPECT_EQ(pair["bandwidth_bytes_per_s"], 2e9);
  EXPECT_EQ(pair["trials"][0]["why_not"], "not on one host");
  EXPECT_TRUE(pair["trials"][0]["exchange_s"].is_null());
  EXPECT_EQ(pair["trials"][1]["exchange_s"], 1e-3);
}

TEST(Hiding, IsTheExchangeTimeThatDoesNotLengthenTheStep) {
  // The device slows down: differences of the medians would give 52.
  const HaloCost slowing =
      halo_cost(std::array{StepSeconds{10, 100, 102}, StepSeconds{11, 150, 152}, StepSeconds{12, 200, 250}});
  EXPECT_EQ(slowing.exchange, 11);
  EXPECT_EQ(slowing.exposed, 2);
  // The exposed time is between zero and the whole exchange; without exchange time there is no share.
  const auto of_one = [](double exchange, double sweep, double step) {
    return halo_cost(std::array{StepSeconds{exchange, sweep, step}});
  };
  EXPECT_DOUBLE_EQ(*of_one(10, 100, 102).hidden_share(), 0.8);
  EXPECT_EQ(of_one(10, 100, 99).exposed, 0);
  EXPECT_EQ(of_one(10, 100, 99).hidden_share(), 1);
  EXPECT_EQ(of_one(10, 100, 130).exposed, 30);
  EXPECT_EQ(of_one(10, 100, 130).hidden_share(), 0);
  EXPECT_EQ(of_one(0, 1, 1).hidden_share(), std::nullopt);
}

constexpr const char* open_mpi = "Open MPI v5.0.7";
constexpr const char* cray = "MPI VERSION    : CRAY MPICH version 8.1.28.29 (ANL base 3.4a2)";

// The statement of the MPI library decides. Cray MPICH may make none, and needs an environment variable.
TEST(GpuAwareMpi, FollowsFromTheStatementsOfMpi) {
  const std::string off =
      "the GPU support of " + std::string(cray) + " is off; set MPICH_GPU_SUPPORT_ENABLED=1";
  const struct {
    std::optional<bool> says;
    const char *version, *enabled;
    std::string problem;
  } cases[] = {
      {true, open_mpi, "", ""},
      {false, open_mpi, "",
       "Open MPI v5.0.7 says that it was built without CUDA, or runs without it; use one"},
      {{}, "Some MPI 1.0", "1", "Some MPI 1.0 has no query that says whether it takes device memory"},
      {{}, cray, "", off},
      {{}, cray, "0", off},
      {true, cray, "yes", off},
      {{}, cray, "1", ""},
      {true, cray, "1", ""},
      {false, cray, "1", cray},
  };
  for (const auto& c : cases) {
    const std::string judged = judge_device_memory(c.says, c.version, c.enabled);
    expect_start(judged, c.problem);
    EXPECT_EQ(judged.empty(), c.problem.empty()) << c.version << " " << c.enabled;
  }
}

// After any number of halvings, a rank keeps the coarse cells that were its own on the finer grid.
TEST(HalvedDecomposition, KeepsCellsWithTheirRank) {
  Random random;
  for (int repeat = 0; repeat < 100; ++repeat) {
    const Int3 cells{random.between(4, 40), random.between(4, 40), random.between(4, 40)};
    const Int3 parts{random.between(1, 3), random.between(1, 3), random.between(1, 3)};
    Decomposition fine(cells, parts, {true, false, true});
    for (int halvings = 0; halvings < 4; ++halvings) {
      const int axis = static_cast<int>(random.between(0, 2));
      const Decomposition coarse = fine.halved(axis);
      EXPECT_EQ(coarse.cells()[axis], (fine.cells()[axis] + 1) / 2);
      for (int rank = 0; rank < fine.ranks(); ++rank) {
        const Box finer = fine.subdomain(rank), box = coarse.subdomain(rank);
        for (int a = 0; a < 3; ++a) {
          const Index stride = a == axis ? 2 : 1;
          EXPECT_GE(box.lo[a] * stride, finer.lo[a]);
          EXPECT_LT((box.lo[a] - 1) * stride, finer.lo[a]);
          EXPECT_GE(box.hi[a] * stride, finer.hi[a]);
          EXPECT_LT((box.hi[a] - 1) * stride, finer.hi[a]);
          EXPECT_EQ(coarse.periodic()[a], a != 1 && coarse.cells()[a] > 1);
        }
      }
      fine = coarse;
    }
  }
}

TEST(GpuAwareMpi, CannotBeQueriedBeforeMpiHasStarted) {
  expect_start(why_mpi_takes_no_device_memory(), "MPI can be asked only when it has started; isotherm check");
}

}  // namespace
}  // namespace isotherm
