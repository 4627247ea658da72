// Sweeps queued as a graph give the bits of sweeps queued one by one, wherever checks fall between them, with
// the exchanges of halos among them too.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "answer.hpp"
#include "backend_fixture.hpp"
#include "core/error.hpp"
#include "solver/solver.hpp"
#include "support/decks.hpp"
#include "support/process_grid.hpp"
#include "usable_transports.hpp"

namespace isotherm {
namespace {

// After runs of odd and even lengths, shorter and longer than a graph.
template <class T>
std::vector<Answer> answers(Solver<T>& solver) {
  std::vector<Answer> found;
  for (const std::int64_t sweeps : {3, 16, 17, 40, 1, 33}) {
    solver.sweep(sweeps);
    const double residual = solver.residual();
    found.push_back({solver.fingerprint(), residual});
  }
  return found;
}

template <class T>
std::vector<Answer> answers(const Config& config, Device& device, bool graph, const char* reduction) {
  Config each = config;
  each.solver.reduction = reduction;
  SolverRows<T> rows = choose_rows<T>(each, device.backend());
  rows.graph = graph;
  Solver<T> solver(each, Decomposition(config.grid.cells, {1, 1, 1}, periodic(config)), Communicator::self(),
                   device, rows);
  EXPECT_EQ(solver.queues_graphs(), graph);
  return answers(solver);
}

template <class T>
void check(const Config& config, Device& device) {
  for (const char* reduction : {"fused", "warp_shuffle"}) {
    SCOPED_TRACE(reduction);
    EXPECT_EQ(answers<T>(config, device, true, reduction), answers<T>(config, device, false, reduction));
  }
}

// Without values that the host computes for every sweep.
Config walls_that_stay(Int3 cells) {
  Config config = decks::every_wall(cells);
  for (WallConfig& wall : config.boundaries) {
    if (wall.kind != WallKind::periodic && wall.value.uses('t')) wall = {};
  }
  return config;
}

class SweepGraph : public BackendTest {};

TEST_P(SweepGraph, LeavesTheBitsAlone) {
  if (world().size() > 1) GTEST_SKIP() << "of one rank";
  Config walls = walls_that_stay({17, 23, 31});
  ASSERT_EQ(why_no_graph(walls, device()), "");
  for (const int depth : {1, 3}) {
    SCOPED_TRACE(depth);
    walls.solver.halo_width = depth;
    check<double>(walls, device());
    check<float>(walls, device());
  }
  Config around = decks::periodic({12, 9, 10});  // ghosts are swept
  around.solver.halo_width = 3;
  check<double>(around, device());
}
// Against plain loops of one rank on the host.
TEST_P(SweepGraph, HoldsTheExchangesOfItsSweeps) {
  if (world().size() == 1) GTEST_SKIP() << "nothing is exchanged";
  const auto host = make_host_device();
  const std::vector<std::string> transports = usable_transports(device(), world());
  for (Config config : {walls_that_stay({9, 10, 13}), decks::periodic({8, 9, 13})}) {
    config.solver.kernel = "reference";
    const std::vector<Answer> expected = answers<double>(config, *host, false, "reference");
    config.solver.kernel = "auto";
    for (const std::string& transport : transports) {
      for (const int depth : {1, 2, 4}) {
        const Decomposition blocks(config.grid.cells, even_process_grid(world().size()), periodic(config));
        if (depth > blocks.deepest_halo().value_or(depth)) continue;
        for (const Overlap overlap : {Overlap::off, Overlap::on}) {
          SCOPED_TRACE(fmt::format("{}, {}, depth {}, overlap {}", periodic(config)[0] ? "periodic" : "walls",
                                   transport, depth, overlap == Overlap::on));
          config.parallel.transport = transport;
          config.parallel.overlap = overlap;
          config.solver.halo_width = depth;
          SolverRows<double> rows = choose_rows<double>(config, device().backend());
          rows.graph = true;
          Solver<double> solver(config, blocks, world(), device(), rows, transport != "auto" && depth == 1);
          if (transport != "auto") {
            EXPECT_EQ(solver.queues_graphs(), transport == "peer" || transport == "nccl");
          }
          EXPECT_EQ(answers(solver), expected);
        }
      }
    }
  }
}

TEST_P(SweepGraph, IsTriedWithTheExchangesWhereTheyCanBeRecorded) {
  if (world().size() == 1) GTEST_SKIP() << "nothing is exchanged";
  Config config = decks::steady({9, 10, 13});  // with sources, which are there before the trial
  config.solver.kernel = "reference";
  const std::vector<Answer> expected = answers<double>(config, *make_host_device(), false, "reference");
  config.solver.kernel = "auto";
  for (const std::string& transport : usable_transports(device(), world())) {
    for (const int depth : {1, 3}) {
      SCOPED_TRACE(fmt::format("{}, depth {}", transport, depth));
      config.parallel.transport = transport;
      config.solver.halo_width = depth;
      SolverRows<double> rows = choose_rows<double>(config, device().backend());
      rows.try_graph = true;
      Solver<double> solver(
          config, Decomposition(config.grid.cells, even_process_grid(world().size()), periodic(config)),
          world(), device(), rows);
      EXPECT_EQ(solver.sweeps(), 0);
      if (transport == "host" || transport == "mpi_device") {
        EXPECT_FALSE(solver.graph_trial().has_value());
        EXPECT_FALSE(solver.queues_graphs());
      } else if (const auto& trial = solver.graph_trial()) {  // an emulated sweep may be too long
        EXPECT_EQ(solver.queues_graphs(), trial->graph < worth_a_graph * trial->launches);
        EXPECT_EQ(world().all_reduce(trial->graph, ReduceOp::max), trial->graph);
      } else {
        EXPECT_FALSE(solver.queues_graphs());
      }
      EXPECT_EQ(answers(solver), expected);
    }
  }
}

// Beside or after the exchanges, in any policy that is left open: the fastest way, the same on all ranks, and
// the field as if nothing had been tried.
TEST_P(SweepGraph, TheWayOfAStepIsTriedWithItsExchanges) {
  if (world().size() == 1) GTEST_SKIP() << "nothing is exchanged";
  Config config = decks::steady({9, 10, 13});
  config.solver.kernel = "reference";
  const std::vector<Answer> expected = answers<double>(config, *make_host_device(), false, "reference");
  config.solver.kernel = "auto";
  for (const int depth : {1, 2}) {
    config.solver.halo_width = depth;
    SolverRows<double> rows = choose_rows<double>(config, device().backend());
    for (int policy = 0; policy < static_cast<int>(rows.sweep.row->policies.size()); ++policy) {
      if (policy != rows.sweep.policy && rows.sweep.row->why_unsupported(policy).empty())
        rows.close.push_back({rows.sweep.row, policy, rows.sweep.depth});
    }
    rows.try_overlap = true;
    Solver<double> solver(
        config, Decomposition(config.grid.cells, even_process_grid(world().size()), periodic(config)),
        world(), device(), rows);
    EXPECT_EQ(solver.sweeps(), 0);
    const std::vector<StepTrial>& trials = solver.step_trials();
    const StepTrial* fastest = trials.data();
    for (const StepTrial& trial : trials) {
      EXPECT_EQ(world().all_reduce(trial.seconds, ReduceOp::max), trial.seconds);
      if (trial.seconds < fastest->seconds) fastest = &trial;
    }
    std::vector<SweepChoice<double>> choices = rows.close;
    choices.insert(choices.begin(), rows.sweep);
    const auto policy_of = [](const SweepChoice<double>& choice) {
      return choice.row->policies[static_cast<std::size_t>(choice.policy)];
    };
    std::size_t next = 0;
    const auto best = [&](const std::vector<Overlap>& ways) {  // so far
      double seconds = 1e30;
      for (std::size_t i = 0; i < next; ++i) {
        const bool is_one = std::find(ways.begin(), ways.end(), trials[i].overlap) != ways.end();
        if (is_one) seconds = std::min(seconds, trials[i].seconds);
      }
      return seconds;
    };
    for (const SweepChoice<double>& choice : choices) {
      for (const Overlap way : {Overlap::on, Overlap::off}) {
        const bool is_tried =
            next < trials.size() && trials[next].policy == policy_of(choice) && trials[next].overlap == way;
        if (!is_tried) {  // as it has lost by so much
          EXPECT_NE(choice, choices.front());
          EXPECT_GT(best({way}), 1.1 * best({Overlap::on, Overlap::off}));
        }
        next += is_tried;
      }
    }
    EXPECT_EQ(next, trials.size());
    EXPECT_EQ(policy_of(solver.sweep_choice()), fastest->policy);
    EXPECT_EQ(solver.overlap(), fastest->overlap);
    EXPECT_EQ(answers(solver), expected);
  }
}

// A wall that varies in time is one of some ranks; that nothing is tried for it is a matter of all.
TEST_P(SweepGraph, WallsThatVaryInTimeAreNotTriedOnAnyRank) {
  Config config = decks::every_wall({24, 9, 10});
  config.parallel.transport = "host";
  SolverRows<double> rows = choose_rows<double>(config, device().backend());
  rows.try_overlap = true;
  const Int3 parts = {world().size(), 1, 1};
  Solver<double> solver(config, Decomposition(config.grid.cells, parts, periodic(config)), world(), device(),
                        rows);
  EXPECT_TRUE(solver.step_trials().empty());
}

TEST_P(SweepGraph, ThatADeckInsistsOnIsRefusedWhereHalosNeedTheHost) {
  if (world().size() == 1) GTEST_SKIP() << "nothing is exchanged";
  Config config = walls_that_stay({9, 10, 13});
  config.parallel.transport = "host";
  config.solver.cuda_graph = GraphChoice::on;
  const Decomposition decomposition(config.grid.cells, even_process_grid(world().size()), periodic(config));
  try {
    Solver<double>(config, decomposition, world(), device(), choose_rows<double>(config, device().backend()));
    ADD_FAILURE() << "it was made";
  } catch (const CollectiveError& e) {
    EXPECT_EQ(e.code(), ExitCode::deck);
    EXPECT_STREQ(
        e.what(),
        "test: solver.cuda_graph: sweeps cannot be queued as graphs here (ranks 0 and 1 exchange halos by "
        "transport host, which needs the host); use auto");
  }
}
INSTANTIATE_TEST_SUITE_P(Cuda, SweepGraph, testing::Values(Backend::cuda));

TEST(WhyNoGraph, SaysWhatStandsInTheWay) {
  const auto host = make_host_device();
  EXPECT_EQ(why_no_graph(decks::every_wall({8, 8, 8}), *host), "only GPUs have graphs");
}

}  // namespace
}  // namespace isotherm
