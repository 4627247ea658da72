#include "halo/regions.hpp"

#include <gtest/gtest.h>

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

// Every cell of the block lies in exactly one part, and in the interior only if `reach` cells further lie no
// remote ghosts.
TEST(HaloRegions, InteriorAndShellsTileTheBlock) {
  for (int bits = 0; bits < 64; ++bits) {
    std::array<bool, face_count> remote;
    for (int f = 0; f < face_count; ++f) remote[static_cast<std::size_t>(f)] = bits >> f & 1;
    for (const Int3 extent : {Int3{1, 1, 1}, Int3{2, 1, 3}, Int3{1, 4, 2}, Int3{5, 4, 3}, Int3{9, 8, 10}}) {
      for (const Index reach : {1, 2, 4}) {
        const Split split = split_block(extent, remote, reach);
        for (const Box& shell : split.shells) EXPECT_FALSE(shell.empty());
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
              for (const Box& shell : split.shells) holders += shell.contains(cell);
              ASSERT_EQ(split.interior.contains(cell), inside);
              ASSERT_EQ(holders, inside ? 0 : 1);
            }
          }
        }
      }
    }
  }
}

TEST(HaloRegions, ZShellsAreWholePlanes) {
  const Split split = split_block({8, 7, 6}, {true, true, true, true, true, true}, 1);
  EXPECT_EQ(split.interior, (Box{{1, 1, 1}, {7, 6, 5}}));
  ASSERT_EQ(split.shells.size(), 6u);
  EXPECT_EQ(split.shells[0], (Box{{0, 0, 0}, {8, 7, 1}}));
  EXPECT_EQ(split.shells[1], (Box{{0, 0, 5}, {8, 7, 6}}));
  EXPECT_EQ(split.shells[2], (Box{{0, 0, 1}, {8, 1, 5}}));
  EXPECT_EQ(split.shells[3], (Box{{0, 6, 1}, {8, 7, 5}}));
  EXPECT_EQ(split.shells[4], (Box{{0, 1, 1}, {1, 6, 5}}));
  EXPECT_EQ(split.shells[5], (Box{{7, 1, 1}, {8, 6, 5}}));
}

}  // namespace
}  // namespace isotherm
