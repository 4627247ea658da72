#include "output/field_files/slabs.hpp"

#include <gtest/gtest.h>

#include <random>

namespace isotherm {
namespace {

// In the order of memory, without gap or overlap: each slab starts at the cell behind the last of the one
// before. Slabs of whole planes or rows make that a statement about linear indices.
void expect_cover(Int3 extent, Index max_cells) {
  Index next = 0;
  for (const Box slab : cut_into_slabs(extent, max_cells)) {
    EXPECT_FALSE(slab.empty());
    EXPECT_LE(slab.cells(), max_cells);
    EXPECT_EQ(slab.lo.x + extent.x * (slab.lo.y + extent.y * slab.lo.z), next);
    if (slab.extent().z > 1) {
      EXPECT_EQ(slab.extent().x * slab.extent().y, extent.x * extent.y);
    }
    if (slab.extent().y > 1) {
      EXPECT_EQ(slab.extent().x, extent.x);
    }
    next += slab.cells();
  }
  EXPECT_EQ(next, extent.product());
}

TEST(Slabs, CoverRandomBoxesInOrder) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 300; ++i) {
    const auto draw = [&](int most) { return Index{std::uniform_int_distribution<int>(1, most)(random)}; };
    expect_cover({draw(9), draw(9), draw(9)}, draw(120));
  }
}

TEST(Slabs, StayBelowTwoGigabytes) {
  const Index most = (Index{1} << 30) / 8;
  expect_cover({2048, 2048, 2048}, most);      // 64 GiB: planes
  expect_cover({1 << 16, 1 << 16, 2}, most);   // planes of 32 GiB: rows
  expect_cover({Index{1} << 32, 2, 3}, most);  // rows of 32 GiB: parts of them
}

// Each cell is in one slab, and each chunk too, unless the box itself ends within it.
TEST(Slabs, CutNoChunk) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 300; ++i) {
    const auto draw = [&](int least, int most) {
      return Index{std::uniform_int_distribution<int>(least, most)(random)};
    };
    const Int3 lo{draw(0, 9), draw(0, 9), draw(0, 9)}, chunk{draw(1, 4), draw(1, 4), draw(1, 4)};
    const Box box{lo, lo + Int3{draw(1, 9), draw(1, 9), draw(1, 9)}};
    const Index most = draw(1, 120);
    Index cells = 0;
    for (const Box slab : cut_into_slabs(box, chunk, most)) {
      ASSERT_FALSE(slab.empty());
      EXPECT_EQ(intersect(slab, box), slab);
      EXPECT_LE(slab.cells(), std::max(most, chunk.product()));
      for (int axis = 0; axis < 3; ++axis) {
        EXPECT_TRUE(slab.lo[axis] == box.lo[axis] || slab.lo[axis] % chunk[axis] == 0);
        EXPECT_TRUE(slab.hi[axis] == box.hi[axis] || slab.hi[axis] % chunk[axis] == 0);
      }
      cells += slab.cells();
    }
    EXPECT_EQ(cells, box.cells());
  }
  EXPECT_TRUE(cut_into_slabs(Box{}, {2, 2, 2}, 100).empty());
}

TEST(Slabs, Intersect) {
  EXPECT_EQ(intersect({{0, 0, 0}, {4, 5, 6}}, {{2, 1, -3}, {9, 3, 2}}), (Box{{2, 1, 0}, {4, 3, 2}}));
  EXPECT_TRUE(intersect({{0, 0, 0}, {4, 5, 6}}, {{4, 0, 0}, {5, 5, 6}}).empty());
}

}  // namespace
}  // namespace isotherm
