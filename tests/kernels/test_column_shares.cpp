// Columns shared among blocks: every plane of every column once, and no block has much more than its share.
#include "kernels/cuda/column_shares.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace isotherm::cuda {
namespace {

// Planes of each block, after a look at where they lie.
std::vector<Index> planes_of_blocks(const ColumnShares& shares) {
  std::vector<std::vector<int>> taken(static_cast<std::size_t>(shares.columns),
                                      std::vector<int>(static_cast<std::size_t>(shares.planes)));
  std::vector<Index> planes;
  for (Index block = 0; block < shares.blocks; ++block) {
    Index walked = 0;
    ColumnPart part{};
    for (ColumnWalk parts(shares, block); parts.next(part);) {
      EXPECT_LT(part.from, part.to);
      walked += part.to - part.from;
      for (Index z = part.from; z < part.to; ++z)
        ++taken.at(static_cast<std::size_t>(part.column)).at(static_cast<std::size_t>(z));
    }
    planes.push_back(walked);
  }
  for (const auto& column : taken) {
    for (const int times : column) EXPECT_EQ(times, 1);
  }
  return planes;
}

TEST(ColumnShares, HoldEveryPlaneOnce) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto up_to = [&](Index most) { return std::uniform_int_distribution<Index>(1, most)(random); };
  for (int n = 0; n < 200; ++n) {
    const Index columns = up_to(300), planes = up_to(70), slots = up_to(140), overhead = up_to(18);
    SCOPED_TRACE(std::to_string(columns) + " columns of " + std::to_string(planes) + " planes for " +
                 std::to_string(slots) + " blocks, overhead " + std::to_string(overhead));
    const ColumnShares shares = ColumnShares::of(columns, planes, slots, 4, overhead);
    EXPECT_LE(shares.blocks, slots);
    const std::vector<Index> walked = planes_of_blocks(shares);
    // One team of all is one way to share: what is taken costs little more.
    ColumnShares one = shares;
    one.teams = 1;
    one.team_blocks = shares.blocks;
    one.team_columns = columns - shares.whole;
    const Index most = *std::max_element(walked.begin(), walked.end()),
                limit = columns / shares.blocks * planes + one.cost_of_teams(overhead) * 17 / 16;
    EXPECT_LE(most, limit);
  }
}

TEST(ColumnShares, LetBlocksSideBySideWalkSideBySide) {
  const ColumnShares shares = ColumnShares::of(100, 512, 132, 4, 10);  // five blocks for four columns
  EXPECT_EQ(shares.team_blocks, 5);
  EXPECT_EQ(shares.team_columns, 4);
  ColumnPart first{}, second{};
  ASSERT_TRUE(ColumnWalk(shares, 27).next(first));
  ASSERT_TRUE(ColumnWalk(shares, 28).next(second));
  EXPECT_EQ(second.column, first.column + 1);
  EXPECT_EQ(second.from, first.from);
}

}  // namespace
}  // namespace isotherm::cuda
