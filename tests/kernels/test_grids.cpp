// Blocks cut into grids: each block once, none beyond the limit.
#include "kernels/cuda/grids.hpp"

#include <gtest/gtest.h>

namespace isotherm::cuda {
namespace {

TEST(Grids, HoldEveryBlockOnce) {
  for (const Index most : {1, 2, 7, 100}) {
    for (Index blocks = 0; blocks <= 210; ++blocks) {
      Index next = 0;
      for_grids(
          blocks,
          [&](unsigned count, Index first) {
            EXPECT_EQ(first, next);
            EXPECT_GT(count, 0u);
            EXPECT_LE(count, most);
            next += count;
          },
          most);
      EXPECT_EQ(next, blocks) << most << " a grid";
    }
  }
}

TEST(Grids, GoBeyond32Bits) {
  const Index blocks = 3 * most_blocks_a_grid + 5;
  Index next = 0, launches = 0;
  for_grids(blocks, [&](unsigned count, Index first) {
    EXPECT_EQ(first, next);
    EXPECT_LE(count, 0x7fffffffu);
    next += count;
    ++launches;
  });
  EXPECT_EQ(next, blocks);
  EXPECT_EQ(launches, 4);
}

}  // namespace
}  // namespace isotherm::cuda
