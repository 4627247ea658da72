// Single cells come to every rank with all their bits, whoever has them.
#include "output/field_files/cell_values.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "grid/decomposition.hpp"
#include "support/field_by_index.hpp"

namespace isotherm {
namespace {

template <class T>
void expect_values(Int3 cells, Int3 process_grid) {
  const Communicator world = Communicator::world();
  const Box block = Decomposition(cells, process_grid, {}).block(world.rank());
  const auto device = make_host_device();
  Field<T> field = test::field_by_index<T>(*device, block, cells);
  const Int3 first{0, 0, 0};
  if (block.contains(first)) field.view()(first - block.lo) = T(-0.0);  // a sum with +0 would lose its sign
  std::vector<Int3> wanted;
  for (Index z = cells.z - 1; z >= 0; --z)
    for (Index y = 0; y < cells.y; ++y)
      for (Index x = cells.x - 1; x >= 0; x -= 2) wanted.push_back({x, y, z});
  wanted.insert(wanted.end(), 3, first);
  std::vector<T> mine;
  for (const Int3 cell : wanted)
    if (block.contains(cell)) mine.push_back(field.view()(cell - block.lo));
  const std::vector<double> values = gather_cells<T>(world, block, wanted, mine);
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool is_first = wanted[i] == first;
    EXPECT_EQ(values[i], is_first ? 0 : static_cast<double>(test::value_at<T>(wanted[i], cells)));
    EXPECT_EQ(std::signbit(values[i]), is_first);
  }
}

TEST(CellValues, AreTheSameForEveryProcessGrid) {
  const Index n = Communicator::world().size();
  for (const Int3 grid : {Int3{n, 1, 1}, Int3{1, n, 1}, Int3{1, 1, n}}) {
    expect_values<double>({9, 10, 11}, grid);
    expect_values<float>({8, 9, 10}, grid);
  }
  expect_values<double>({17, 1, 1}, {n, 1, 1});
}

}  // namespace
}  // namespace isotherm
