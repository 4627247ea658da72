#include "halo/regions.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/box.hpp"

namespace isotherm {
namespace {

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

// x: two ranks between walls; y: this rank alone, periodic; z: three ranks in a ring.
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

}  // namespace
}  // namespace isotherm
