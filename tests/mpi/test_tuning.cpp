// The trial of `auto`: every rank ends with the same rows, all of which the deck leaves open.
#include "solver/tuning.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend_fixture.hpp"
#include "support/decks.hpp"
#include "support/process_grid.hpp"

namespace isotherm {
namespace {

template <class T>
void expect_agreement(Device& device, const Config& config) {
  const Communicator world = Communicator::world();
  const Decomposition decomposition(config.grid.cells, even_process_grid(world.size()), {});
  const RowChoices<T> choices = row_choices<T>(config, device.backend());
  TuningReport report;
  const SolverRows<T> rows = tune(config, decomposition, world, device, choices, report);
  const std::string mine = std::string(rows.sweep.row->name) + std::to_string(rows.sweep.policy) +
                           std::string(rows.reduction->name);
  for (const std::string& theirs : world.all_gather(mine)) EXPECT_EQ(theirs, mine);

  EXPECT_TRUE(std::any_of(choices.sweeps.begin(), choices.sweeps.end(), [&](const SweepChoice<T>& c) {
    return c.row == rows.sweep.row && c.policy == rows.sweep.policy;
  }));
  EXPECT_NE(std::find(choices.reductions.begin(), choices.reductions.end(), rows.reduction),
            choices.reductions.end());
  EXPECT_TRUE(!rows.reduction->fused || rows.sweep.row->fuses_norm());
  ASSERT_FALSE(report.sweeps.empty());
  const auto fastest = std::min_element(report.sweeps.begin(), report.sweeps.end(),
                                        [](const Trial& a, const Trial& b) { return a.seconds < b.seconds; });
  EXPECT_EQ(fastest->row, rows.sweep.row->name);
  EXPECT_EQ(fastest->policy, rows.sweep.row->policies[static_cast<std::size_t>(rows.sweep.policy)]);
  for (const Trial& trial : report.sweeps) EXPECT_GT(trial.seconds, 0);
}

class TuningOn : public BackendTest {};

TEST_P(TuningOn, EveryRankTakesTheSameRows) {
  Config config = decks::every_wall({17, 23, 31});
  expect_agreement<double>(device(), config);
  expect_agreement<float>(device(), config);
  config.solver.kernel = GetParam() == Backend::host ? "reference" : "naive";
  expect_agreement<double>(device(), config);  // of one kernel, its policies
}
ISOTHERM_ON_EACH_BACKEND(TuningOn);

TEST(RowChoices, KeepToTheDeck) {
  Config config = decks::every_wall({17, 23, 31});
  config.solver.kernel = "openmp";
  config.solver.policy = "1plane";
  config.solver.reduction = "openmp";
  const RowChoices<double> choices = row_choices<double>(config, Backend::host);
  EXPECT_FALSE(choices.open());
  EXPECT_EQ(choices.sweeps.front().row->name, "openmp");
  EXPECT_EQ(choices.sweeps.front().policy, 1);
  EXPECT_EQ(choices.reductions.front()->name, "openmp");
}

TEST(RowChoices, LeaveOutWhatOthersAreComparedWith) {
  const RowChoices<double> choices = row_choices<double>(decks::every_wall({17, 23, 31}), Backend::host);
  for (const auto& choice : choices.sweeps) EXPECT_NE(choice.row->name, "reference");
  for (const auto* row : choices.reductions) EXPECT_NE(row->name, "reference");
  EXPECT_TRUE(choices.reductions.front()->fused);
}

}  // namespace
}  // namespace isotherm
