// Means over blocks of cells have the bits that one process would give them, wherever the ranks' blocks end.
#include "output/field_files/coarse_field.hpp"

#include <gtest/gtest.h>

#include "grid/decomposition.hpp"
#include "support/field_by_index.hpp"
#include "support/process_grid.hpp"

namespace isotherm {
namespace {

// Thirds: sums of them depend on their order.
template <class T>
T value_at(Int3 cell, Int3 cells) {
  return test::value_at<T>(cell, cells) / T(3);
}

template <class T>
T mean_at(Int3 coarse, Int3 factor, Int3 cells) {
  double sum = 0;
  for (Index z = coarse.z * factor.z; z < (coarse.z + 1) * factor.z; ++z)
    for (Index y = coarse.y * factor.y; y < (coarse.y + 1) * factor.y; ++y)
      for (Index x = coarse.x * factor.x; x < (coarse.x + 1) * factor.x; ++x)
        sum += static_cast<double>(value_at<T>({x, y, z}, cells));
  return static_cast<T>(sum / static_cast<double>(factor.product()));
}

template <class T>
void expect_means(Int3 cells, Int3 process_grid, Int3 factor) {
  if (process_grid.x > cells.x || process_grid.y > cells.y || process_grid.z > cells.z) return;
  const Communicator world = Communicator::world();
  const Box block = Decomposition(cells, process_grid, {}).block(world.rank());
  const auto device = make_host_device();
  Field<T> field = test::field_by_index<T>(*device, block, cells);
  const FieldView<T> view = field.view();
  for (Index z = 0; z < view.extent.z; ++z)
    for (Index y = 0; y < view.extent.y; ++y)
      for (Index x = 0; x < view.extent.x; ++x) view(x, y, z) = value_at<T>(Int3{x, y, z} + block.lo, cells);

  const CoarseField coarse(world, block, factor);
  const std::vector<T> means = coarse.means<T>(view);
  const Box mine = coarse.cells();
  ASSERT_EQ(std::ssize(means), mine.cells());
  std::size_t i = 0, wrong = 0;
  for (Index z = mine.lo.z; z < mine.hi.z; ++z)
    for (Index y = mine.lo.y; y < mine.hi.y; ++y)
      for (Index x = mine.lo.x; x < mine.hi.x; ++x)
        wrong += means[i++] != mean_at<T>({x, y, z}, factor, cells);
  EXPECT_EQ(wrong, 0u) << "factor " << factor.x << " " << factor.y << " " << factor.z;
  // Each coarse cell has one owner.
  EXPECT_EQ(world.all_reduce(mine.cells() * factor.product(), ReduceOp::sum), cells.product());
}

template <class T>
void expect_means_on_all_grids(Int3 cells, Int3 factor) {
  const Index n = Communicator::world().size();
  for (const Int3 grid :
       {Int3{n, 1, 1}, Int3{1, n, 1}, Int3{1, 1, n}, even_process_grid(Communicator::world().size())})
    expect_means<T>(cells, grid, factor);
}

TEST(CoarseField, BlocksThatEndWithinACoarseCell) {
  expect_means_on_all_grids<double>({18, 15, 20}, {3, 5, 4});
  expect_means_on_all_grids<float>({18, 15, 20}, {6, 3, 2});
}

// Where a block lies within one coarse cell, its rank owns none; where the factor is all cells, one rank
// gathers them.
TEST(CoarseField, CellsLargerThanBlocks) {
  expect_means_on_all_grids<double>({16, 16, 16}, {8, 16, 8});
  expect_means_on_all_grids<double>({12, 12, 12}, {12, 12, 12});
}

TEST(CoarseField, OfAGridOneCellThick) {
  expect_means_on_all_grids<double>({24, 1, 18}, {4, 1, 3});
}

TEST(CoarseField, AFactorOfOneIsTheField) {
  expect_means_on_all_grids<double>({9, 10, 11}, {1, 1, 1});
}

}  // namespace
}  // namespace isotherm
