// Sweeps queued as a graph give the bits of sweeps queued one by one, wherever checks fall between them.
#include <gtest/gtest.h>

#include "backend_fixture.hpp"
#include "solver/solver.hpp"
#include "support/decks.hpp"

namespace isotherm {
namespace {

template <class T>
struct Answer {
  std::uint64_t fingerprint;
  double residual;
};

// The answers after runs of odd and even lengths, shorter and longer than a graph.
template <class T>
std::vector<Answer<T>> answers(const Config& config, Device& device, bool graph, const char* reduction) {
  Config each = config;
  each.solver.reduction = reduction;
  SolverRows<T> rows = choose_rows<T>(each, device.backend());
  rows.graph = graph;
  std::array<bool, 3> periodic{};
  for (std::size_t a = 0; a < 3; ++a) periodic[a] = config.boundaries[2 * a].kind == WallKind::periodic;
  Solver<T> solver(each, Decomposition(config.grid.cells, {1, 1, 1}, periodic), Communicator::self(), device,
                   rows);
  std::vector<Answer<T>> found;
  for (const std::int64_t sweeps : {3, 16, 17, 40, 1, 33}) {
    solver.sweep(sweeps);
    const double residual = solver.residual();
    found.push_back({solver.fingerprint(), residual});
  }
  return found;
}

template <class T>
void check(const Config& config, Device& device) {
  for (const char* reduction : {"fused", "warp_shuffle"}) {
    SCOPED_TRACE(reduction);
    const auto plain = answers<T>(config, device, false, reduction),
               graph = answers<T>(config, device, true, reduction);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_EQ(graph[i].fingerprint, plain[i].fingerprint) << "run " << i;
      EXPECT_EQ(graph[i].residual, plain[i].residual) << "run " << i;
    }
  }
}

class SweepGraph : public BackendTest {};

TEST_P(SweepGraph, LeavesTheBitsAlone) {
  if (world().size() > 1) GTEST_SKIP() << "a graph is one rank's";
  Config walls = decks::every_wall({17, 23, 31});
  for (WallConfig& wall : walls.boundaries) {
    if (wall.kind != WallKind::periodic && wall.value.uses('t')) wall = {};
  }
  ASSERT_EQ(why_no_graph(walls, device(), 1), "");
  for (const int depth : {1, 3}) {
    SCOPED_TRACE(depth);
    walls.solver.depth = depth;
    check<double>(walls, device());
    check<float>(walls, device());
  }
  Config around = decks::periodic({12, 9, 10});  // ghosts are swept
  around.solver.depth = 3;
  check<double>(around, device());
}
INSTANTIATE_TEST_SUITE_P(Cuda, SweepGraph, testing::Values(Backend::cuda));

TEST(WhyNoGraph, SaysWhatStandsInTheWay) {
  const auto host = make_host_device();
  EXPECT_EQ(why_no_graph(decks::every_wall({8, 8, 8}), *host, 1), "only GPUs have graphs");
}

}  // namespace
}  // namespace isotherm
