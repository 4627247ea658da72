// Which rank has which cells: blocks, neighbours, and the process grid that costs least.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "grid/decomposition.hpp"
#include "grid/process_grid.hpp"
#include "support/error_text.hpp"
#include "support/field_by_index.hpp"

namespace isotherm {
namespace {

using Periodic = std::array<bool, 3>;

std::string text(Int3 n) {
  return std::to_string(n.x) + "x" + std::to_string(n.y) + "x" + std::to_string(n.z);
}

// Every figure apart, so that each part of the cost is a count.
ExchangeWeights counting() {
  return {.cell_bytes = 8,
          .memory = 1,
          .sector = 32,
          .touches = 3,
          .wire = 1,
          .wire_sector = 16,
          .message = 1,
          .across_xz = 0.25,
          .columns = 4,
          .rows = 2};
}

double pieces(Index run, int cell_bytes, int sector) {
  return static_cast<double>((run * cell_bytes + sector - 1) / sector * sector);
}

// The rank of most cost, found by walking over the ghosts of all ranks in all directions, row by row.
SweepCost counted_cost(const Decomposition& d, int ghosts, const ExchangeWeights& w) {
  SweepCost most;
  for (int rank = 0; rank < d.ranks(); ++rank) {
    SweepCost cost;
    const Int3 n = d.block(rank).extent();
    for (const Direction& direction : ghosts > 1 ? all_directions() : face_directions()) {
      const auto neighbour = d.neighbour(rank, direction);
      if (!neighbour) continue;
      Int3 size;
      for (int axis = 0; axis < 3; ++axis)
        size[axis] = direction[static_cast<std::size_t>(axis)] ? ghosts : n[axis];
      for (Index row = 0; row < size.y * size.z; ++row) {
        cost.copies += w.touches * pieces(size.x, w.cell_bytes, w.sector);
        if (*neighbour == rank) continue;
        cost.copies += 2.0 * static_cast<double>(size.x) * w.cell_bytes;
        cost.wire += pieces(size.x, w.cell_bytes, w.wire_sector);
      }
      if (*neighbour == rank) continue;
      cost.messages += 1;
      const int axes = std::abs(direction[0]) + std::abs(direction[1]) + std::abs(direction[2]);
      if (axes == 1 && direction[1] == 0) cost.messages += w.across_xz;
    }
    Index tiles = 0;
    for (int layers = 0; layers < ghosts; ++layers) {
      Int3 swept = n;
      for (const Direction& direction : face_directions()) {
        for (int axis = 0; axis < 3; ++axis)
          if (direction[static_cast<std::size_t>(axis)] && d.neighbour(rank, direction))
            swept[axis] += layers;
      }
      for (Index y = 0; y < swept.y; y += w.rows)
        for (Index x = 0; x < swept.x; x += w.columns) tiles += swept.z;
    }
    cost.sweep = 2.0 * w.cell_bytes * static_cast<double>(tiles * w.columns * w.rows);
    most.sweep = std::max(most.sweep, cost.sweep / ghosts);
    most.copies = std::max(most.copies, cost.copies / ghosts);
    most.wire = std::max(most.wire, cost.wire / ghosts);
    most.messages = std::max(most.messages, cost.messages / ghosts);
  }
  return most;
}

TEST(SweepCost, IsThatOfTheSlowestRankCellByCell) {
  const ExchangeWeights w = counting();
  for (const Int3 grid : {Int3{1, 1, 1}, Int3{2, 1, 1}, Int3{1, 3, 1}, Int3{1, 2, 3}, Int3{3, 2, 4}}) {
    for (int bits = 0; bits < 8; ++bits) {
      const Periodic periodic{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
      for (const int ghosts : {1, 2, 3}) {
        const Int3 cells{grid.x * 9, grid.y * 5, grid.z * 3};  // blocks alike: the slowest has both extremes
        const SweepCost expected = counted_cost(Decomposition(cells, grid, periodic, ghosts), ghosts, w);
        const SweepCost found = sweep_cost(cells, grid, periodic, ghosts, w);
        SCOPED_TRACE(text(grid) + " periodic " + std::to_string(bits) + " ghosts " + std::to_string(ghosts));
        EXPECT_DOUBLE_EQ(found.sweep, expected.sweep);
        EXPECT_DOUBLE_EQ(found.copies, expected.copies);
        EXPECT_DOUBLE_EQ(found.wire, expected.wire);
        EXPECT_DOUBLE_EQ(found.messages, expected.messages);
      }
    }
  }
}

TEST(SweepCost, BlocksOfUnequalSizeCostWhatTheLargestDoes) {
  const ExchangeWeights w = counting();
  const double uneven = sweep_cost({9, 8, 10}, {1, 1, 3}, {}, 1, w).sweep;
  EXPECT_EQ(uneven, sweep_cost({9, 8, 12}, {1, 1, 3}, {}, 1, w).sweep);
  EXPECT_EQ(uneven, 2.0 * 8 * 12 * 8 * 4);
}

Int3 chosen(Backend backend, int cell_bytes, Int3 cells, int ranks, Periodic periodic = {}, int ghosts = 1) {
  return cheapest_process_grid(cells, ranks, periodic, ghosts, ExchangeWeights::of(backend, cell_bytes)).grid;
}

TEST(CheapestProcessGrid, IsTheCheapestOfAllThatFit) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto draw = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random); };
  for (int repeat = 0; repeat < 300; ++repeat) {
    const Int3 cells{draw(1, 9), draw(1, 9), draw(1, 9)};
    const Periodic periodic{draw(0, 1) == 1, draw(0, 1) == 1, draw(0, 1) == 1};
    const int ranks = draw(1, 24), ghosts = draw(1, 3);
    const ExchangeWeights w = ExchangeWeights::of(draw(0, 1) ? Backend::cuda : Backend::host, 4 * draw(1, 2));
    std::vector<double> costs;
    for (int px = 1; px <= ranks; ++px) {
      for (int py = 1; py <= ranks; ++py) {
        if (ranks % (px * py) != 0) continue;
        const Int3 grid{px, py, ranks / (px * py)};
        try {
          Decomposition(cells, grid, periodic, ghosts);
        } catch (const Error&) {
          continue;
        }
        costs.push_back(sweep_cost(cells, grid, periodic, ghosts, w).total());
      }
    }
    SCOPED_TRACE(text(cells) + " on " + std::to_string(ranks) + " ranks, halo " + std::to_string(ghosts));
    if (costs.empty()) {
      EXPECT_THROW(cheapest_process_grid(cells, ranks, periodic, ghosts, w), Error);
      continue;
    }
    std::sort(costs.begin(), costs.end());
    const ProcessGridChoice choice = cheapest_process_grid(cells, ranks, periodic, ghosts, w);
    EXPECT_NO_THROW(Decomposition(cells, choice.grid, periodic, ghosts));
    EXPECT_EQ(choice.grid.product(), ranks);
    EXPECT_DOUBLE_EQ(choice.cost.total(), costs[0]);
    ASSERT_EQ(choice.next.has_value(), costs.size() > 1);
    if (!choice.next) continue;
    EXPECT_FALSE(*choice.next == choice.grid);
    EXPECT_DOUBLE_EQ(choice.next_cost.total(), costs[1]);
  }
}

// GPUs: x is cut only where y and z give no more.
TEST(CheapestProcessGrid, OfGpus) {
  for (const int bytes : {4, 8}) {
    SCOPED_TRACE(bytes);
    const auto gpu = [&](Int3 cells, int ranks, Periodic periodic = {}, int ghosts = 1) {
      return chosen(Backend::cuda, bytes, cells, ranks, periodic, ghosts);
    };
    EXPECT_EQ(gpu({1024, 1024, 1024}, 1), (Int3{1, 1, 1}));
    EXPECT_EQ(gpu({1024, 1024, 1024}, 2), (Int3{1, 2, 1}));  // a face across z costs more
    EXPECT_EQ(gpu({1024, 1024, 1024}, 4), (Int3{1, 2, 2}));
    EXPECT_EQ(gpu({1024, 1024, 1024}, 8), (Int3{1, 4, 2}));  // least surface: 2x2x2
    EXPECT_EQ(gpu({512, 512, 512}, 8), (Int3{1, 8, 1}));     // messages count
    EXPECT_EQ(gpu({512, 512, 64}, 8), (Int3{1, 8, 1}));
    EXPECT_EQ(gpu({512, 64, 512}, 8), (Int3{1, 1, 8}));
    EXPECT_EQ(gpu({16384, 16, 16}, 8), (Int3{8, 1, 1}));  // rows long enough to be cut, nothing else is
    EXPECT_EQ(gpu({64, 16384, 16384}, 8), (Int3{1, 4, 2}));
    EXPECT_EQ(gpu({2048, 1, 1}, 7), (Int3{7, 1, 1}));
    EXPECT_EQ(gpu({1024, 1024, 1024}, 7), (Int3{1, 1, 7}));  // seven parts of y are not whole tiles
    // Two parts along a periodic axis cost two cuts, along another one.
    EXPECT_EQ(gpu({1024, 1024, 1024}, 2, {false, true, false}), (Int3{1, 1, 2}));
    EXPECT_EQ(gpu({1024, 1024, 1024}, 2, {true, true, true}), (Int3{1, 2, 1}));
    // Four cells fill a sector, but what is swept beside the block begins a tile of its own.
    EXPECT_EQ(gpu({1024, 1024, 1024}, 8, {}, 4), (Int3{1, 2, 4}));
  }
}

// A short piece of a row costs a sector whatever is in it: cutting x is dearer than the surface says, and the
// more so the smaller the cells.
TEST(CheapestProcessGrid, AnXCutCostsSectors) {
  const auto premium = [](Backend backend, int bytes) {
    const ExchangeWeights w = ExchangeWeights::of(backend, bytes);
    const SweepCost x = sweep_cost({512, 512, 512}, {2, 1, 1}, {}, 1, w);
    const SweepCost y = sweep_cost({512, 512, 512}, {1, 2, 1}, {}, 1, w);
    EXPECT_EQ(x.sweep, y.sweep);
    EXPECT_DOUBLE_EQ(x.messages - w.across_xz, y.messages);
    return (x.copies + x.wire) / (y.copies + y.wire);
  };
  EXPECT_GT(premium(Backend::cuda, 8), 2);
  EXPECT_GT(premium(Backend::cuda, 4), 1.5 * premium(Backend::cuda, 8));
  EXPECT_GT(premium(Backend::host, 8), 2);
  EXPECT_GT(premium(Backend::host, 4), 1.5 * premium(Backend::host, 8));
}

// Slices thinner than the tile that sweeps them leave lanes without a cell.
TEST(CheapestProcessGrid, ThinSlicesWasteTheirTile) {
  const ExchangeWeights w = ExchangeWeights::of(Backend::cuda, 8);
  const double whole = sweep_cost({64, 512, 512}, {1, 1, 1}, {}, 1, w).sweep;
  EXPECT_EQ(sweep_cost({64, 512, 512}, {1, 1, 4}, {}, 1, w).sweep, whole / 4);
  EXPECT_EQ(sweep_cost({64, 512, 512}, {4, 1, 1}, {}, 1, w).sweep, whole);
}

TEST(CheapestProcessGrid, OfProcessors) {
  for (const int bytes : {4, 8}) {
    SCOPED_TRACE(bytes);
    const auto cpu = [&](Int3 cells, int ranks, Periodic periodic = {}) {
      return chosen(Backend::host, bytes, cells, ranks, periodic);
    };
    EXPECT_EQ(cpu({256, 256, 256}, 2), (Int3{1, 1, 2}));
    EXPECT_EQ(cpu({256, 256, 256}, 4), (Int3{1, 2, 2}));
    EXPECT_EQ(cpu({256, 256, 256}, 8), (Int3{1, 2, 4}));
    EXPECT_EQ(cpu({1000, 10, 10}, 8), (Int3{8, 1, 1}));
    EXPECT_EQ(cpu({256, 256, 256}, 2, {false, true, true}), (Int3{1, 1, 2}));
  }
  // Many ranks cut x too: y and z alone would leave splinters.
  EXPECT_EQ(chosen(Backend::host, 8, {512, 512, 512}, 64), (Int3{2, 4, 8}));
  EXPECT_EQ(chosen(Backend::host, 8, {512, 512, 512}, 512), (Int3{2, 16, 16}));
}

TEST(CheapestProcessGrid, LargeCountsAndCellsBeyond32Bits) {
  const Int3 cells{1 << 20, 1 << 20, 1 << 20};
  EXPECT_EQ(chosen(Backend::host, 8, cells, 1000003), (Int3{1, 1, 1000003}));  // a prime
  EXPECT_EQ(chosen(Backend::cuda, 8, {Index{1} << 60, 1, 1}, 5), (Int3{5, 1, 1}));
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
  // The deepest halo is that of so many ranks, not of one.
  expect_says(error({8, 8, 3}, 8, {false, false, true}, 4), "along z, or a halo of at most 2 cells");
}

std::vector<Periodic> all_periodicities() {
  std::vector<Periodic> all;
  for (int bits = 0; bits < 8; ++bits) all.push_back({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0});
  return all;
}

// The rank of each cell, by asking every block; -1 where none or several hold it.
std::vector<int> owners(const Decomposition& d) {
  std::vector<int> result;
  for_each_cell({{0, 0, 0}, d.cells()}, [&](Int3 cell) {
    int owner = -1, holders = 0;
    for (int rank = 0; rank < d.ranks(); ++rank) {
      if (d.block(rank).contains(cell)) {
        owner = rank;
        ++holders;
      }
    }
    result.push_back(holders == 1 ? owner : -1);
  });
  return result;
}

TEST(Decomposition, EveryCellBelongsToExactlyOneRank) {
  for (const Int3 grid : {Int3{1, 1, 1}, Int3{3, 1, 2}, Int3{2, 3, 4}, Int3{5, 2, 1}, Int3{1, 4, 3}}) {
    const Decomposition d({5, 7, 11}, grid, {false, true, false});
    const std::vector<int> owner = owners(d);
    EXPECT_EQ(std::count(owner.begin(), owner.end(), -1), 0) << grid.x << "x" << grid.y << "x" << grid.z;
    Index total = 0, smallest = std::numeric_limits<Index>::max(), largest = 0;
    for (int rank = 0; rank < d.ranks(); ++rank) {
      const Index cells = d.block(rank).cells();
      total += cells;
      smallest = std::min(smallest, cells);
      largest = std::max(largest, cells);
    }
    EXPECT_EQ(total, 5 * 7 * 11);
    EXPECT_EQ(d.smallest_block(), smallest);
    EXPECT_EQ(d.largest_block(), largest);
  }
}

TEST(Decomposition, FirstBlocksTakeTheCellsLeftOver) {
  const Decomposition d({11, 4, 2}, {4, 1, 1}, {});
  const Index lo[] = {0, 3, 6, 9}, hi[] = {3, 6, 9, 11};
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(d.block(rank), (Box{{lo[rank], 0, 0}, {hi[rank], 4, 2}}));
  }
}

TEST(Decomposition, XIsTheFastestAxisOfRanks) {
  const Decomposition d({4, 6, 8}, {2, 3, 4}, {});
  EXPECT_EQ(d.ranks(), 24);
  EXPECT_EQ(d.coordinates(0), (Int3{0, 0, 0}));
  EXPECT_EQ(d.coordinates(1), (Int3{1, 0, 0}));
  EXPECT_EQ(d.coordinates(2), (Int3{0, 1, 0}));
  EXPECT_EQ(d.coordinates(6), (Int3{0, 0, 1}));
  EXPECT_EQ(d.coordinates(23), (Int3{1, 2, 3}));
}

TEST(Decomposition, BlocksOfMoreThan32BitsOfCells) {
  const Int3 cells{Index{1} << 20, Index{1} << 20, (Index{1} << 20) + 1};
  const Decomposition d(cells, {1, 1, 2}, {});
  EXPECT_EQ(d.block(0).cells(), (Index{1} << 40) * ((Index{1} << 19) + 1));
  EXPECT_EQ(d.block(1).hi, cells);
  EXPECT_EQ(d.smallest_block(), Index{1} << 59);
}

TEST(Decomposition, DirectionsAreFacesThenEdgesThenCorners) {
  const std::vector<Direction> faces = face_directions(), all = all_directions();
  ASSERT_EQ(faces.size(), 6u);
  ASSERT_EQ(all.size(), 26u);
  EXPECT_TRUE(std::equal(faces.begin(), faces.end(), all.begin()));
  for (int f = 0; f < face_count; ++f) {
    Direction expected{0, 0, 0};
    expected[static_cast<std::size_t>(f / 2)] = f % 2 ? 1 : -1;
    EXPECT_EQ(faces[static_cast<std::size_t>(f)], expected);
  }
  const auto axes = [](Direction d) { return d[0] * d[0] + d[1] * d[1] + d[2] * d[2]; };
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [&](const Direction& a, const Direction& b) { return axes(a) < axes(b); }));
  std::vector<Direction> unique = all;
  std::sort(unique.begin(), unique.end());
  EXPECT_EQ(std::unique(unique.begin(), unique.end()), unique.end());
}

// The neighbour in a direction holds the cell diagonally beyond this block's corner cell on that side.
TEST(Decomposition, NeighboursHoldTheCellsBeyondTheBlock) {
  const Int3 cells{5, 7, 4};
  for (const Int3 grid : {Int3{1, 1, 1}, Int3{2, 1, 1}, Int3{1, 2, 2}, Int3{3, 2, 1}, Int3{2, 3, 4}}) {
    for (const Periodic periodic : all_periodicities()) {
      const Decomposition d(cells, grid, periodic);
      for (int rank = 0; rank < d.ranks(); ++rank) {
        const Box block = d.block(rank);
        for (const Direction& direction : all_directions()) {
          bool beyond_boundary = false;
          Int3 cell;
          for (int axis = 0; axis < 3; ++axis) {
            cell[axis] = direction[axis] < 0   ? block.lo[axis] - 1
                         : direction[axis] > 0 ? block.hi[axis]
                                               : block.lo[axis];
            if (cell[axis] >= 0 && cell[axis] < cells[axis]) continue;
            beyond_boundary = beyond_boundary || !periodic[axis];
            cell[axis] = (cell[axis] + cells[axis]) % cells[axis];
          }
          const std::optional<int> neighbour = d.neighbour(rank, direction);
          ASSERT_EQ(neighbour.has_value(), !beyond_boundary);
          if (!neighbour) continue;
          ASSERT_TRUE(d.block(*neighbour).contains(cell));
          ASSERT_EQ(d.neighbour(*neighbour, {-direction[0], -direction[1], -direction[2]}), rank);
        }
      }
    }
  }
}

TEST(Decomposition, WallsAreTheFacesOfTheGridThatAreNotPeriodic) {
  const Decomposition d({6, 6, 6}, {2, 1, 3}, {true, false, false});
  for (int rank = 0; rank < d.ranks(); ++rank) {
    const Box block = d.block(rank);
    for (int f = 0; f < face_count; ++f) {
      const int axis = f / 2;
      const bool touches = f % 2 ? block.hi[axis] == 6 : block.lo[axis] == 0;
      EXPECT_EQ(d.touches(rank, static_cast<Face>(f)), touches);
      EXPECT_EQ(d.is_boundary(rank, static_cast<Face>(f)), touches && axis != 0);
    }
  }
}

std::string error_of(Int3 cells, Int3 grid, Periodic periodic = {}, int ghosts = 1) {
  return deck_error([&] { Decomposition(cells, grid, periodic, ghosts); });
}

TEST(DecompositionErrors, NameTheAxisAndWhatFits) {
  expect_start(
      error_of({3, 8, 8}, {4, 1, 1}),
      "process grid 4x1x1 leaves ranks without cells (axis x has 3 cells for 4 ranks); use at most 3");
  expect_start(
      error_of({8, 8, 1}, {1, 1, 2}),
      "process grid 1x1x2 leaves ranks without cells (axis z has 1 cell for 2 ranks); use at most 1");
  expect_start(error_of({8, 8, 8}, {1, 0, 1}), "process grid 1x0x1 is impossible (axis y has 0 ranks)");
  expect_start(error_of({1 << 20, 1 << 20, 1 << 20}, {1 << 20, 1 << 20, 1}),
               "process grid 1048576x1048576x1 is too large (its product passes 2^31 - 1)");
  expect_start(error_of({8, 0, 8}, {1, 1, 1}), "grid of 8x0x8 cells is impossible (axis y has 0)");
  expect_start(error_of({Index{1} << 31, Index{1} << 31, 1}, {1, 1, 1}),
               "grid of 2147483648x2147483648x1 cells is too large (their number passes 2^61)");
}

TEST(DecompositionErrors, BlocksThinnerThanTheHalo) {
  const std::string y = "blocks along y are thinner than the halo",
                    z = "blocks along z are thinner than the halo";
  expect_start(
      error_of({8, 5, 8}, {1, 4, 1}, {}, 2),
      y + " (5 cells over 4 ranks leave 1 cell a block, the halo is 2 cells deep); use at most 2 ranks "
          "along y, at least 8 cells along y, or a halo of at most 1 cell");
  // A periodic axis of one part is its own neighbour, so that fewer ranks would not help.
  const std::string alone = z +
                            " (3 cells over 1 rank leave 3 cells a block, the halo is 4 cells deep); use at "
                            "least 4 cells along z, or a halo of at most 3 cells";
  expect_start(error_of({8, 8, 3}, {1, 1, 1}, {false, false, true}, 4), alone);
  expect_start(deck_error([] { Decomposition::most_parts({8, 8, 3}, {false, false, true}, 4); }), alone);
  // The deepest halo is that of all axes, not of the one that is named.
  expect_says(error_of({30, 8, 9}, {2, 2, 3}, {}, 5), "or a halo of at most 3 cells");
  EXPECT_EQ(Decomposition({30, 8, 9}, {2, 2, 3}, {}).deepest_halo(), 3);
  EXPECT_EQ(Decomposition({30, 8, 9}, {2, 1, 1}, {}).deepest_halo(), 15);
  EXPECT_EQ(Decomposition({30, 8, 9}, {1, 1, 1}, {false, true, false}).deepest_halo(), 8);
  EXPECT_EQ(Decomposition({30, 8, 9}, {1, 1, 1}, {}).deepest_halo(), std::nullopt);
  // One part between boundaries has no exchange: any thickness will do.
  EXPECT_EQ(Decomposition::most_parts({8, 9, 1}, {true, true, false}, 4), (Int3{2, 2, 1}));
  EXPECT_EQ(Decomposition({8, 8, 1}, {2, 2, 1}, {}, 4).smallest_block(), 16);
}

}  // namespace
}  // namespace isotherm
