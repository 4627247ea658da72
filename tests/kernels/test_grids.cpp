// How launches are cut: grids of blocks, columns that blocks share, division without a division.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cuda/grids.hpp"

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

// Columns shared among blocks: every plane of every column once, and no block has much more than its share.

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

// Division by multiplication against the division of the language.

constexpr Index largest = std::numeric_limits<Index>::max();

// At n and its neighbours: the quotient steps beside every multiple.
void check_near(Index n, Index d) {
  const FastDivide divide(d);
  for (const Index near : {std::max<Index>(n, 1) - 1, n, std::min(n, largest - 1) + 1}) {
    ASSERT_EQ(divide(near), near / d) << near << " / " << d;
  }
}

TEST(FastDivide, SmallNumbers) {
  for (Index d = 1; d <= 130; ++d) {
    const FastDivide divide(d);
    for (Index n = 0; n <= 1000; ++n) ASSERT_EQ(divide(n), n / d) << n << " / " << d;
  }
}

TEST(FastDivide, EndsOfTheRange) {
  for (int log2 = 0; log2 < 63; ++log2) {
    const Index power = Index{1} << log2;
    for (const Index d : {power - 1, power, power + 1}) {
      if (d < 1) continue;
      check_near(largest, d);
      check_near(largest / d * d, d);
      check_near(d, d);
    }
  }
  check_near(largest, largest);
}

TEST(FastDivide, RandomNumbers) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200000; ++i) {
    const Index d = static_cast<Index>(random() >> (1 + random() % 62)) | 1;
    const Index n = static_cast<Index>(random() >> (1 + random() % 62));
    check_near(n, d);
    check_near(n / d * d, d);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace isotherm::cuda
