// What the diagnostics of a running solver say is true: heat is kept, and the balance of walls, sources and
// temperatures closes to rounding.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "backend_fixture.hpp"
#include "physics/diagnostics.hpp"
#include "solver/rows.hpp"
#include "solver/solver.hpp"
#include "support/decks.hpp"

namespace isotherm {
namespace {

template <class T>
std::vector<Diagnostics> run(Device& device, Config config, int looks, std::int64_t sweeps) {
  config.output.diagnostics = sweeps;
  const Communicator world = Communicator::world();
  const Int3 n = config.grid.cells;
  Solver<T> solver(config, Decomposition(n, Decomposition::least_surface(n, world.size(), {}), {}), world,
                   device, choose_rows<T>(config, device.backend()));
  std::vector<Diagnostics> found{solver.diagnose()};
  for (int i = 0; i < looks; ++i) {
    solver.sweep(sweeps);
    found.push_back(solver.diagnose());
  }
  return found;
}

class HeatBalance : public BackendTest {};
ISOTHERM_ON_EACH_BACKEND(HeatBalance);

TEST_P(HeatBalance, OfAFieldThatAHandCanCheck) {
  Config config = decks::base({2, 3, 4});
  config.initial[0].formula = Expression("x < 0.15 ? 300 : 310", "xyz");
  config.output.histogram = {4, Interval{300, 320}};
  const Diagnostics d = run<double>(device(), config, 0, 1)[0];
  EXPECT_EQ(d.min, 300);
  EXPECT_EQ(d.max, 310);
  EXPECT_EQ(d.mean, 305);
  EXPECT_DOUBLE_EQ(*d.heat, 7800 * 500 * (0.3 * 0.2 * 0.25) * 305);
  EXPECT_EQ(d.nan_cells, 0);
  EXPECT_FALSE(d.flows);  // nothing has flowed yet
  EXPECT_EQ(d.histogram->counts, (std::vector<std::int64_t>{0, 12, 0, 12, 0, 0, 0}));
}

// An insulated body keeps its heat: each sweep may round each cell by half a unit in the last place.
TEST_P(HeatBalance, AnInsulatedBodyKeepsItsHeat) {
  const std::vector<Diagnostics> d = run<double>(device(), decks::base({13, 11, 9}), 20, 50);
  for (const Diagnostics& each : d) {
    EXPECT_NEAR(each.mean, d[0].mean, 1e-12 * d[0].mean);
    if (!each.flows) continue;
    EXPECT_EQ(each.flows->walls, (std::array<double, face_count>{}));
    EXPECT_LT(each.max - each.min, d[0].max - d[0].min);
  }
}

// Every wall kind, walls that vary in time and place, a source: the heat that the temperatures gain is what
// came through the walls and from the source, of the same sweep.
TEST_P(HeatBalance, TheBalanceClosesToRounding) {
  Config config = decks::every_wall({17, 13, 11});
  config.sources = decks::steady({1, 1, 1}).sources;
  const double fp64 = 1e-12, fp32 = 1e-3;  // fp32 rounds each cell of each sweep by 1e-5 K
  for (const Diagnostics& each : run<double>(device(), config, 12, 3)) {
    if (!each.flows) continue;
    EXPECT_LT(each.flows->relative_balance, fp64);
    for (const std::size_t f : {0, 1, 2, 4, 5}) EXPECT_NE(each.flows->walls[f], 0) << face_names[f];
    EXPECT_EQ(each.flows->walls[3], 0);
    EXPECT_GT(each.flows->source, 0);
    EXPECT_GT(std::abs(each.flows->rate), 1);
  }
  for (const Diagnostics& each : run<float>(device(), config, 12, 3)) {
    if (!each.flows) continue;
    EXPECT_LT(each.flows->relative_balance, fp32);
  }
}

TEST_P(HeatBalance, ASteadyProblemHasNoRateAndItsDefectFades) {
  Config config = decks::steady({10, 9, 8});
  const std::vector<Diagnostics> d = run<double>(device(), config, 3, 1500);
  EXPECT_EQ(d[1].flows->rate, 0);
  EXPECT_GT(d[1].flows->source, 1);
  EXPECT_LT(d[3].flows->relative_balance, 1e-10);
  EXPECT_LT(std::abs(d[2].flows->balance), std::abs(d[1].flows->balance));
}

// A body that has lost its mind: what can be said is said, what cannot is NaN.
TEST_P(HeatBalance, OfADivergedField) {
  Config config = decks::every_wall({9, 8, 7});
  config.problem.allow_unstable = true;
  config.problem.dt = 1e6 * stable_dt(config);
  config.output.histogram = {4, {}};
  const Diagnostics d = run<double>(device(), config, 1, 100).back();
  EXPECT_GT(d.nan_cells, 0);
  EXPECT_TRUE(std::isnan(d.mean) && std::isnan(*d.heat) && std::isnan(d.flows->balance));
  EXPECT_EQ(d.histogram->counts.back(), d.nan_cells);
  EXPECT_EQ(std::accumulate(d.histogram->counts.begin(), d.histogram->counts.end(), std::int64_t{0}),
            9 * 8 * 7);
}

}  // namespace
}  // namespace isotherm
