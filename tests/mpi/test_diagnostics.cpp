// Diagnostics have the same bits on every rank count, process grid and backend: the line of history.csv is
// compared as text against one rank with the rows of reference, and against single sweeps where the ranks
// take three an exchange.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backend_fixture.hpp"
#include "output/records/history.hpp"
#include "solver/rows.hpp"
#include "solver/solver.hpp"
#include "support/decks.hpp"

namespace isotherm {
namespace {

template <class T>
std::string lines(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
                  Device& device) {
  Solver<T> solver(config, decomposition, communicator, device, choose_rows<T>(config, device.backend()));
  std::string text;
  for (const int sweeps : {0, 1, 4}) {
    solver.sweep(sweeps);
    HistoryRow row;
    row.sweep = solver.sweeps();
    row.diagnostics = solver.diagnose();
    text += history_line(row, plan_diagnostics(config));
  }
  return text;
}

template <class T>
void expect_one_line(Config config, const std::array<bool, 3>& periodic, Device& device) {
  const Communicator world = Communicator::world();
  config.output.diagnostics = 1;
  config.output.histogram.bins = 17;
  config.solver.kernel = config.solver.reduction = config.solver.histogram = "reference";
  const Int3 n = config.grid.cells;
  const std::string expected =
      lines<T>(config, Decomposition(n, {1, 1, 1}, periodic), Communicator::self(), *make_host_device());
  ASSERT_EQ(expected.find("nan"), std::string::npos) << expected;
  config.solver = {};
  for (Index x = 1; x <= world.size(); ++x) {
    for (Index y = 1; x * y <= world.size(); ++y) {
      const Int3 grid{x, y, world.size() / (x * y)};
      if (grid.product() != world.size() || grid.x > n.x || grid.y > n.y || grid.z > n.z) continue;
      const Decomposition decomposition(n, grid, periodic);
      config.solver.halo_width =
          static_cast<int>(std::min<Index>(3, decomposition.deepest_halo().value_or(3)));
      for (const auto& row : histogram_kernels<T>()) {
        if (row.backend != device.backend()) continue;
        config.solver.histogram = row.name;
        SCOPED_TRACE(fmt::format("{} on {}x{}x{}", row.name, grid.x, grid.y, grid.z));
        EXPECT_EQ(lines<T>(config, decomposition, world, device), expected);
      }
    }
  }
}

class OneDiagnosis : public BackendTest {};
ISOTHERM_ON_EACH_BACKEND(OneDiagnosis);

TEST_P(OneDiagnosis, OfEveryWallKindAndASource) {
  Config config = decks::every_wall({17, 23, 31});
  config.sources = decks::steady({1, 1, 1}).sources;
  expect_one_line<double>(config, {}, device());
  expect_one_line<float>(config, {}, device());
}

TEST_P(OneDiagnosis, OfPeriodicAxes) {
  expect_one_line<double>(decks::periodic({12, 9, 10}), {true, false, true}, device());
}

TEST_P(OneDiagnosis, OfASteadyProblem) {
  expect_one_line<double>(decks::steady({16, 15, 14}), {}, device());
  expect_one_line<float>(decks::steady({16, 15, 14}), {}, device());
}

}  // namespace
}  // namespace isotherm
