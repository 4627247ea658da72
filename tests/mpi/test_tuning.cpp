// The trial of `auto`: every rank ends with the same rows, all of which the deck leaves open, and which are
// the fastest by the trial's own figures.
#include "solver/tuning.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend_fixture.hpp"
#include "core/error.hpp"
#include "solver/solver.hpp"
#include "support/decks.hpp"
#include "support/process_grid.hpp"

namespace isotherm {
namespace {

template <class T>
TuningReport expect_agreement(Device& device, const Config& config) {
  const Communicator world = Communicator::world();
  const Decomposition decomposition(config.grid.cells, even_process_grid(world.size()), {});
  const RowChoices<T> choices = row_choices<T>(config, device.backend());
  TuningReport report;
  const SolverRows<T> rows = tune(config, decomposition, world, device, choices, report);
  const std::string mine = std::string(rows.sweep.row->name) + std::to_string(rows.sweep.policy) + " " +
                           std::to_string(rows.sweep.depth) + std::string(rows.reduction->name);
  for (const std::string& theirs : world.all_gather(mine)) EXPECT_EQ(theirs, mine);

  EXPECT_NE(std::find(choices.sweeps.begin(), choices.sweeps.end(), rows.sweep), choices.sweeps.end());
  EXPECT_NE(std::find(choices.reductions.begin(), choices.reductions.end(), rows.reduction),
            choices.reductions.end());
  EXPECT_TRUE(!rows.reduction->fused || rows.sweep.row->fuses_norm());
  EXPECT_FALSE(report.sweeps.empty());
  if (report.sweeps.empty()) return report;
  const auto fastest = std::min_element(report.sweeps.begin(), report.sweeps.end(),
                                        [](const Trial& a, const Trial& b) { return a.seconds < b.seconds; });
  EXPECT_EQ(fastest->row, rows.sweep.row->name);
  EXPECT_EQ(fastest->policy, rows.sweep.row->policies[static_cast<std::size_t>(rows.sweep.policy)]);
  EXPECT_EQ(fastest->depth, rows.sweep.depth);
  for (const Trial& trial : report.sweeps) EXPECT_GT(trial.seconds, 0);
  for (const SweepChoice<T>& close : rows.close) {
    EXPECT_NE(close, rows.sweep);
    EXPECT_TRUE(!rows.reduction->fused || close.row->fuses_norm());
  }
  return report;
}

bool any_fused(const TuningReport& report) {
  return std::any_of(report.sweeps.begin(), report.sweeps.end(), [](const Trial& t) { return t.depth > 1; });
}

class TuningOn : public BackendTest {};

TEST_P(TuningOn, EveryRankTakesTheSameRows) {
  Config config = decks::every_wall({17, 23, 31});
  expect_agreement<double>(device(), config);
  expect_agreement<float>(device(), config);
  config.solver.kernel = GetParam() == Backend::host ? "reference" : "naive";
  expect_agreement<double>(device(), config);  // of one kernel, its policies
}

// Each choice once, the single sweeps first; no more sweeps a launch than the deck has room for.
TEST_P(TuningOn, LaunchesThatFuseSweepsAreTriedInLongRuns) {
  if (!has_row_that_fuses<double>(GetParam())) GTEST_SKIP() << "no row fuses sweeps on this device";
  Config config = decks::steady({9, 8, 7});
  config.problem.max_sweeps = 1000000000;
  config.problem.tolerance = 0;  // never reached
  config.problem.check_interval = 4;
  const auto axes_cut = even_process_grid(world().size());
  config.solver.halo_width = axes_cut.product() > 1 ? std::optional(2) : std::nullopt;
  const TuningReport report = expect_agreement<double>(device(), config);
  EXPECT_EQ(report.why_single, "");
  ASSERT_TRUE(any_fused(report));
  EXPECT_EQ(report.sweeps.front().depth, 1);
  const auto first =
      std::find_if(report.sweeps.begin(), report.sweeps.end(), [](const Trial& t) { return t.depth > 1; });
  for (auto at = first; at != report.sweeps.end(); ++at) {
    EXPECT_GT(at->depth, 1);
    EXPECT_LE(at->depth, config.solver.halo_width.value_or(4));
    for (auto other = first; other != at; ++other)
      EXPECT_FALSE(other->row == at->row && other->policy == at->policy && other->depth == at->depth);
  }
}

// Before anything is made: a row that has no room for the block of a rank is refused by name, and no choice
// of `auto`.
TEST_P(TuningOn, NoRowIsAskedForABlockThatItHasNoRoomFor) {
  Config config = decks::steady({9, 8, 7});
  const Index most = std::numeric_limits<Index>::max() / 16;
  bool any = false;
  for (const StencilKernel<double>& row : stencil_kernels<double>()) {
    if (row.backend != GetParam() || row.longest_axis > most || !row.why_unsupported(0).empty()) continue;
    any = true;
    const Int3 fits{8, row.longest_axis, 7}, longer{8, row.longest_axis + 1, 7};
    const auto offered = [&](Int3 block) {
      const auto sweeps = row_choices<double>(config, GetParam(), block).sweeps;
      return std::any_of(sweeps.begin(), sweeps.end(), [&](const auto& c) { return c.row == &row; });
    };
    config.solver.kernel = "auto";
    EXPECT_TRUE(offered(fits)) << row.name;
    EXPECT_FALSE(offered(longer)) << row.name;
    config.solver.kernel = row.name;
    EXPECT_TRUE(offered(fits)) << row.name;
    try {
      offered(longer);
      ADD_FAILURE() << row.name << " was taken";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::unavailable);
      EXPECT_NE(
          std::string(e.what()).find(fmt::format("it has room for {} cells along an axis, and a block has {}",
                                                 row.longest_axis, row.longest_axis + 1)),
          std::string::npos)
          << e.what();
    }
  }
  EXPECT_EQ(any, GetParam() == Backend::cuda && has_row_that_fuses<double>(GetParam()));
}

ISOTHERM_ON_EACH_BACKEND(TuningOn);

// What launches of a trial have kept is given back before the fields are filled.
TEST(Tuning, LeavesNoMemoryOfRowsThatItTried) {
  const auto host = make_host_device();
  const Communicator world = Communicator::world();
  Config config = decks::steady({40, 30, 20 * world.size()});
  config.problem.max_sweeps = 1000000000;
  config.problem.tolerance = 0;  // never reached
  const Decomposition blocks(config.grid.cells, {1, 1, world.size()}, {});
  config.solver.halo_width = world.size() > 1 ? std::optional(2) : std::nullopt;
  const RowChoices<double> choices = row_choices<double>(config, Backend::host);
  TuningReport report;
  SolverRows<double> rows = tune(config, blocks, world, *host, choices, report);
  const auto fused = std::find_if(choices.sweeps.begin(), choices.sweeps.end(),
                                  [](const auto& choice) { return choice.row->memory && choice.depth == 2; });
  ASSERT_NE(fused, choices.sweeps.end());
  EXPECT_GT(fused->row->memory->held(), 0u);
  rows.close.push_back(*fused);
  const Solver<double> solver(config, blocks, world, *host, rows);
  EXPECT_EQ(fused->row->memory->held(), 0u);
}

TEST(Tuning, OfShortRunsTriesNoMoreThanTheyGain) {
  const auto host = make_host_device();
  Config config = decks::steady({9, 8, 7});
  config.problem.max_sweeps = 10;
  config.solver.halo_width = 2;
  const TuningReport report = expect_agreement<float>(*host, config);
  EXPECT_FALSE(any_fused(report));
  EXPECT_EQ(report.why_single, "the run is too short to try others");
  config.solver.kernel = "temporal_openmp";  // the deck wants it
  config.solver.tile = "2rows";
  EXPECT_TRUE(any_fused(expect_agreement<float>(*host, config)));
}

TEST(Tuning, FusesNothingWhereWallsVaryInTimeOrSweepsStoreTheirFaces) {
  const auto host = make_host_device();
  Config config = decks::every_wall({9, 8, 7});
  config.problem.steps = 1000000000;
  EXPECT_FALSE(any_fused(expect_agreement<double>(*host, config)));
  if (Communicator::world().size() == 1) return;
  config = decks::steady({9, 8, 7});
  config.problem.max_sweeps = 1000000000;
  config.problem.tolerance = 0;  // never reached
  config.parallel.overlap = Overlap::in_kernel;
  EXPECT_FALSE(any_fused(expect_agreement<double>(*host, config)));
}

TEST(RowChoices, KeepToTheDeck) {
  Config config = decks::every_wall({17, 23, 31});
  config.solver.kernel = "openmp";
  config.solver.tile = "1plane";
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
