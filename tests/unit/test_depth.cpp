// solver.depth: auto at the limits where its answer is plain, and against the sum by hand.
#include "solver/depth.hpp"

#include <gtest/gtest.h>

namespace isotherm {
namespace {

constexpr ExchangeCosts typical{1e-5, 1e11, 1e-11};

Decomposition blocks(Index edge, Int3 grid, std::array<bool, 3> periodic = {}) {
  return Decomposition({edge * grid.x, edge * grid.y, edge * grid.z}, grid, periodic);
}

TEST(Depth, IsOneWithoutAnotherRank) {
  for (const bool periodic : {false, true})
    EXPECT_EQ(choose_depth(blocks(16, {1, 1, 1}, {periodic, periodic, periodic}), {}, {1, 1, 1e-12}), 1);
}

TEST(Depth, IsDeepWhereLatencyIsAll) {
  // A cell costs next to nothing: every message saved is worth it, though there are 26 of them, not 6.
  EXPECT_EQ(choose_depth(blocks(32, {3, 3, 3}, {true, true, true}), {}, {1e-4, 1e12, 1e-15}), 8);
  // Of two ranks each has one neighbour, so that the messages stay as few: deeper from the start.
  EXPECT_EQ(choose_depth(blocks(32, {1, 1, 2}), {}, typical), 8);
}

TEST(Depth, IsOneWhereBlocksAreBig) {
  // What one message costs is less than what two layers of cells cost twice.
  EXPECT_EQ(choose_depth(blocks(2048, {1, 1, 2}), {}, typical), 1);
  EXPECT_EQ(choose_depth(blocks(1024, {2, 2, 2}), {}, typical), 1);
}

TEST(Depth, IsOneWhereTheInteriorHidesTheExchange) {
  const Decomposition d = blocks(256, {1, 1, 2});
  EXPECT_EQ(choose_depth(d, {8, true, 8}, {5e-5, 1e11, 1e-11}), 1);
  EXPECT_GT(choose_depth(d, {8, false, 8}, {5e-5, 1e11, 1e-11}), 1);
}

TEST(Depth, KeepsToBlocksAndToWhatIsAsked) {
  const ExchangeCosts latency{1, 1e12, 1e-15};
  EXPECT_EQ(choose_depth(blocks(3, {1, 1, 4}), {}, latency), 3);
  EXPECT_EQ(choose_depth(blocks(32, {1, 1, 4}), {8, false, 5}, latency), 5);
  EXPECT_EQ(choose_depth(blocks(32, {1, 1, 4}), {8, false, 1}, latency), 1);
  EXPECT_EQ(choose_depth(blocks(1, {1, 1, 4}), {}, latency), 1);
}

// Two blocks of 10 x 10 x 10 side by side, two sweeps an exchange: one message of 200 cells; the first sweep
// has 100 cells more.
TEST(Depth, CountsMessagesBytesAndCells) {
  const ExchangeCosts costs{1e-3, 4e5, 1e-6};
  const Decomposition d = blocks(10, {1, 1, 2});
  EXPECT_DOUBLE_EQ(seconds_a_sweep(d, 0, 1, {4, false, 8}, costs), 1e-3 + 1e-3 + 1e-3);
  EXPECT_DOUBLE_EQ(seconds_a_sweep(d, 0, 2, {4, false, 8}, costs), (1e-3 + 2e-3 + 1.1e-3 + 1e-3) / 2);
  // Of the 3 ms the 900 cells of the interior hide 0.9 ms.
  EXPECT_DOUBLE_EQ(seconds_a_sweep(d, 0, 2, {4, true, 8}, costs), (1e-3 + 2e-3 + 2.1e-3 - 0.9e-3) / 2);
}

}  // namespace
}  // namespace isotherm
