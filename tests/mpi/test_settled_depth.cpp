// `solver.halo_width: auto` settled in a session: by costs that are given, and by those of the neighbours at
// hand.
#include <gtest/gtest.h>

#include "app/plan.hpp"
#include "app/settle_depth.hpp"
#include "backend_fixture.hpp"
#include "solver/solver.hpp"
#include "support/decks.hpp"

namespace isotherm {
namespace {

constexpr ExchangeCosts exchanges_are_dear{1, 0, 1e15, 1e-15}, cells_are_dear{1e-9, 0, 1e15, 1};

MeasuredCosts given(const ExchangeCosts& costs) {
  return {costs, "none", 0};
}

Session session_of(Config config, int ranks, const Device& device) {
  config.solver.halo_width = std::nullopt;
  Placement placement;
  placement.backend = device.backend();
  placement.device_index = device.info().index;
  return {{"", config}, {config}, {}, decompose(config, ranks, device.backend()), placement, {}, {}};
}

// The grid that auto takes depends on the depth: here it cuts x for a deep halo only.
TEST(SettledDepth, TheProcessGridIsThatOfTheDepth) {
  constexpr int ranks = 8;
  Session session = session_of(decks::base({64, 64, 64}), ranks, *make_host_device());
  const Decomposition shallow = session.decomposition;
  settle_depth(session, given(exchanges_are_dear), Communicator::world());

  const Config& settled = session.deck.config;
  ASSERT_TRUE(settled.solver.halo_width);
  ASSERT_EQ(*settled.solver.halo_width, 8);
  const Int3 grid = decompose(session.cases.back(), ranks, Backend::host).process_grid();
  ASSERT_FALSE(grid == shallow.process_grid());
  EXPECT_EQ(session.decomposition.process_grid(), grid);
  ASSERT_EQ(session.depth.weighed.size(), 8u);
  EXPECT_DOUBLE_EQ(session.depth.weighed[7].messages, 7.0 / 8);  // of 2 x 2 x 2 ranks
}

TEST(SettledDepth, IsNoDeeperThanSomethingIsDue) {
  const auto depth = [](auto change) {
    Config config = decks::base({64, 64, 64});
    change(config);
    Session session = session_of(config, 8, *make_host_device());
    settle_depth(session, given(exchanges_are_dear), Communicator::world());
    return *session.deck.config.solver.halo_width;
  };
  EXPECT_EQ(depth([](Config& c) { c.problem.check_interval = 3; }), 3);
  EXPECT_EQ(depth([](Config& c) { c.problem.steps = 5; }), 5);
  EXPECT_EQ(depth([](Config& c) { c.output.diagnostics = 4; }), 4);
  EXPECT_EQ(depth([](Config& c) { c.output.every_steps = 2; }), 2);
}

// Ghosts of long, thin blocks take more memory than their cells: what is free has room for some of them only.
TEST(SettledDepth, IsNoDeeperThanMemoryAllows) {
  const Communicator world = Communicator::world();
  const auto host = make_host_device();
  Config config = decks::base({64, 32, 1000000});
  config.parallel.process_grid = Int3{4, 2, 1};
  config.output.asynchronous = false;  // or a copy of the field counts too
  const auto fields = static_cast<double>(memory_of(session_of(config, 8, *host), world).fields);
  const double free = static_cast<double>(host->memory().free_bytes) / world.split_by_host().size();
  const double fitting = world.all_reduce(0.6 * free / fields, ReduceOp::min);
  config.grid.cells.z = static_cast<Index>(1e6 * fitting);

  Session session = session_of(config, 8, *host);
  settle_depth(session, given(exchanges_are_dear), world);
  EXPECT_GT(*session.deck.config.solver.halo_width, 1);
  EXPECT_LT(*session.deck.config.solver.halo_width, 8);
  EXPECT_NO_THROW(refuse_what_does_not_fit(session.memory, session.placement, world));
}

TEST(SettledDepth, IsOneWithoutCosts) {
  Session session = session_of(decks::base({64, 64, 64}), 8, *make_host_device());
  EXPECT_TRUE(depth_is_open(session));
  settle_depth(session, std::nullopt, Communicator::world());
  EXPECT_EQ(session.deck.config.solver.halo_width, 1);
  EXPECT_FALSE(depth_is_open(session));
}

// One rank around periodic axes: as deep as a launch that fuses sweeps pays, where the run is long.
TEST(SettledDepth, OfOneRankServesLaunchesThatFuseSweeps) {
  const auto settled = [](auto change) {
    Config config = decks::periodic({32, 32, 32});
    config.problem.steps = 1000000;
    change(config);
    Session session = session_of(config, 1, *make_host_device());
    ExchangeCosts costs{1e-9, 0, 1e15, 1e-9};
    costs.fused_seconds_a_cell[4] = 0.5e-9;
    settle_depth(session, depth_is_open(session) ? std::optional(given(costs)) : std::nullopt,
                 Communicator::self());
    return *session.deck.config.solver.halo_width;
  };
  EXPECT_EQ(settled([](Config&) {}), 4);
  EXPECT_EQ(settled([](Config& c) { c.solver.kernel = "temporal_openmp"; }), 4);
  EXPECT_EQ(settled([](Config& c) { c.solver.kernel = "openmp"; }), 1);
  EXPECT_EQ(settled([](Config& c) { c.problem.steps = 10; }), 1);
  EXPECT_EQ(settled([](Config& c) { c.boundaries[2].value = Expression("300 + t", "xzt"); }), 1);
}

class MeasuredDepth : public BackendTest {};

template <class T>
std::uint64_t fingerprint(const Session& session, const Communicator& communicator, Device& device) {
  const Config& config = session.cases.back();
  const Decomposition decomposition = decompose(config, communicator.size(), device.backend());
  Solver<T> solver(config, decomposition, communicator, device, choose_rows<T>(config, device.backend()));
  solver.sweep(11);
  return solver.fingerprint();
}

// Whatever these neighbours cost today: all ranks settle on one depth, and its bits are those of one rank.
TEST_P(MeasuredDepth, IsOneOfAllRanksAndHasTheSameBits) {
  const Config config = decks::every_wall({24, 20, 32});
  Session alone = session_of(config, 1, device());
  settle_depth(alone, std::nullopt, Communicator::self());
  const std::uint64_t expected = fingerprint<double>(alone, Communicator::self(), device());

  Session session = session_of(config, world().size(), device());
  const auto measured = measure_depth_costs(session, device(), world());
  ASSERT_EQ(measured.has_value(), world().size() > 1);
  if (!measured) return;
  const auto same_everywhere = [&](double value) {
    EXPECT_EQ(world().all_reduce(value, ReduceOp::min), world().all_reduce(value, ReduceOp::max));
  };
  const ExchangeCosts& costs = measured->costs;
  for (const double cost :
       {costs.seconds_an_exchange, costs.seconds_a_message, costs.bytes_a_second, costs.seconds_a_cell}) {
    same_everywhere(cost);
    EXPECT_GE(cost, 0);
  }
  EXPECT_GT(costs.seconds_an_exchange + costs.seconds_a_message, 0);
  EXPECT_GT(costs.bytes_a_second, 0);
  EXPECT_GT(costs.seconds_a_cell, 0);
  EXPECT_FALSE(measured->transports.empty());

  for (const MeasuredCosts& each : {*measured, given(exchanges_are_dear), given(cells_are_dear)}) {
    Session settled = session;
    settle_depth(settled, each, world());
    const int depth = settled.deck.config.solver.halo_width.value_or(0);
    same_everywhere(depth);
    if (each.transports == "none") {
      EXPECT_EQ(depth > 1, each.costs.seconds_a_cell < 1);
    }
    EXPECT_EQ(fingerprint<double>(settled, world(), device()), expected) << "depth " << depth;
  }
}

ISOTHERM_ON_EACH_BACKEND(MeasuredDepth);

}  // namespace
}  // namespace isotherm
