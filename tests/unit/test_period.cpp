// What the sweeps of a period cover is what the sweeps behind them read.
#include "solver/period.hpp"

#include <gtest/gtest.h>

namespace isotherm {
namespace {

// Each face in turn a wall, this rank's own cells, or another rank's: 3^6 blocks.
GhostSides sides_of(int code) {
  GhostSides sides;
  for (std::size_t f = 0; f < face_count; ++f, code /= 3) {
    sides.filled[f] = code % 3 > 0;
    sides.remote[f] = code % 3 == 2;
  }
  return sides;
}

Box grown(Box box, Index by) {
  return {{box.lo.x - by, box.lo.y - by, box.lo.z - by}, {box.hi.x + by, box.hi.y + by, box.hi.z + by}};
}

bool within(Box inner, Box outer) {
  for (int axis = 0; axis < 3; ++axis)
    if (inner.lo[axis] < outer.lo[axis] || inner.hi[axis] > outer.hi[axis]) return false;
  return true;
}

// Beyond a wall there is one layer, which the wall rule fills for whatever is swept.
Box with_walls(Box valid, Int3 extent, const GhostSides& sides) {
  for (int f = 0; f < face_count; ++f) {
    if (sides.filled[static_cast<std::size_t>(f)]) continue;
    f % 2 == 1 ? valid.hi[f / 2] = extent[f / 2] + 1 : valid.lo[f / 2] = -1;
  }
  return valid;
}

TEST(Period, EverySweepReadsWhatIsThere) {
  const Int3 extent{5, 6, 7};
  const Box block{{0, 0, 0}, extent};
  for (int code = 0; code < 729; ++code) {
    const GhostSides sides = sides_of(code);
    for (const int depth : {1, 2, 3, 5}) {
      const std::vector<PeriodSweep> sweeps = sweeps_of_period(extent, sides, depth);
      ASSERT_EQ(std::ssize(sweeps), depth);
      EXPECT_EQ(sweeps.front().region, block);
      Box valid = widened_block(extent, sides.filled, depth);
      for (int after = depth - 1; after >= 0; --after) {
        const Box& region = sweeps[static_cast<std::size_t>(after)].region;
        EXPECT_TRUE(within(grown(region, 1), with_walls(valid, extent, sides))) << "sides " << code;
        EXPECT_TRUE(within(block, region));
        valid = region;
      }
    }
  }
}

// As the first of a period: the interior reads only what is at hand before the exchange, and no wall's ghost
// that was not filled from there.
TEST(Period, TheInteriorReadsWhatIsAtHand) {
  const Int3 extent{5, 6, 7};
  for (int code = 0; code < 729; ++code) {
    const GhostSides sides = sides_of(code);
    for (const PeriodSweep& sweep : sweeps_of_period(extent, sides, 3)) {
      Box filled{{0, 0, 0}, extent};  // by this rank alone
      for (int f = 0; f < face_count; ++f) {
        const auto face = static_cast<std::size_t>(f);
        if (!sides.filled[face] || sides.remote[face]) continue;
        f % 2 == 1 ? filled.hi[f / 2] += 3 : filled.lo[f / 2] -= 3;
      }
      EXPECT_TRUE(within(sweep.at_hand, filled) && within(sweep.at_hand, sweep.region));
      EXPECT_TRUE(within(sweep.interior, sweep.at_hand));
      EXPECT_TRUE(within(grown(sweep.interior, 1), with_walls(filled, extent, sides))) << code;
    }
  }
}

TEST(Period, AGraphHoldsWholePeriodsAndAnEvenNumberOfSweeps) {
  for (int depth = 1; depth <= 64; ++depth) {
    const std::int64_t sweeps = sweeps_of_a_graph(depth);
    EXPECT_EQ(sweeps % depth, 0);
    EXPECT_EQ(sweeps % 2, 0);
    EXPECT_GE(sweeps, 16);
    EXPECT_LT(sweeps, 16 + 2 * depth);
  }
  EXPECT_EQ(sweeps_of_a_graph(1), 16);
  EXPECT_EQ(sweeps_of_a_graph(3), 18);
}

TEST(Period, PartsEndWithAPeriodOrWithAll) {
  EXPECT_EQ(whole_periods(7, 100, 4), 4);
  EXPECT_EQ(whole_periods(8, 100, 4), 8);
  EXPECT_EQ(whole_periods(0, 100, 4), 4);  // at least one
  EXPECT_EQ(whole_periods(0, 3, 4), 3);
  EXPECT_EQ(whole_periods(1000, 10, 4), 10);
  EXPECT_EQ(whole_periods(7, 100, 1), 7);
}

}  // namespace
}  // namespace isotherm
