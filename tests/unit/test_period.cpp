// What the sweeps of a period cover is what the sweeps behind them read.
#include "solver/rows.hpp"

#include <gtest/gtest.h>

namespace isotherm {
namespace {

// Each face in turn a boundary, this rank's own cells, or another rank's: 3^6 blocks.
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

// Beyond a boundary there is one layer, which the boundary rule fills for whatever is swept.
Box with_boundaries(Box valid, Int3 extent, const GhostSides& sides) {
  for (int f = 0; f < face_count; ++f) {
    if (sides.filled[static_cast<std::size_t>(f)]) continue;
    f % 2 == 1 ? valid.hi[f / 2] = extent[f / 2] + 1 : valid.lo[f / 2] = -1;
  }
  return valid;
}

std::vector<Fusing> ways_to_fuse() {
  return {{1}, {2}, {3}, {4}, {8}, {1, true}, {3, true}, {8, true}};
}

// A launch reads as many cells around its region as it fuses sweeps.
TEST(Period, EveryLaunchReadsWhatIsThere) {
  const Int3 extent{5, 6, 7};
  const Box block{{0, 0, 0}, extent};
  for (int code = 0; code < 729; ++code) {
    const GhostSides sides = sides_of(code);
    for (const int depth : {1, 2, 3, 5}) {
      for (const Fusing& fusing : ways_to_fuse()) {
        Box valid = widened_block(extent, sides.filled, depth);
        int taken = 0;
        for (const PeriodLaunch& launch : launches_of_period(extent, sides, depth, fusing)) {
          Box read = grown(launch.region, launch.sweeps);
          for (int f = 0; f < face_count; ++f) {  // beyond a boundary no further than its ghosts
            if (sides.filled[static_cast<std::size_t>(f)]) continue;
            f % 2 == 1 ? read.hi[f / 2] = extent[f / 2] + 1 : read.lo[f / 2] = -1;
          }
          EXPECT_TRUE(within(read, with_boundaries(valid, extent, sides))) << "sides " << code;
          EXPECT_TRUE(within(block, launch.region));
          EXPECT_LE(launch.sweeps, fusing.most);
          valid = launch.region;
          taken += launch.sweeps;
        }
        EXPECT_EQ(taken, depth);
        EXPECT_EQ(valid, block);
      }
    }
  }
}

// As the first of a period: the interior reads only what is at hand before the exchange, and no boundary's
// ghost that was not filled from there.
TEST(Period, TheInteriorReadsWhatIsAtHand) {
  const Int3 extent{5, 6, 7};
  for (int code = 0; code < 729; ++code) {
    const GhostSides sides = sides_of(code);
    for (int most = 1; most <= 3; ++most) {
      const PeriodLaunch first = launches_of_period(extent, sides, 3, {most}).front();
      Box filled{{0, 0, 0}, extent};  // by this rank alone
      for (int f = 0; f < face_count; ++f) {
        const auto face = static_cast<std::size_t>(f);
        if (!sides.filled[face] || sides.remote[face]) continue;
        f % 2 == 1 ? filled.hi[f / 2] += 3 : filled.lo[f / 2] -= 3;
      }
      EXPECT_TRUE(within(first.at_hand, filled) && within(first.at_hand, first.region));
      EXPECT_TRUE(first.interior.empty() || within(first.interior, first.at_hand));
      Box read = grown(first.interior, most);
      for (int f = 0; f < face_count; ++f) {
        if (sides.filled[static_cast<std::size_t>(f)]) continue;
        f % 2 == 1 ? read.hi[f / 2] = extent[f / 2] + 1 : read.lo[f / 2] = -1;
      }
      EXPECT_TRUE(first.interior.empty() || within(read, with_boundaries(filled, extent, sides))) << code;
    }
  }
}

TEST(Period, LaunchesFuseAsManySweepsAsMayBe) {
  using Sweeps = std::vector<int>;
  EXPECT_EQ(fused_sweeps(8, {4}), (Sweeps{4, 4}));
  EXPECT_EQ(fused_sweeps(7, {3}), (Sweeps{3, 3, 1}));
  EXPECT_EQ(fused_sweeps(2, {8}), (Sweeps{2}));
  EXPECT_EQ(fused_sweeps(0, {4}), Sweeps{});
  // Something looks at the last update: both fields of it are there.
  EXPECT_EQ(fused_sweeps(8, {4, true}), (Sweeps{4, 3, 1}));
  EXPECT_EQ(fused_sweeps(5, {4, true}), (Sweeps{4, 1}));
  EXPECT_EQ(fused_sweeps(1, {4, true}), (Sweeps{1}));
  EXPECT_EQ(fused_sweeps(3, {1, true}), (Sweeps{1, 1, 1}));
}

TEST(Period, AGraphHoldsWholePeriodsAndAnEvenNumberOfLaunches) {
  for (int depth = 1; depth <= 64; ++depth) {
    for (const int fused : {1, 2, 3, 4, 8}) {
      const std::int64_t sweeps = sweeps_of_a_graph(depth, fused);
      EXPECT_EQ(sweeps % depth, 0);
      EXPECT_EQ(sweeps / depth * std::ssize(fused_sweeps(depth, {fused})) % 2, 0);
      EXPECT_GE(sweeps, 16);
      EXPECT_LT(sweeps, 16 + 2 * depth);
    }
  }
  EXPECT_EQ(sweeps_of_a_graph(1), 16);
  EXPECT_EQ(sweeps_of_a_graph(3), 18);
  EXPECT_EQ(sweeps_of_a_graph(4, 4), 16);
  EXPECT_EQ(sweeps_of_a_graph(6, 4), 18);
  EXPECT_EQ(even_periods(1, 4, 4), 8);
  EXPECT_EQ(even_periods(1, 4, 2), 4);
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
