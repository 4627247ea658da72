// Boxes of a field come to the host with the bits that the whole field has there: packed on the device where
// they are few, else taken from a copy of all.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "backend_fixture.hpp"
#include "solver/rows.hpp"
#include "solver/solver.hpp"
#include "support/decks.hpp"
#include "support/process_grid.hpp"

namespace isotherm {
namespace {

class HostCells : public BackendTest {
 protected:
  const unsigned seed_ = std::random_device{}();
  std::mt19937_64 random_{seed_};

  Index below(Index end) { return std::uniform_int_distribution<Index>(0, end - 1)(random_); }
  Box random_box(Int3 n, Int3 most) {
    Box box;
    for (int axis = 0; axis < 3; ++axis) {
      const Index extent = 1 + below(std::min(most[axis], n[axis]));
      box.lo[axis] = below(n[axis] - extent + 1);
      box.hi[axis] = box.lo[axis] + extent;
    }
    return box;
  }

  template <class T>
  void expect_cells(const std::vector<T>& found, FieldView<const T> field, const std::vector<Box>& boxes) {
    std::vector<T> expected;
    for (const Box& box : boxes)
      for (Index z = box.lo.z; z < box.hi.z; ++z)
        for (Index y = box.lo.y; y < box.hi.y; ++y)
          for (Index x = box.lo.x; x < box.hi.x; ++x) expected.push_back(field(x, y, z));
    ASSERT_EQ(found.size(), expected.size());
    if (found.empty()) return;  // memcmp takes no null pointer
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(T)), 0) << "seed " << seed_;
  }

  template <class T>
  void expect_those_of_the_field() {
    Config config = decks::every_wall({23, 17, 19});
    config.solver.kernel = device().backend() == Backend::host ? "openmp" : "naive";
    config.solver.reduction = "reproducible";
    const Decomposition decomposition(config.grid.cells, even_process_grid(world().size()), {});
    Solver<T> solver(config, decomposition, world(), device(), choose_rows<T>(config, device().backend()));
    const Int3 n = solver.block().extent();
    const bool is_last = world().rank() == world().size() - 1;
    for (int round = 0; round < 12; ++round) {
      std::vector<Box> boxes;
      switch (round % 3) {
        case 0:  // single cells, and on one rank none
          for (int i = 0; i < 5 && !(round > 3 && is_last); ++i) boxes.push_back(random_box(n, {1, 1, 1}));
          break;
        case 1:  // a small one between empty ones
          boxes = {Box{}, random_box(n, {5, 3, 2}), Box{}};
          break;
        default:  // up to all
          boxes = {random_box(n, n), random_box(n, n)};
      }
      solver.sweep(3);
      const std::vector<T> found = solver.host_cells(boxes);
      expect_cells<T>(found, solver.host_field(), boxes);
      expect_cells<T>(solver.host_cells(boxes), solver.host_field(), boxes);  // the copy holds this sweep now
    }
  }
};

ISOTHERM_ON_EACH_BACKEND(HostCells);

TEST_P(HostCells, AreThoseOfTheField) {
  expect_those_of_the_field<double>();
  expect_those_of_the_field<float>();
}

}  // namespace
}  // namespace isotherm
