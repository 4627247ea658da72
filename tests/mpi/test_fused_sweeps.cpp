// Runs whose launches fuse sweeps come to the same field, norm, diagnostics and end as single sweeps of one
// rank: random grids, boundaries, depths, process grids, and counts of sweeps between looks at the field.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backend_fixture.hpp"
#include "support/decks.hpp"
#include "support/process_grid.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

struct Drawn {
  Config config;
  int fused = 1;
  Overlap overlap = Overlap::off;
  std::vector<std::int64_t> parts;
};

Drawn draw(Random& random) {
  const auto upto = [&](std::int64_t least, std::int64_t most) { return random.between(least, most); };
  Drawn drawn;
  const Int3 cells{upto(4, 40), upto(4, 24), upto(4, 24)};
  const std::int64_t kind = upto(0, 2);
  drawn.config = kind == 0   ? decks::steady(cells)
                 : kind == 1 ? decks::periodic(cells)
                             : decks::every_wall(cells);
  if (kind == 2) drawn.config.boundaries[0].value = Expression("320 + 10*sin(20*y)", "yzt");
  drawn.config.solver.halo_width = static_cast<int>(upto(1, 4));
  drawn.config.solver.reduction = upto(0, 1) ? "auto" : "reproducible";
  if (upto(0, 2) == 0) drawn.config.output.diagnostics = 1;
  drawn.fused = static_cast<int>(upto(2, 8));
  drawn.overlap = upto(0, 1) ? Overlap::on : Overlap::off;
  for (int i = 0; i < 3; ++i) drawn.parts.push_back(upto(1, 11));
  return drawn;
}

struct Looked {
  SolverAnswer answer;
  double balance = 0;
  std::vector<double> end{};  // of the last look
  bool operator==(const Looked&) const = default;
};

// What a run says at its end, without output.diagnostics too.
template <class T>
std::vector<double> end_of(Solver<T>& solver) {
  const TemperatureExtremes extremes = solver.extremes();
  std::vector<double> end;
  for (const NumberedTemperature& each : {extremes.lowest, extremes.highest}) {
    end.push_back(each.value);
    end.push_back(static_cast<double>(each.number));
  }
  const std::optional<HeatFlows> heat = solver.heat_flows();
  if (!heat) return {};
  for (const double value : {heat->source, heat->rate, heat->balance}) end.push_back(value);
  end.insert(end.end(), heat->boundaries.begin(), heat->boundaries.end());
  return end;
}

template <class T>
std::vector<Looked> looks(const Drawn& drawn, const Config& config, Solver<T>& solver) {
  std::vector<Looked> found;
  for (const std::int64_t& count : drawn.parts) {
    solver.sweep(count, &count == &drawn.parts.back());
    const double residual = solver.residual();
    const double balance = config.output.diagnostics ? solver.diagnose().flows->balance : 0;
    found.push_back({{solver.fingerprint(), residual}, balance});
  }
  found.back().end = end_of(solver);
  EXPECT_FALSE(found.back().end.empty());
  return found;
}

template <class T>
void check(Drawn drawn, const std::string& kernel, const std::string& transport, Device& device) {
  const Communicator world = Communicator::world();
  const Int3 n = drawn.config.grid.cells;
  Config plain = drawn.config;
  plain.solver.reduction = "reproducible";
  const auto expected = looks(drawn, plain, *PlainSolver<T>(plain));
  Config config = drawn.config;
  config.solver.kernel = kernel;
  config.parallel.overlap = drawn.overlap;
  config.parallel.transport = transport;
  for (const Int3 grid : process_grids(world.size(), n)) {
    const Decomposition decomposition = blocks_of(config, grid);
    if (*config.solver.halo_width > decomposition.deepest_halo().value_or(64)) continue;
    // Without neighbours the depth may stay open.
    if (grid.product() == 1 && decomposition.deepest_halo() == std::nullopt) config.solver.halo_width.reset();
    SolverRows<T> rows = choose_rows<T>(config, device.backend());
    rows.sweep.depth = std::min(drawn.fused, rows.sweep.row->max_depth);
    SCOPED_TRACE(fmt::format("{} {}x{}x{} on {}x{}x{}, depth {}, fused {}, overlap {}", kernel, n.x, n.y, n.z,
                             grid.x, grid.y, grid.z, config.solver.halo_width.value_or(0), rows.sweep.depth,
                             drawn.overlap == Overlap::on));
    Solver<T> solver(config, decomposition, world, device, rows);
    EXPECT_EQ(looks(drawn, config, solver), expected);
  }
}

// Of choices that are drawn from all that `auto` has, each for some sweeps.
void check_steps(const Drawn& drawn, Random& random, Device& device) {
  const Communicator world = Communicator::world();
  Config config = drawn.config;
  const Decomposition decomposition = blocks_of(config, even_process_grid(world.size()));
  config.solver.halo_width.reset();
  config.solver.ghosts = widest_halo(config, decomposition, 3);
  PlainSolver<double> expected(config);
  const RowChoices<double> choices = row_choices<double>(config, device.backend());
  Solver<double> solver(config, decomposition, world, device, choose_rows<double>(config, device.backend()));
  for (int i = 0; i < 5; ++i) {
    StepPlan<double> plan = solver.plan();
    plan.sweep = choices.sweeps[random() % choices.sweeps.size()];
    plan.sweep.depth = std::min(plan.sweep.depth, most_fused(config, decomposition));
    plan.halo_width = random.between(plan.sweep.depth, std::max(plan.sweep.depth, halo_depth(config)));
    const auto fits = [&](const auto* row) { return !row->fused || plan.sweep.row->fuses_norm(); };
    solver.use(plan, **std::ranges::find_if(choices.reductions, fits));
    const std::int64_t sweeps = random.between<std::int64_t>(1, 9);
    EXPECT_EQ(answers(solver, {sweeps}), answers(*expected, {sweeps}));
  }
}

class FusedRuns : public BackendTest {};
ISOTHERM_ON_EACH_BACKEND(FusedRuns);

TEST_P(FusedRuns, AreRunsOfSingleSweeps) {
  Random random(seed_of_all(world()));
  const std::string transport = usable_transports(device(), world()).back();
  for (int i = 0; i < 10; ++i) {
    const Drawn drawn = draw(random);
    for (const auto& row : stencil_kernels<double>()) {
      if (row.backend != GetParam() || row.max_depth == 1) continue;
      i % 2 == 0 ? check<double>(drawn, std::string(row.name), transport, device())
                 : check<float>(drawn, std::string(row.name), transport, device());
    }
  }
}

// Kernel, tile, time block and halo width change between steps, as under the autotuner.
TEST_P(FusedRuns, AreTheSameWhenStepsChange) {
  if (!has_row_that_fuses<double>(GetParam())) GTEST_SKIP() << "no row fuses sweeps on this device";
  Random random(seed_of_all(world()));
  for (int i = 0; i < (GetParam() == Backend::host ? 4 : 1); ++i) {  // an emulated device is slow
    const Drawn drawn = draw(random);
    check_steps(drawn, random, device());
  }
}

// Without a field of the sweep before, no heat is said; a steady problem needs none.
TEST(FusedEnd, HasHeatWhereTheLastSweepStandsAlone) {
  const auto host = make_host_device();
  const auto heat_after = [&](Config config, bool last_alone) {
    config.solver.kernel = "temporal_openmp";
    config.solver.reduction = "fused";
    SolverRows<double> rows = choose_rows<double>(config, Backend::host);
    rows.sweep.depth = 4;
    Solver<double> solver(config, blocks_of(config, {1, 1, 1}), Communicator::self(), *host, rows);
    EXPECT_EQ(solver.fused(), 4);
    const bool at_first = solver.heat_flows().has_value();
    EXPECT_EQ(at_first, config.problem.kind == ProblemKind::steady);
    solver.sweep(8, last_alone);
    return solver.heat_flows().has_value();
  };
  Config transient = decks::every_wall({9, 8, 7});
  transient.boundaries[0].value = Expression(300.0);
  EXPECT_TRUE(heat_after(transient, true));
  EXPECT_FALSE(heat_after(transient, false));
  EXPECT_TRUE(heat_after(decks::steady({9, 8, 7}), false));
  transient.material.conductivity.reset();
  transient.material.diffusivity = 1e-5;
  for (std::size_t f = 0; f < face_count; ++f) transient.boundaries[f] = {};
  EXPECT_FALSE(heat_after(transient, true));
}

// As many as boundaries and ghosts allow, and the run says why it takes single sweeps.
TEST(FusedDepth, IsNoMoreThanMayBe) {
  const auto fused = [](Config config) {
    config.solver.kernel = "temporal_openmp";
    const auto host = make_host_device();
    SolverRows<double> rows = choose_rows<double>(config, Backend::host);
    rows.sweep.depth = 4;
    const Solver<double> solver(config, blocks_of(config, {1, 1, 1}), Communicator::self(), *host, rows);
    return fmt::format("{} {}", solver.fused(), solver.why_single());
  };
  Config steady = decks::steady({9, 8, 7});
  EXPECT_EQ(fused(steady), "4 ");
  steady.solver.halo_width = 2;
  EXPECT_EQ(fused(steady), "2 ");
  steady.solver.halo_width = 1;
  EXPECT_EQ(fused(steady), "1 solver.halo_width is 1");
  EXPECT_EQ(fused(decks::every_wall({9, 8, 7})), "1 walls vary in time");
  Config around = decks::periodic({9, 8, 7});
  EXPECT_EQ(fused(around), "1 solver.halo_width is 1");
  around.solver.halo_width = 3;
  EXPECT_EQ(fused(around), "3 ");
}

}  // namespace
}  // namespace isotherm
