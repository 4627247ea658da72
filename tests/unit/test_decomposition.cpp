#include "grid/decomposition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "core/error.hpp"
#include "support/error_text.hpp"

namespace isotherm {
namespace {

using Periodic = std::array<bool, 3>;

std::vector<Periodic> all_periodicities() {
  std::vector<Periodic> all;
  for (int bits = 0; bits < 8; ++bits) all.push_back({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0});
  return all;
}

template <class Use>
void for_each_cell(Int3 cells, Use use) {
  for (Index z = 0; z < cells.z; ++z) {
    for (Index y = 0; y < cells.y; ++y) {
      for (Index x = 0; x < cells.x; ++x) use(Int3{x, y, z});
    }
  }
}

// The rank of each cell, by asking every block; -1 where none or several hold it.
std::vector<int> owners(const Decomposition& d) {
  std::vector<int> result;
  for_each_cell(d.cells(), [&](Int3 cell) {
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
          bool beyond_wall = false;
          Int3 cell;
          for (int axis = 0; axis < 3; ++axis) {
            cell[axis] = direction[axis] < 0   ? block.lo[axis] - 1
                         : direction[axis] > 0 ? block.hi[axis]
                                               : block.lo[axis];
            if (cell[axis] >= 0 && cell[axis] < cells[axis]) continue;
            beyond_wall = beyond_wall || !periodic[axis];
            cell[axis] = (cell[axis] + cells[axis]) % cells[axis];
          }
          const std::optional<int> neighbour = d.neighbour(rank, direction);
          ASSERT_EQ(neighbour.has_value(), !beyond_wall);
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
      EXPECT_EQ(d.is_wall(rank, static_cast<Face>(f)), touches && axis != 0);
    }
  }
}

TEST(DecompositionErrors, RanksWithoutCells) {
  EXPECT_EQ(
      deck_error([] {
        Decomposition({3, 8, 8}, {4, 1, 1}, {});
      }),
      "process grid 4x1x1 leaves ranks without cells (axis x has 3 cells for 4 ranks); use at most 3 ranks "
      "along x");
  EXPECT_EQ(
      deck_error([] {
        Decomposition({8, 8, 1}, {1, 1, 2}, {});
      }),
      "process grid 1x1x2 leaves ranks without cells (axis z has 1 cell for 2 ranks); use at most 1 rank "
      "along z");
  EXPECT_EQ(deck_error([] {
              Decomposition({8, 8, 8}, {1, 0, 1}, {});
            }),
            "process grid 1x0x1 is impossible (axis y has 0 ranks); use at least 1 rank along each axis");
  EXPECT_EQ(deck_error([] {
              Decomposition({1 << 20, 1 << 20, 1 << 20}, {1 << 20, 1 << 20, 1}, {});
            }),
            "process grid 1048576x1048576x1 is too large (its product passes 2^31 - 1); use fewer ranks");
}

TEST(DecompositionErrors, BlocksThinnerThanTheHalo) {
  EXPECT_EQ(
      deck_error([] {
        Decomposition({8, 5, 8}, {1, 4, 1}, {}, 2);
      }),
      "blocks along y are thinner than the halo (5 cells over 4 ranks leave 1 cell a block, the halo is "
      "2 cells deep); use at most 2 ranks along y, at least 8 cells along y, or a "
      "halo of at most 1 cell (solver.halo_width)");
  // A periodic axis of one part is its own neighbour, so that fewer ranks would not help.
  EXPECT_EQ(
      deck_error([] {
        Decomposition({8, 8, 3}, {1, 1, 1}, {false, false, true}, 4);
      }),
      "blocks along z are thinner than the halo (3 cells over 1 rank leave 3 cells a block, the halo is "
      "4 cells deep); use at least 4 cells along z, or a halo of at most 3 cells (solver.halo_width)");
  EXPECT_EQ(
      deck_error([] {
        Decomposition::most_parts({8, 8, 3}, {false, false, true}, 4);
      }),
      "blocks along z are thinner than the halo (3 cells over 1 rank leave 3 cells a block, the halo is "
      "4 cells deep); use at least 4 cells along z, or a halo of at most 3 cells (solver.halo_width)");
  // The deepest halo is that of all axes, not of the one that is named.
  EXPECT_EQ(
      deck_error([] {
        Decomposition({30, 8, 9}, {2, 2, 3}, {}, 5);
      }),
      "blocks along y are thinner than the halo (8 cells over 2 ranks leave 4 cells a block, the halo is "
      "5 cells deep); use at most 1 rank along y, at least 10 cells along y, or a halo of at most 3 cells "
      "(solver.halo_width)");
  EXPECT_EQ(Decomposition({30, 8, 9}, {2, 2, 3}, {}).deepest_halo(), 3);
  EXPECT_EQ(Decomposition({30, 8, 9}, {2, 1, 1}, {}).deepest_halo(), 15);
  EXPECT_EQ(Decomposition({30, 8, 9}, {1, 1, 1}, {false, true, false}).deepest_halo(), 8);
  EXPECT_EQ(Decomposition({30, 8, 9}, {1, 1, 1}, {}).deepest_halo(), std::nullopt);
  // One part between walls has no exchange: any thickness will do.
  EXPECT_EQ(Decomposition::most_parts({8, 9, 1}, {true, true, false}, 4), (Int3{2, 2, 1}));
  EXPECT_EQ(Decomposition({8, 8, 1}, {2, 2, 1}, {}, 4).smallest_block(), 16);
}

TEST(DecompositionErrors, ImpossibleGrids) {
  EXPECT_EQ(deck_error([] {
              Decomposition({8, 0, 8}, {1, 1, 1}, {});
            }),
            "grid of 8x0x8 cells is impossible (axis y has 0); use at least 1 cell along each axis");
  EXPECT_EQ(deck_error([] {
              Decomposition({Index{1} << 31, Index{1} << 31, 1}, {1, 1, 1}, {});
            }),
            "grid of 2147483648x2147483648x1 cells is too large (their number passes 2^61); use fewer cells");
}

}  // namespace
}  // namespace isotherm
