// Promise 1: the field and the max norm have the same bits for every kernel, rank count, process grid, halo
// width and overlap. Every cell is compared with == with one rank and plain loops.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "backend_fixture.hpp"
#include "config/boundary_laws.hpp"
#include "config/materials.hpp"
#include "kernels/stencil.hpp"
#include "support/decks.hpp"
#include "support/error_text.hpp"
#include "support/field_by_index.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

template <class T>
struct Outcome {
  std::vector<T> cells;  // of this rank's subdomain, x is the fastest index
  double residual = 0;
  std::uint64_t fingerprint = 0;
  std::vector<double> figures{};  // further ones, which all ranks know
};
template <class T>
Outcome<T> outcome_of(Solver<T>& solver) {
  Outcome<T> outcome{{}, solver.residual(), solver.fingerprint()};
  const FieldView<const T> field = solver.host_field();
  for_each_cell(field.extent, [&](Int3 c) { outcome.cells.push_back(field(c)); });
  return outcome;
}

// After each part of a run.
template <class T>
std::vector<Outcome<T>> outcomes(Solver<T>& solver, std::initializer_list<std::int64_t> parts) {
  std::vector<Outcome<T>> found;
  for (const std::int64_t count : parts) {
    solver.sweep(count);
    found.push_back(outcome_of(solver));
  }
  return found;
}

// `whole` has the cells of all ranks, `found` those of this rank's `subdomain`.
template <class T>
void expect_outcome(const Outcome<T>& found, const Outcome<T>& whole, Int3 n, Box subdomain) {
  std::vector<T> expected;
  for_each_cell(subdomain, [&](Int3 c) { expected.push_back(whole.cells[index_of(c, n)]); });
  ASSERT_EQ(found.cells.size(), expected.size());
  EXPECT_EQ(std::memcmp(found.cells.data(), expected.data(), expected.size() * sizeof(T)), 0);
  EXPECT_EQ(found.residual, whole.residual);
  EXPECT_EQ(found.fingerprint, whole.fingerprint);
  EXPECT_EQ(found.figures, whole.figures);
}

// Configurations that must give the result of one rank's plain loops; a slow device tests every `nth`.
struct Ways {
  bool every_transport = false;  // and `auto`; otherwise the last one
  std::vector<Int3> process_grids = tested_process_grids(Communicator::world().size());
  std::vector<std::optional<int>> halo_widths{std::nullopt};  // those that a process grid allows
  std::vector<std::string> kernels{"auto"};
  std::vector<Overlap> overlaps{Overlap::off, Overlap::on};
  std::optional<int> time_block{};  // where the kernel can; otherwise that of the deck
  std::string reduction{};          // otherwise that of the deck
  bool graph = false;               // sweeps are queued as graphs where possible
  int nth = 1;
};

// `run` computes the outcomes of a solver.
template <class T, class Run>
void expect_one_answer(Config config, const Ways& ways, Device& device, const Run& run) {
  const Communicator world = Communicator::world();
  const Int3 n = config.grid.cells;
  const std::vector<Outcome<T>> expected = run(*PlainSolver<T>(config));
  std::vector<std::string> transports = usable_transports(device, world);
  if (!ways.every_transport) transports.erase(transports.begin(), transports.end() - 1);
  if (ways.every_transport) transports.emplace_back("auto");
  if (!ways.reduction.empty()) config.solver.reduction = ways.reduction;
  const auto expect = [&](const Decomposition& decomposition) {
    if (left_out(device, ways.nth)) return;
    SolverKernels<T> kernels = choose_kernels<T>(config, device.backend());
    if (ways.time_block)
      kernels.sweep.time_block = std::min(*ways.time_block, kernels.sweep.kernel->max_time_block);
    SCOPED_TRACE(fmt::format(
        "{} bytes, transport {}, process grid {}, halo width {}, kernel {}, time block {}, overlap {}",
        sizeof(T), config.parallel.transport, text(decomposition.process_grid()),
        config.solver.halo_width.value_or(0), config.solver.kernel, kernels.sweep.time_block,
        static_cast<int>(config.parallel.overlap)));
    kernels.graph = kernels.graph || ways.graph;
    const bool is_timed = ways.graph && config.parallel.transport != "auto" && config.solver.halo_width == 1;
    Solver<T> solver(config, decomposition, world, device, kernels, is_timed);
    const std::vector<Outcome<T>> found = run(solver);
    for (std::size_t i = 0; i < found.size(); ++i) {
      SCOPED_TRACE(fmt::format("part {}", i));
      EXPECT_GT(expected[i].residual, 0);
      expect_outcome(found[i], expected[i], n, decomposition.subdomain(world.rank()));
    }
  };
  for (const std::string& transport : transports) {
    config.parallel.transport = transport;
    for (const Int3 grid : ways.process_grids) {
      if (grid.x > n.x || grid.y > n.y || grid.z > n.z) continue;
      const Decomposition decomposition = blocks_of(config, grid);
      for (const std::optional<int> halo_width : ways.halo_widths) {
        if (halo_width > decomposition.max_halo_width().value_or(4)) continue;
        config.solver.halo_width = halo_width;
        for (const std::string& kernel : ways.kernels) {
          config.solver.kernel = kernel;
          for (const Overlap overlap : ways.overlaps) {
            config.parallel.overlap = overlap;
            expect(decomposition);
          }
        }
      }
    }
  }
}

const auto at_once = [](auto& solver) { return outcomes(solver, {7}); };

template <class T>
bool can_sweep(const StencilKernel<T>& kernel, const Config& config) {
  const bool several = has_several_materials(config);
  const bool varying = several ? coefficients_use_time(config) : has_varying_coefficients(config);
  return (kernel.sweeps_materials || !several) && (kernel.takes_varying_a() || !varying);
}

template <class T>
void expect_one_answer_of_kernels(const Config& config, Device& device) {
  Ways ways{.kernels = {}, .nth = 7};
  for (const auto& kernel : stencil_kernels<T>()) {
    if (kernel.backend == device.backend() && can_sweep(kernel, config))
      ways.kernels.emplace_back(kernel.name);
  }
  expect_one_answer<T>(config, ways, device, at_once);
}

// One kernel of each kind of boundary and region handling, so that not every kernel is tested with every halo
// width; for several materials, every kernel that supports them.
std::vector<std::string> kernels_of_kinds(Backend backend, const Config& config) {
  const std::set<std::string_view> kinds{"reference", "openmp", "naive", "coarsened", "tma_pipeline"};
  std::vector<std::string> names;
  for (const auto& kernel : stencil_kernels<double>()) {
    const bool is_kind = kinds.contains(kernel.name) || kernel.max_time_block > 1;
    if (kernel.backend == backend && can_sweep(kernel, config) && (is_kind || has_several_materials(config)))
      names.emplace_back(kernel.name);
  }
  return names;
}

template <class T>
void expect_one_answer_at_every_halo_width(Config config, Device& device) {
  // The sweep returns the max norm, if the kernel can; sums are exact.
  config.solver.reduction = config.problem.norm == Norm::max ? "auto" : "reproducible";
  const Ways ways{// divided along each axis, and along as many as possible
                  .process_grids = process_grids(Communicator::world().size(), config.grid.cells),
                  .halo_widths = {1, 2, 3, 4},
                  .kernels = kernels_of_kinds(device.backend(), config),
                  .nth = 5};
  // Sweeps between checks: one, fewer than a period, several periods, no multiple of a halo width.
  expect_one_answer<T>(config, ways, device, [](auto& solver) { return outcomes(solver, {1, 7, 5, 1, 3}); });
}

Config in_cycles(Int3 n) {
  Config config = decks::steady(n);
  config.problem.method = MethodName::chebyshev;
  config.problem.cycle = 8;
  return config;
}

class OneAnswer : public BackendTest {};
ISOTHERM_ON_EACH_BACKEND(OneAnswer);

TEST_P(OneAnswer, OfEveryKindOfDeck) {
  const std::pair<const char*, Config> all[] = {
      {"boundaries", decks::every_boundary({17, 23, 31})},  {"sources", decks::moving_sources({18, 14, 13})},
      {"boxes", decks::sources_in_few_cells({24, 20, 19})}, {"periodic", decks::periodic({12, 9, 10})},
      {"laws", decks::varying_laws({13, 17, 11})},          {"steady", decks::steady({16, 15, 14})},
      {"floating", decks::floating({13, 12, 11})},          {"chebyshev", in_cycles({16, 15, 14})}};
  for (const auto& [what, config] : all) {
    SCOPED_TRACE(what);
    expect_one_answer_of_kernels<double>(config, device());
    expect_one_answer_of_kernels<float>(config, device());
  }
  for (const Int3 n : {Int3{1, 19, 23}, Int3{33, 1, 18}, Int3{21, 17, 1}, Int3{1, 1, 40}}) {
    SCOPED_TRACE("thin " + text(n));
    expect_one_answer_of_kernels<double>(decks::every_boundary(n), device());
  }
}

// Two V cycles, the first from the coarsest grid up. Subdomains of unequal sizes, levels that every rank
// holds whole, grids that do not nest; a mean that no boundary fixes, and neighbours on two sides.
template <class T>
void expect_one_answer_of_cycles(MethodName method, Config config, Device& device,
                                 std::optional<Index> whole_grid = 0) {
  config.problem.method = method;
  config.problem.check_interval = 1;
  config.solver.whole_grid = whole_grid;
  config = decks::with_step_limits(config);
  const Ways ways{.halo_widths = {4},
                  .kernels = kernels_of_kinds(device.backend(), config),
                  .overlaps = {Overlap::automatic},
                  .nth = 3};
  expect_one_answer<T>(config, ways, device,
                       [](auto& solver) { return outcomes(solver, {2 * solver.level().method().cycle()}); });
}
// Distributed coarse grids with irregular subdomains, and coarse grids that every rank holds whole; odd
// numbers of cells, an axis of one cell, periodic axes.
TEST_P(OneAnswer, OfMultigridOfSeveralMaterials) {
  const auto expect = [&]<class T>(T, const Config& config) {
    expect_one_answer_of_cycles<T>(MethodName::multigrid, config, device(), 500);
  };
  expect_one_answer_of_cycles<float>(MethodName::multigrid, decks::several({21, 16, 18}), device());
  expect(double{}, decks::several({37, 32, 18}));
  expect(float{}, decks::several({26, 41, 15}));
  expect(double{}, decks::several({1, 90, 95}));
  expect(double{}, decks::periodic_along({1}, decks::several({30, 24, 21})));
  Config around = decks::periodic_along({0, 2}, decks::several({28, 19, 25}));
  around.boundaries[2] = {BoundaryKind::convection, Expression(285.0), 40};
  expect(double{}, around);
}

// Every kernel that sweeps materials gives the result of the host's reference kernel, NaN included.
TEST_P(OneAnswer, OfABodyInAVoid) {
  Config config = decks::in_a_void({26, 17, 15});
  config.problem.cycle = 8;
  expect_one_answer_of_cycles<double>(MethodName::chebyshev, config, device());
  expect_one_answer_of_cycles<float>(MethodName::jacobi, decks::in_a_void({19, 15, 16}), device());
  config.problem = decks::every_boundary({26, 17, 15}).problem;
  config = decks::with_step_limits(decks::periodic_along({1}, config));
  config.problem.dt = 20 * stable_dt(config);
  expect_one_answer_of_cycles<double>(MethodName::rkl, config, device());
  config.problem.dt = stable_dt(config) / 2;
  expect_one_answer_of_cycles<float>(MethodName::euler, config, device());
}

// With sources that are constant, that move, and that are formulas.
TEST_P(OneAnswer, OfCellsOfSeveralSizes) {
  const auto expect = [&]<class T>(T, MethodName method, const Config& config) {
    expect_one_answer_of_cycles<T>(method, decks::graded(config), device(), 500);
  };
  expect(double{}, MethodName::multigrid, decks::several({37, 32, 18}));
  expect(float{}, MethodName::multigrid, decks::steady({26, 41, 15}));
  Config moving = decks::moving_sources({21, 16, 17});
  moving.problem.dt = 10 * stable_dt(decks::with_step_limits(decks::graded(moving)));
  expect(double{}, MethodName::rkl, moving);
  expect(float{}, MethodName::euler, decks::moving_sources({37, 13, 12}));
}

// Of one material and of several; the coarse grids of multigrid and implicit have the laws of the finest.
TEST_P(OneAnswer, OfVaryingLaws) {
  const auto expect = [&]<class T>(T, const Config& config, std::initializer_list<MethodName> methods) {
    for (const MethodName method : methods)
      expect_one_answer_of_cycles<T>(method, decks::with_varying_laws(config), device(), 500);
  };
  Config steady = decks::steady({21, 14, 18}), transient = decks::every_boundary({17, 14, 12}),
         body = decks::several({19, 14, 16});
  for (const Config& config : {steady, body})
    expect(double{}, config, {MethodName::jacobi, MethodName::chebyshev, MethodName::multigrid});
  expect(float{}, steady, {MethodName::chebyshev, MethodName::multigrid});
  body.problem = transient.problem;
  expect(double{}, body, {MethodName::euler});
  transient.problem.dt = body.problem.dt = 20 * stable_dt(transient);
  for (const Config& config : {transient, body})
    expect(double{}, config, {MethodName::rkl, MethodName::implicit});
  expect(float{}, transient, {MethodName::rkl, MethodName::implicit});
}

TEST_P(OneAnswer, OfMultigrid) {
  for (const std::optional<Index> whole_grid : std::vector<std::optional<Index>>{0, 500, std::nullopt})
    expect_one_answer_of_cycles<double>(MethodName::multigrid, decks::steady({37, 32, 18}), device(),
                                        whole_grid);
  expect_one_answer_of_cycles<float>(MethodName::multigrid, decks::floating({32, 33, 11}), device());
  Config mixed = decks::floating({32, 33, 11});
  mixed.precision = Precision::mixed;
  expect_one_answer_of_cycles<double>(MethodName::multigrid, mixed, device());
  // And a periodic axis that is coarsened to one cell, and another whose subdomains have ghosts at edges.
  Config edges = decks::periodic_along({0, 2}, decks::steady({6, 40, 33}));
  edges.boundaries[2] = {BoundaryKind::convection, Expression(285.0), 40};
  for (const Config& around : {decks::periodic_along({1}, decks::steady({24, 40, 12})), edges})
    expect_one_answer_of_cycles<double>(MethodName::multigrid, around, device());
}

// One boundary changes from step to step.
TEST_P(OneAnswer, OfLongSteps) {
  for (const MethodName method : {MethodName::rkl, MethodName::implicit}) {
    Config config = decks::every_boundary({21, 16, 12});
    config.problem.dt = 50 * stable_dt(config);
    expect_one_answer_of_cycles<double>(method, config, device());
    config.problem.dt = 7 * stable_dt(config);
    config.problem.tolerance = 60;  // in parts, one of which is repeated
    config.precision = Precision::fp32;
    expect_one_answer_of_cycles<float>(method, config, device());
    config.problem.method = method;
    PlainSolver<float> plain(config);
    plain->sweep(2 * plain->level().method().cycle());
    EXPECT_GT(plain->counts().rejected, 0);
  }
  Config moving = decks::moving_sources({19, 14, 12});
  moving.problem.dt = 20 * stable_dt(moving);
  expect_one_answer_of_cycles<double>(MethodName::implicit, moving, device());
  Config config = decks::periodic({16, 13, 12});
  config.problem.scheme = Scheme::backward_euler;
  expect_one_answer_of_cycles<double>(MethodName::implicit, config, device());
}

// Levels that every rank holds whole use transports of their own kind if these need no host.
TEST_P(OneAnswer, OfMultigridByEveryTransport) {
  Config config = decks::steady({18, 21, 19});
  config.problem.method = MethodName::multigrid;
  config.problem.check_interval = 1;
  const Ways ways{.every_transport = true,
                  .process_grids = {even_process_grid(world().size())},
                  .halo_widths = {4},
                  .overlaps = {Overlap::automatic}};
  expect_one_answer<double>(config, ways, device(), [](auto& solver) {
    const std::int64_t cycle = solver.level().method().cycle();
    return outcomes(solver, {cycle, cycle, cycle});
  });
}

// On every process grid, with two axes along which neighbours are adjacent twice.
TEST_P(OneAnswer, EveryTransport) {
  const Config config = decks::periodic({12, 9, 10});
  expect_one_answer<double>(config, {.every_transport = true}, device(), at_once);
  expect_one_answer<float>(config, {.every_transport = true}, device(), at_once);
}

class SweepGraph : public BackendTest {};
INSTANTIATE_TEST_SUITE_P(Cuda, SweepGraph, testing::Values(Backend::cuda));

// Runs of odd and even lengths, shorter and longer than a graph, with every transport that can be recorded.
TEST_P(SweepGraph, ChangesNoBits) {
  const bool alone = world().size() == 1;
  const auto run = [&](auto& solver) {
    const std::string& transport = solver.level().config().parallel.transport;
    const bool is_reference = solver.level().device().backend() == Backend::host;
    if (!is_reference && (alone || transport != "auto")) {
      EXPECT_EQ(solver.plan().graph, alone || transport == "peer" || transport == "nccl");
    }
    return outcomes(solver, {3, 16, 1, 33});
  };
  for (const std::string reduction : {"fused", "warp_shuffle"}) {
    const Ways ways{.every_transport = true,
                    .process_grids = {even_process_grid(world().size())},
                    .halo_widths = {1, 3},
                    .reduction = reduction,
                    .graph = true,
                    .nth = 3};
    for (const Config& config :
         {decks::without_time(decks::every_boundary({9, 10, 13})), decks::periodic({8, 9, 13})}) {
      expect_one_answer<double>(config, ways, device(), run);
      expect_one_answer<float>(config, ways, device(), run);
    }
  }
}

// A graph would repeat the values of the time at which it was recorded.
TEST_P(SweepGraph, IsNotRecordedWhereValuesVary) {
  const Config config = decks::every_boundary({9, 10, 13});
  ASSERT_TRUE(values_vary_by_sweep(config));
  expect_one_answer<double>(config, {.graph = true}, device(), [](auto& solver) {
    EXPECT_FALSE(solver.plan().graph);
    return outcomes(solver, {3, 16, 1, 33});
  });
}

TEST_P(SweepGraph, IsRejectedIfRequiredWhereHalosNeedTheHost) {
  if (world().size() == 1) GTEST_SKIP() << "nothing is exchanged";
  Config config = decks::without_time(decks::every_boundary({9, 10, 13}));
  config.parallel.transport = "host";
  config.solver.cuda_graph = GraphChoice::on;
  const auto work = [&] { solver_of<double>(config, even_blocks(config), world(), device()); };
  EXPECT_EQ(
      refusal<CollectiveError>(work, ExitCode::deck),
      "test: solver.cuda_graph: sweeps cannot be queued as graphs here (ranks 0 and 1 exchange halos by "
      "transport host, which needs the host); use auto");
}

// Boundaries that vary over their face and in time, next to ghosts that sweeps cover.
TEST_P(OneAnswer, EveryHaloWidth) {
  Config boundaries = decks::every_boundary({17, 14, 19});
  boundaries.boundaries[2].value = Expression("5000*cos(9*x) + 100*z + 1e6*t", "xzt");
  boundaries.boundaries[5] = {BoundaryKind::convection,
                              Expression("280 + 30*sin(8*x)*cos(7*y) + 500*t", "xyt"), 55};
  boundaries.problem.norm = Norm::l2;
  expect_one_answer_at_every_halo_width<double>(boundaries, device());
  boundaries.problem.norm = Norm::max;
  expect_one_answer_at_every_halo_width<float>(boundaries, device());
  expect_one_answer_at_every_halo_width<double>(decks::sources_in_few_cells({24, 20, 19}), device());
  expect_one_answer_at_every_halo_width<float>(decks::periodic({13, 11, 14}), device());
  expect_one_answer_at_every_halo_width<double>(decks::steady({14, 15, 13}), device());
  expect_one_answer_at_every_halo_width<float>(in_cycles({14, 15, 13}), device());
}

// The same bits on every process grid as on one rank's CPU, where plain sums of the grids differ.
TEST_P(OneAnswer, ReproducibleNormsOnEveryProcessGrid) {
  const Ways ways{.overlaps = {Overlap::automatic}, .nth = 5};
  for (const Int3 cells : {Int3{17, 23, 31}, Int3{64, 9, 10}})
    for (Config config : {decks::every_boundary(cells), decks::steady(cells), decks::periodic(cells)})
      for (const Norm norm : {Norm::l2, Norm::l1, Norm::max}) {
        SCOPED_TRACE(fmt::format("norm {}", static_cast<int>(norm)));
        config.solver.reduction = "reproducible";
        config.problem.norm = norm;
        expect_one_answer<double>(config, ways, device(), at_once);
        expect_one_answer<float>(config, ways, device(), at_once);
      }
}

// Runs with temporal blocking give the same field, norm, diagnostics and end as single sweeps of one rank:
// random grids, bodies, boundaries, halo widths, process grids, and sweep counts between checks of the field.

struct Drawn {
  Config config;
  int time_block = 1;
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
                             : decks::every_boundary(cells);
  if (kind == 2) drawn.config.boundaries[0].value = Expression("320 + 10*sin(20*y)", "yzt");
  if (upto(0, 1) == 0) drawn.config = decks::with_step_limits(decks::of_many_classes(drawn.config, random));
  drawn.config.solver.halo_width = static_cast<int>(upto(1, 4));
  drawn.config.solver.reduction = upto(0, 1) ? "auto" : "reproducible";
  if (upto(0, 2) == 0) drawn.config.output.diagnostics = 1;
  drawn.time_block = static_cast<int>(upto(2, 8));
  drawn.overlap = upto(0, 1) ? Overlap::on : Overlap::off;
  for (int i = 0; i < 3; ++i) drawn.parts.push_back(upto(1, 11));
  return drawn;
}

// The figures that a run prints at its end, even without output.diagnostics.
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
std::vector<Outcome<T>> outcomes(Solver<T>& solver, const Drawn& drawn) {
  std::vector<Outcome<T>> found;
  for (const std::int64_t& count : drawn.parts) {
    solver.sweep(count, &count == &drawn.parts.back());
    found.push_back(outcome_of(solver));
    if (drawn.config.output.diagnostics) found.back().figures = {solver.diagnose().flows->balance};
  }
  const std::vector<double> end = end_of(solver);
  EXPECT_FALSE(end.empty());
  found.back().figures.insert(found.back().figures.end(), end.begin(), end.end());
  return found;
}

template <class T>
void expect_one_answer_of_time_blocks(const Drawn& drawn, Device& device) {
  const Config& config = drawn.config;
  const bool has_exchange = even_blocks(config).max_halo_width().has_value();
  Ways ways{.process_grids = process_grids(Communicator::world().size(), config.grid.cells),
            .halo_widths = {has_exchange ? config.solver.halo_width : std::nullopt},
            .kernels = {},
            .overlaps = {drawn.overlap},
            .time_block = drawn.time_block};
  for (const auto& kernel : stencil_kernels<T>()) {
    if (kernel.backend == device.backend() && kernel.max_time_block > 1 && can_sweep(kernel, config))
      ways.kernels.emplace_back(kernel.name);
  }
  expect_one_answer<T>(config, ways, device, [&](auto& solver) { return outcomes(solver, drawn); });
}

class TemporalRuns : public BackendTest {};
ISOTHERM_ON_EACH_BACKEND(TemporalRuns);

TEST_P(TemporalRuns, AreRunsOfSingleSweeps) {
  Random random(seed_of_all(world()));
  for (int i = 0; i < (is_slow(device()) ? 4 : 10); ++i) {
    const Drawn drawn = draw(random);
    i % 2 == 0 ? expect_one_answer_of_time_blocks<double>(drawn, device())
               : expect_one_answer_of_time_blocks<float>(drawn, device());
  }
}

Solver<double> solver_of_four_sweeps(Config config, Device& host) {
  config.solver.kernel = "temporal_openmp";
  config.solver.reduction = "fused";
  SolverKernels<double> kernels = choose_kernels<double>(config, Backend::host);
  kernels.sweep.time_block = 4;
  return {config, blocks_of(config, {1, 1, 1}), Communicator::self(), host, kernels};
}

// A transient problem has no heat flows without the field of the previous sweep; a steady problem needs none.
TEST(TemporalEnd, HasHeatFlowsAfterASingleLastSweep) {
  const auto host = make_host_device();
  const auto heat_after = [&](const Config& config, bool last_alone) {
    Solver<double> solver = solver_of_four_sweeps(config, *host);
    EXPECT_EQ(solver.time_block(), 4);
    const bool at_first = solver.heat_flows().has_value();
    EXPECT_EQ(at_first, config.problem.kind == ProblemKind::steady);
    solver.sweep(8, last_alone);
    return solver.heat_flows().has_value();
  };
  Config transient = decks::every_boundary({9, 8, 7});
  transient.boundaries[0].value = Expression(300.0);
  EXPECT_TRUE(heat_after(transient, true));
  EXPECT_FALSE(heat_after(transient, false));
  EXPECT_TRUE(heat_after(decks::steady({9, 8, 7}), false));
}

// As many sweeps as boundaries and ghosts allow; the run reports why it takes single sweeps.
TEST(TimeBlock, IsLimitedByBoundariesAndGhosts) {
  const auto host = make_host_device();
  const auto time_block_of = [&](const Config& config) {
    const Solver<double> solver = solver_of_four_sweeps(config, *host);
    return fmt::format("{} {}", solver.time_block(), solver.why_single());
  };
  Config steady = decks::steady({9, 8, 7});
  EXPECT_EQ(time_block_of(steady), "4 ");
  steady.solver.halo_width = 2;
  EXPECT_EQ(time_block_of(steady), "2 ");
  steady.solver.halo_width = 1;
  EXPECT_EQ(time_block_of(steady), "1 solver.halo_width is 1");
  EXPECT_EQ(time_block_of(decks::every_boundary({9, 8, 7})), "4 ");
  Config around = decks::periodic({9, 8, 7});
  EXPECT_EQ(time_block_of(around), "1 fields have one layer of ghosts");
  around.solver.halo_width = 3;
  EXPECT_EQ(time_block_of(around), "3 ");
}

}  // namespace
}  // namespace isotherm
