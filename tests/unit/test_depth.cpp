// solver.halo_width: auto at the limits where its answer is plain, and against the sum by hand.
#include "solver/depth.hpp"

#include <gtest/gtest.h>

#include "solver/exchange_costs.hpp"

namespace isotherm {
namespace {

constexpr ExchangeCosts typical{1e-5, 1e-6, 1e11, 1e-11};

Decomposition blocks(Index edge, Int3 grid, std::array<bool, 3> periodic = {}) {
  return Decomposition({edge * grid.x, edge * grid.y, edge * grid.z}, grid, periodic);
}

std::vector<DepthEstimate> weighed(const Decomposition& d, const DepthSetting& setting,
                                   const ExchangeCosts& costs) {
  const auto deepest = static_cast<std::size_t>(deepest_to_weigh(d, setting));
  return weigh_depths(std::vector<Decomposition>(deepest, d), setting, costs);
}
int chosen(const Decomposition& d, const DepthSetting& setting, const ExchangeCosts& costs) {
  return choose_depth(weighed(d, setting, costs));
}

TEST(Depth, IsOneWithoutAnotherRank) {
  for (const bool periodic : {false, true})
    EXPECT_EQ(chosen(blocks(16, {1, 1, 1}, {periodic, periodic, periodic}), {}, {1, 1, 1, 1e-12}), 1);
  EXPECT_EQ(choose_depth({}), 1);
}

TEST(Depth, IsDeepWhereLatencyIsAll) {
  // A cell costs next to nothing: every exchange saved is worth it, though it has 26 messages, not 6.
  EXPECT_EQ(chosen(blocks(32, {3, 3, 3}, {true, true, true}), {}, {1e-4, 0, 1e12, 1e-15}), 8);
  EXPECT_EQ(chosen(blocks(32, {3, 3, 3}, {true, true, true}), {}, {0, 1e-4, 1e12, 1e-15}), 8);
  // Of two ranks each has one neighbour, so that the messages stay as few.
  EXPECT_EQ(chosen(blocks(32, {1, 1, 2}), {}, typical), 8);
}

TEST(Depth, IsOneWhereBlocksAreBig) {
  // What an exchange costs is less than what two layers of cells cost twice.
  EXPECT_EQ(chosen(blocks(2048, {1, 1, 2}), {}, typical), 1);
  EXPECT_EQ(chosen(blocks(1024, {2, 2, 2}), {}, typical), 1);
}

TEST(Depth, IsOneWhereBytesAreAll) {
  EXPECT_EQ(chosen(blocks(32, {3, 3, 3}, {true, true, true}), {}, {0, 0, 1e3, 1e-15}), 1);
}

TEST(Depth, IsOneWhereTheInteriorHidesTheExchange) {
  const Decomposition d = blocks(256, {1, 1, 2});
  EXPECT_EQ(chosen(d, {8, true, 8}, {5e-5, 0, 1e11, 1e-11}), 1);
  EXPECT_GT(chosen(d, {8, false, 8}, {5e-5, 0, 1e11, 1e-11}), 1);
}

TEST(Depth, IsAsDeepAsFusedSweepsPay) {
  ExchangeCosts costs = typical;
  const Decomposition large = blocks(1024, {2, 2, 2});
  EXPECT_EQ(chosen(large, {}, costs), 1);
  costs.fused_seconds_a_cell[4] = 0.5 * costs.seconds_a_cell;
  EXPECT_EQ(chosen(large, {}, costs), 4);
  EXPECT_EQ(chosen(large, {8, false, 3}, costs), 1);  // something is due before
  costs.fused_seconds_a_cell[2] = 0.51 * costs.seconds_a_cell;
  EXPECT_EQ(chosen(large, {}, costs), 2);  // hardly more than the best
  costs.fused_seconds_a_cell = {};
  costs.fused_seconds_a_cell[4] = 2 * costs.seconds_a_cell;
  EXPECT_EQ(chosen(large, {}, costs), 1);
}

// Around a periodic axis one rank needs as many ghosts as a launch fuses sweeps.
TEST(Depth, OfOneRankIsAsDeepAsFusedSweepsPay) {
  const Decomposition around = blocks(64, {1, 1, 1}, {false, true, false});
  ExchangeCosts costs{1e-7, 0, 1e11, 1e-10};
  const DepthSetting fuses{8, false, 8, true};
  EXPECT_EQ(chosen(around, fuses, costs), 1);
  costs.fused_seconds_a_cell[4] = 0.5 * costs.seconds_a_cell;
  EXPECT_EQ(chosen(around, fuses, costs), 4);
  EXPECT_EQ(chosen(around, {8, false, 8, false}, costs), 1);                       // no row has use for it
  EXPECT_EQ(chosen(blocks(64, {1, 1, 1}), fuses, costs), 1);                       // nothing is exchanged
  EXPECT_LE(chosen(blocks(3, {1, 1, 1}, {true, false, false}), fuses, costs), 3);  // ghosts are own cells
  // A launch of four sweeps covers the block; single sweeps the margins of those that follow, too.
  const std::vector<DepthEstimate> each = weighed(around, fuses, costs);
  EXPECT_DOUBLE_EQ(each[3].cells, 64 * 64 * 64);
  EXPECT_DOUBLE_EQ(each[1].cells, 64 * 65 * 64);
}

TEST(Depth, KeepsToBlocksAndToWhatIsAsked) {
  const ExchangeCosts latency{1, 0, 1e12, 1e-15};
  EXPECT_EQ(chosen(blocks(3, {1, 1, 4}), {}, latency), 3);
  EXPECT_EQ(chosen(blocks(32, {1, 1, 4}), {8, false, 5}, latency), 5);
  EXPECT_EQ(chosen(blocks(32, {1, 1, 4}), {8, false, 1}, latency), 1);
  EXPECT_EQ(chosen(blocks(1, {1, 1, 4}), {}, latency), 1);
}

// A gain that noise could have made is none.
TEST(Depth, IsTheShallowestOfWhatCostsTheSame) {
  const auto choice = [](std::vector<double> seconds) {
    std::vector<DepthEstimate> estimates;
    for (const double s : seconds) estimates.push_back({static_cast<int>(estimates.size()) + 1, s, 0, 0});
    return choose_depth(estimates);
  };
  EXPECT_EQ(choice({1.04, 1.02, 1.0, 1.0}), 1);
  EXPECT_EQ(choice({1.06, 1.02, 1.0, 1.0}), 2);
  EXPECT_EQ(choice({2, 1.5, 1.2, 1}), 4);
  EXPECT_EQ(choice({1, 2, 3}), 1);
}

// Two blocks of 10 x 10 x 10 side by side, two sweeps an exchange: one message of 200 cells; the first sweep
// has 100 cells more.
TEST(Depth, CountsExchangesMessagesBytesAndCells) {
  const ExchangeCosts costs{7e-4, 3e-4, 4e5, 1e-6};
  const Decomposition d = blocks(10, {1, 1, 2});
  const std::vector<DepthEstimate> off = weighed(d, {4, false, 2}, costs);
  ASSERT_EQ(off.size(), 2u);
  EXPECT_DOUBLE_EQ(off[0].seconds, 1e-3 + 1e-3 + 1e-3);
  EXPECT_DOUBLE_EQ(off[1].seconds, (1e-3 + 2e-3 + 1.1e-3 + 1e-3) / 2);
  EXPECT_EQ(off[1].depth, 2);
  EXPECT_DOUBLE_EQ(off[1].messages, 0.5);
  EXPECT_DOUBLE_EQ(off[1].cells, 1050);
  // Of the 3 ms the 900 cells of the interior hide 0.9 ms.
  EXPECT_DOUBLE_EQ(weighed(d, {4, true, 2}, costs)[1].seconds, (1e-3 + 2e-3 + 2.1e-3 - 0.9e-3) / 2);
}

TEST(ExchangeCosts, AreThoseThatTheExchangesWereMadeOf) {
  // 5 us, 1 us a message, 1e9 bytes a second.
  const ExchangeCosts c = exchange_costs({11e-6, 6, 100}, {31e-6, 26, 400}, {111e-6, 6, 1e5}, 2e-9);
  EXPECT_DOUBLE_EQ(c.seconds_an_exchange, 5e-6);
  EXPECT_DOUBLE_EQ(c.seconds_a_message, 1e-6);
  EXPECT_DOUBLE_EQ(c.bytes_a_second, 1e9);
  EXPECT_EQ(c.seconds_a_cell, 2e-9);
}

// Two ranks have as many messages at any depth: what one costs cannot be told from the exchange.
TEST(ExchangeCosts, OfOneNeighbour) {
  const ExchangeCosts c = exchange_costs({11e-6, 1, 100}, {12e-6, 1, 400}, {111e-6, 1, 1e5}, 2e-9);
  EXPECT_DOUBLE_EQ(c.seconds_an_exchange, 11e-6);
  EXPECT_EQ(c.seconds_a_message, 0);
}

// A disturbed measurement gives costs all the same: none below 0, no bandwidth without bound.
TEST(ExchangeCosts, OfNoise) {
  for (const double all : {1e-6, 2e-5, 1.0}) {
    for (const double large : {1e-6, 1e-5, 1.0}) {
      const ExchangeCosts c = exchange_costs({1e-5, 6, 100}, {all, 26, 400}, {large, 6, 1e5}, 1e-9);
      EXPECT_GE(c.seconds_an_exchange, 0);
      EXPECT_GE(c.seconds_a_message, 0);
      EXPECT_DOUBLE_EQ(c.seconds_an_exchange + 6 * c.seconds_a_message, 1e-5);
      EXPECT_LE(c.bytes_a_second, 10.001e5 / large);
    }
  }
}

}  // namespace
}  // namespace isotherm
