// `solver.depth: auto` settled in a session: what else of it follows.
#include <gtest/gtest.h>

#include "app/plan.hpp"
#include "app/session.hpp"
#include "support/decks.hpp"

namespace isotherm {
namespace {

// The grid that auto takes depends on the depth: here it cuts x for a deep halo only.
TEST(SettledDepth, TheProcessGridIsThatOfTheDepth) {
  constexpr int ranks = 8;
  Config config = decks::base({64, 64, 64});
  config.solver.depth = std::nullopt;
  const Decomposition shallow = decompose(config, ranks, Backend::host);
  Session session{{"", config}, {config}, {}, shallow, {}, {}};
  const ExchangeCosts messages_are_dear{1, 1e15, 1e-15};
  settle_depth(session, messages_are_dear, Communicator::world());

  const Config& settled = session.deck.config;
  ASSERT_TRUE(settled.solver.depth);
  ASSERT_EQ(*settled.solver.depth, 8);
  const Int3 grid = decompose(session.cases.back(), ranks, Backend::host).process_grid();
  ASSERT_FALSE(grid == shallow.process_grid());
  EXPECT_EQ(session.decomposition.process_grid(), grid);
}

}  // namespace
}  // namespace isotherm
