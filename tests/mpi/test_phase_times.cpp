// A solver that times its phases gives the bits of one that does not, and says where the time of exchanges
// went.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "answer.hpp"
#include "backend_fixture.hpp"
#include "solver/solver.hpp"
#include "support/decks.hpp"
#include "support/process_grid.hpp"

namespace isotherm {
namespace {

class PhaseTimes : public BackendTest {};
ISOTHERM_ON_EACH_BACKEND(PhaseTimes);

Answer answer_of(Solver<double>& solver) {
  solver.sweep(7);
  const double residual = solver.residual();
  solver.sweep(20);
  return {solver.fingerprint(), residual};
}

TEST_P(PhaseTimes, ChangeNoBitAndAddUp) {
  Config config = decks::steady({17, 13, 14});
  config.solver.reduction = GetParam() == Backend::host ? "reference" : "warp_shuffle";
  for (const Overlap overlap : {Overlap::on, Overlap::off}) {
    SCOPED_TRACE(fmt::format("overlap {}", overlap == Overlap::on));
    config.parallel.overlap = overlap;
    SolverRows<double> rows = choose_rows<double>(config, device().backend());
    rows.graph = why_no_graph(config, device()).empty();
    const Decomposition decomposition(config.grid.cells, even_process_grid(world().size()), periodic(config));
    Solver<double> plain(config, decomposition, world(), device(), rows);
    Solver<double> timed(config, decomposition, world(), device(), rows);
    timed.time_phases();
    EXPECT_FALSE(timed.queues_graphs());
    EXPECT_EQ(timed.times().sum(), 0);
    EXPECT_EQ(answer_of(plain), answer_of(timed));

    const SolverTimes times = timed.times();
    const auto& exchange = times.exchange;
    const bool beside = overlap == Overlap::on;
    const bool several = world().size() > 1;
    EXPECT_EQ(exchange[Phase::wire] > 0, several);
    EXPECT_EQ(exchange[Phase::unpack] > 0, several);
    EXPECT_LE(exchange[Phase::pack] + exchange[Phase::wire] + exchange[Phase::unpack], times.halo);
    EXPECT_EQ(times.interior > 0, beside);
    EXPECT_EQ(times.shells > 0, beside);
    EXPECT_LE(times.interior + times.shells, times.sweep);
    EXPECT_GT(times.reduction, 0);
    EXPECT_EQ(plain.times().exchange[Phase::wire], 0);
  }
}

}  // namespace
}  // namespace isotherm
