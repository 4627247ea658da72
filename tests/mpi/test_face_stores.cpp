// Sweeps that store their faces into the neighbours' ghosts themselves: the bits of exchanges, on every
// process grid, however the sweeps are called, as graphs too; and where they cannot, words.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "answer.hpp"
#include "backend_fixture.hpp"
#include "core/error.hpp"
#include "solver/solver.hpp"
#include "support/decks.hpp"
#include "support/process_grid.hpp"
#include "usable_transports.hpp"

namespace isotherm {
namespace {

template <class T>
std::vector<Answer> answers(Solver<T>& solver) {
  std::vector<Answer> found;
  for (const std::int64_t sweeps : {1, 2, 7, 33}) {
    solver.sweep(sweeps);
    const double residual = solver.residual();
    found.push_back({solver.fingerprint(), residual});
  }
  return found;
}

template <class T>
std::vector<Answer> expected_of(Config config) {
  config.solver.kernel = "reference";
  config.parallel = {};
  const auto host = make_host_device();
  Solver<T> solver(config, Decomposition(config.grid.cells, {1, 1, 1}, periodic(config)),
                   Communicator::self(), *host, choose_rows<T>(config, Backend::host));
  return answers(solver);
}

class FaceStoresTest : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (IsSkipped()) return;
    if (world().size() == 1) GTEST_SKIP() << "nothing is exchanged";
    if (const std::string why = why_no_gpu_each(); !why.empty()) GTEST_SKIP() << why;
    const std::vector<std::string> transports = usable_transports(device(), world());
    if (std::find(transports.begin(), transports.end(), "peer") == transports.end())
      GTEST_SKIP() << "needs transport peer";
  }

  template <class T>
  void expect_the_bits_of_exchanges(Config config, Int3 parts, bool graph) {
    SCOPED_TRACE(
        fmt::format("{} bytes, {}x{}x{} parts, graph {}", sizeof(T), parts.x, parts.y, parts.z, graph));
    const std::vector<Answer> expected = expected_of<T>(config);
    config.solver.kernel = "tma_pipeline";
    config.solver.reduction = graph ? "warp_shuffle" : "fused";  // a sweep with a norm stores nothing
    config.parallel.transport = "peer";
    config.parallel.overlap = Overlap::in_kernel;
    const Decomposition blocks(config.grid.cells, parts, periodic(config));
    SolverRows<T> rows = choose_rows<T>(config, device().backend());
    rows.graph = graph;
    Solver<T> solver(config, blocks, world(), device(), rows, true);
    EXPECT_EQ(solver.overlap(), Overlap::in_kernel);
    EXPECT_EQ(answers(solver), expected);
  }
};
INSTANTIATE_TEST_SUITE_P(Cuda, FaceStoresTest, testing::Values(Backend::cuda));

// Whole tiles along x where it is cut.
TEST_P(FaceStoresTest, GiveTheBitsOfExchanges) {
  for (const Int3 p : process_grids(world().size(), {1000, 1000, 1000})) {
    const Index x = p.x > 1 ? 128 * p.x : 37;
    expect_the_bits_of_exchanges<double>(decks::every_wall({x, 10 * p.y + 1, 7 * p.z + 1}), p, false);
    expect_the_bits_of_exchanges<float>(decks::every_wall({2 * x, 12 * p.y - 1, 5 * p.z + 1}), p, false);
    expect_the_bits_of_exchanges<double>(decks::steady({x, 9 * p.y, 3 * p.z}), p, true);
    expect_the_bits_of_exchanges<float>(decks::steady({2 * x, 35 * p.y, p.z}), p, true);
  }
}

// A neighbour on both sides, and one that is the same on both.
TEST_P(FaceStoresTest, GoAroundAxesThatAreCut) {
  Config config = decks::steady({40, 9, 8});
  for (const std::size_t axis : {0, 1, 2}) {
    Config around = config;
    around.boundaries[2 * axis] = around.boundaries[2 * axis + 1] = {WallKind::periodic, {}, {}};
    const Index n = world().size();
    const Int3 parts{axis == 0 ? n : 1, axis == 1 ? n : 1, axis == 2 ? n : 1};
    around.grid.cells = {axis == 0 ? 128 * n : 40, 9 * parts.y, 8 * parts.z};
    expect_the_bits_of_exchanges<double>(around, parts, axis == 1);
  }
}

TEST_P(FaceStoresTest, AreTriedAmongTheWaysOfAStep) {
  Config config = decks::steady({40, 9 * world().size(), 12});
  const std::vector<Answer> expected = expected_of<double>(config);
  config.solver.kernel = "tma_pipeline";
  config.parallel.transport = "peer";
  SolverRows<double> rows = choose_rows<double>(config, device().backend());
  rows.try_overlap = true;
  Solver<double> solver(config, Decomposition(config.grid.cells, {1, world().size(), 1}, periodic(config)),
                        world(), device(), rows);
  ASSERT_EQ(solver.step_trials().size(), 3u);
  EXPECT_EQ(solver.step_trials().back().overlap, Overlap::in_kernel);
  EXPECT_EQ(answers(solver), expected);
}

// By `run --profile`. No sweep has two parts, and what exchanges take is that of the first, or of one behind
// each sweep with a norm.
TEST_P(FaceStoresTest, KeepTheirBitsWhilePhasesAreTimed) {
  Config config = decks::steady({40, 9 * world().size(), 12});
  const std::vector<Answer> expected = expected_of<double>(config);
  config.solver.kernel = "tma_pipeline";
  config.parallel.transport = "peer";
  config.parallel.overlap = Overlap::in_kernel;
  for (const char* reduction : {"warp_shuffle", "fused"}) {
    SCOPED_TRACE(reduction);
    config.solver.reduction = reduction;
    SolverRows<double> rows = choose_rows<double>(config, device().backend());
    rows.graph = true;
    Solver<double> solver(config, Decomposition(config.grid.cells, {1, world().size(), 1}, periodic(config)),
                          world(), device(), rows);
    solver.time_phases();
    EXPECT_FALSE(solver.queues_graphs());
    EXPECT_EQ(answers(solver), expected);
    const SolverTimes times = solver.times();
    EXPECT_EQ(times.interior, 0);
    EXPECT_EQ(times.shells, 0);
    EXPECT_GT(times.sweep, 0);
    EXPECT_EQ(times.exchange[Phase::pack], 0);  // peers store
    EXPECT_GT(times.exchange[Phase::wire], 0);
    EXPECT_GT(times.exchange[Phase::unpack], 0);
    EXPECT_LE(times.exchange[Phase::wire] + times.exchange[Phase::unpack], times.halo);
    EXPECT_GT(times.reduction, 0);
  }
}

TEST_P(FaceStoresTest, AreRefusedWhereTheyCannotBe) {
  const auto refused = [&](Config config, Int3 parts) {
    config.parallel.overlap = Overlap::in_kernel;
    try {
      Solver<double> solver(config, Decomposition(config.grid.cells, parts, periodic(config)), world(),
                            device(), choose_rows<double>(config, device().backend()));
    } catch (const CollectiveError& e) {
      return e.code() == ExitCode::unavailable &&
             std::string(e.what()).find("parallel.overlap: sweeps cannot store their faces here") !=
                 std::string::npos;
    }
    return false;
  };
  const Index n = world().size();
  Config config = decks::steady({128 * n, 9 * n, 12});
  config.solver.kernel = "tma_pipeline";
  config.parallel.transport = "peer";
  EXPECT_FALSE(refused(config, {n, 1, 1}));
  EXPECT_FALSE(refused(config, {1, n, 1}));
  Config other = config;
  other.grid.cells.x = 130 * n;
  EXPECT_TRUE(refused(other, {n, 1, 1}));
  EXPECT_FALSE(refused(other, {1, n, 1}));
  other = config;
  other.parallel.transport = "host";
  EXPECT_TRUE(refused(other, {1, n, 1}));
  other = config;
  other.solver.kernel = "naive";
  EXPECT_TRUE(refused(other, {1, n, 1}));
  other = config;
  other.solver.halo_width = 2;
  EXPECT_TRUE(refused(other, {1, n, 1}));
  other = config;  // an axis around which a rank is its own neighbour
  other.boundaries[4] = other.boundaries[5] = {WallKind::periodic, {}, {}};
  EXPECT_TRUE(refused(other, {1, n, 1}));
  other = config;
  other.grid.cells = {9, 9 * n, 12};  // too narrow for the row's tiles
  EXPECT_TRUE(refused(other, {1, n, 1}));
}

}  // namespace
}  // namespace isotherm
