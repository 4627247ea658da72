#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <sstream>
#include <tuple>

#include "app/subcommands.hpp"
#include "core/device.hpp"
#include "kernels/stencil.hpp"
#include "output/console/console.hpp"
#include "output/records/history.hpp"
#include "output/records/run_record.hpp"
#include "physics/cells.hpp"
#include "physics/probe.hpp"
#include "support/error_text.hpp"
#include "support/field_by_index.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

using nlohmann::json;

// A transient run on two ranks, with the fields that these tests use and simple numbers.
RunRecord record() {
  RunRecord r;
  r.cells = {100, 100, 50};
  r.process_grid = {1, 1, 2};
  r.smallest_rank_cells = r.largest_rank_cells = 250000;
  r.ranks = {{0, "node1", Backend::host, -1, "Some CPU", "", 4, 250000, 50 << 20},
             {1, "node1", Backend::host, -1, "Some CPU", "", 4, 250000, 60 << 20}};
  r.phases[Phase::setup] = {0.1, 0.2, 0.3};
  r.phases[Phase::sweeps] = {1.6, 1.7, 1.8};
  r.phases[Phase::halo] = {0.1, 0.2, 0.3};
  r.phases[Phase::reduction] = {0.1, 0.1, 0.1};
  r.phases[Phase::stepping] = {2, 2, 2};
  r.phases[Phase::output] = {0.5, 0.5, 0.5};
  r.phases[Phase::total] = {4, 4, 4};
  r.method.dt = r.method.dt_limit = 0.001;
  r.method.end_time = 2;
  r.performance = {2000, 2000, 1e9, 16, 20e9};
  r.residual = {.first = 2.0, .last = 0.5, .checks = 20, .last_sweep = 100};
  r.time = 2;
  r.answer = Answer::finite;
  r.fingerprint = 0x0123456789abcdefu;
  r.exit_code = ExitCode::done;
  return r;
}

TEST(RunRecord, WithoutSweepsOrTimesThereAreNoFigures) {
  RunRecord r = record();
  r.performance.sweeps = 0;
  EXPECT_FALSE(figures(r));
  r = record();
  r.phases[Phase::stepping] = {};
  EXPECT_FALSE(figures(r));
  EXPECT_EQ(figures_of_merit(r), "");
}

// run_schema() lists the keys; faults/test_fixtures.py validates the records of all tests with it.
TEST(RunRecord, JsonHasFiguresAndTheDataOfRanks) {
  const json j = json::parse(to_json(record()));
  EXPECT_EQ(j["result"], "DONE");
  EXPECT_EQ(j["provenance"]["hosts"], json::array({"node1"}));
  EXPECT_EQ(j["ranks"].size(), 2u);
  EXPECT_EQ(j["phases_s"]["halo"]["max"], 0.3);
  EXPECT_EQ(j["performance"]["points_per_s"], 0.5e9);
  EXPECT_EQ(j["performance"]["copy_bandwidth_share_percent"], 40.0);
  EXPECT_EQ(j["figures_of_merit"]["time_per_step"],
            (json{{"value", 1.0}, {"unit", "ms"}, {"better", "lower"}}));
  EXPECT_EQ(j["figures_of_merit"].size(), 5u);
  EXPECT_EQ(j["memory"]["host_peak_bytes"], 60 << 20);
  EXPECT_EQ(j["fingerprint"], "0123456789abcdef");
  EXPECT_EQ(j["not_finite"], json::object());
}

TEST(RunRecord, NonFiniteValuesAreNullAndNamed) {
  RunRecord r = record();
  r.residual.last = std::nan("");
  r.verification = Verification{
      "formula",      std::numeric_limits<double>::infinity(), 1, {}, {}, {1.99, std::nan("")}, 2, 0.02,
      Verdict::failed};
  r.performance.copy_bandwidth = -std::numeric_limits<double>::infinity();
  const json j = json::parse(to_json(r));
  EXPECT_EQ(j["residual"]["last_K"], nullptr);
  EXPECT_EQ(j["verification"]["max_error_K"], nullptr);
  EXPECT_EQ(j["verification"]["order"], (json{1.99, nullptr}));
  EXPECT_EQ(j["not_finite"], (json{{"/residual/last_K", "nan"},
                                   {"/verification/max_error_K", "inf"},
                                   {"/verification/order/1", "nan"},
                                   {"/performance/copy_bandwidth_bytes_per_s", "-inf"}}));
}

TEST(RunRecord, InvalidUtf8IsReplacedInTheRecord) {
  RunRecord r;  // for a run that failed early
  r.command_line = "isotherm run \xff\xfe\"\n";
  const json j = json::parse(to_json(r));
  EXPECT_EQ(j["provenance"]["command_line"], "isotherm run \xef\xbf\xbd\xef\xbf\xbd\"\n");
}

TEST(Report, HasFiguresOfMeritAndCountsSweepsOfTheAutotuner) {
  RunRecord r = record();
  EXPECT_EQ(figures_of_merit(r),
            "FOM cell_updates: 0.500 GLUP/s\n"
            "FOM effective_bandwidth: 8.00 GB/s\n"
            "FOM copy_bandwidth_share: 40.0 %\n"
            "FOM time_per_step: 1.000 ms\n"
            "FOM halo_fraction: 10.0 %\n");
  r.performance.untimed_sweeps = 3;
  expect_says(final_table(r), "3 of autotuning");
}

TEST(Report, TheResultFollowsFromTheOutcomeAndAWrongAnswerHasNoSpeed) {
  const auto expect_result = [](const RunRecord& r, const char* word, bool has_speed) {
    EXPECT_STREQ(result_word(r), word);
    EXPECT_EQ(!figures_of_merit(r).empty(), has_speed) << word;
  };
  RunRecord r = record();
  expect_result(r, "DONE", true);
  r.residual.convergence = Convergence::reached;
  expect_result(r, "CONVERGED", true);
  r.verification = Verification{};  // without a tolerance
  expect_result(r, "CONVERGED", true);
  r.verification->verdict = Verdict::passed;
  expect_result(r, "VERIFIED", true);
  for (const auto& [code, word, has_speed] :
       {std::tuple{ExitCode::diverged, "FAILED", false},  // or worse than a baseline
        {ExitCode::stopped, "STOPPED", true},
        {ExitCode::not_converged, "NOT CONVERGED", true}}) {
    r.exit_code = code;
    expect_result(r, word, has_speed);
  }
  r = record();
  for (const Answer answer : {Answer::unchecked, Answer::not_finite}) {
    r.answer = answer;
    EXPECT_EQ(figures_of_merit(r), "");
  }
}

EndState end_state() {
  return {.sweep = 2000,
          .time = 2,
          .highest = EndState::Extreme{352.25, {99, 0, 7}, {0.0995, 0.0005, 0.0075}},
          .lowest = EndState::Extreme{300, {0, 1, 2}, {0.0005, 0.0015, 0.0025}},
          .heat = HeatFlows{{4, -1.5, -0.0, 0, 0, 0}, {}, 16, 18.25, 0.25, 0.25 / 39.75},
          .faces = {true, true, true, true, false, false}};
}

// faults/test_inputs.py tests the end of a record.
TEST(Report, TheEndHasExtremesAndHeatFlows) {
  RunRecord r = record();
  r.end_state = end_state();
  EXPECT_EQ(end_lines(*r.end_state),
            "  at the end   2 s, sweep 2 000\n"
            "  highest      352.25 K at (0.0995, 0.0005, 0.0075) m, cell (99, 0, 7)\n"
            "  lowest       300 K at (0.0005, 0.0015, 0.0025) m, cell (0, 1, 2)\n"
            "  heat in      x_min 4 W, x_max -1.5 W, y_min 0 W, y_max 0 W (negative: out)\n"
            "               from sources 16 W, stored 18.25 W\n"
            "  balance      0.629 % of what flows is unaccounted for: 0.25 W\n");
  EXPECT_EQ(closing_lines(r), figures_of_merit(r) + "\n" + end_lines(*r.end_state) + "RESULT: DONE\n");
}

// faults/test_inputs.py tests its heat, and that of a run whose heat is not known.
TEST(Report, TheEndOfASteadyRunHasNoTimeAndStoresNothing) {
  EndState end = end_state();
  end.steady = true;
  end.nan_cells = 2;
  const std::string text = end_lines(end);
  EXPECT_TRUE(text.starts_with("  at the end   sweep 2 000\n  h"));
  EXPECT_EQ(text.find("stored"), std::string::npos);
  expect_says(text, "not a number 2 cells\n");
}

TEST(Report, BannerOfASteadyRunOnGpus) {
  RunRecord r = record();
  r.method.problem = ProblemKind::steady;
  r.method.weight = 0.99;
  r.method.planned_sweeps = 100000;
  r.method.device_note = "no GPU (why)";
  r.smallest_rank_cells = 240000;
  r.ranks = {{0, "a", Backend::cuda, 0, "NVIDIA H200", "u1", 1, 240000, 0},
             {1, "a", Backend::cuda, 1, "NVIDIA H200", "u1", 1, 240000, 0},
             {2, "b", Backend::cuda, 0, "NVIDIA H200", "u2", 1, 250000, 0}};
  const std::string text = banner(r);
  for (const char* line :
       {"  problem      steady, weighted Jacobi 0.99, at most 100 000 sweeps\n",
        "  ranks        3 ranks on 2 hosts, process grid 1 x 1 x 2, 240 000 to 250 000 cells\n",
        "  device       2 x NVIDIA H200, no GPU (why)\n",
        "  gpus         0 u1: rank 0, 1 on a\n               0 u2: rank 2 on b\n"})
    expect_says(text, line);
  EXPECT_EQ(text.find("threads"), std::string::npos);
  EXPECT_EQ(banner(record()).find("gpus"), std::string::npos);

  r.ranks.clear();
  for (int rank = 0; rank < 40; ++rank) {
    r.ranks.push_back({rank, "a", Backend::cuda, rank, "GPU", fmt::format("u{}", rank), 1, 8, 0});
  }
  expect_says(banner(r), "               15 u15: rank 15 on a\n               24 more in run.json\n");
}

TEST(History, LinesHoldShortestDigitsThatReadBack) {
  EXPECT_EQ(history_head(), "sweep,time_s,residual,relative_residual,wall_s\n");
  EXPECT_EQ(history_line({100, 0.1, 1.0 / 3.0, 1e-7, 0.25}), "100,0.1,0.3333333333333333,1e-07,0.250000\n");
  EXPECT_EQ(history_line({1, 0, std::nan(""), INFINITY, 0}), "1,0,nan,inf,0.000000\n");
}

// faults/test_restart.py tests a history that is missing.
TEST(History, IsStartedIfThereIsNoneToContinue) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "history.csv";
  Console console(0);
  for (const auto& [others, kept_in] : {std::pair{"sweep,other\n1,2\n", "history.csv.aside"},
                                        {"sweep,another\n3,4\n", "history.csv.2.aside"}}) {
    test::write_file(path, others);
    { const LineFile history(path, console, history_head(), "its history", 10); }
    EXPECT_EQ(test::read_file(path), history_head());
    EXPECT_EQ(test::read_file(folder / kept_in), others);
  }
  ASSERT_EQ(console.warnings().size(), 2u);
  expect_says(console.warnings()[1], "wrote other columns; its lines are in 'history.csv.2.aside'");
}

TEST(History, AWriteErrorIsOneWarning) {
  for (const auto& [path, why] : {std::pair{"/nowhere/history.csv", "No such file or directory"},
                                  {"/dev/full", "No space left on device"}}) {
    Console console(0);
    LineFile history(path, console, history_head(), "its history", {});
    for (int sweep = 0; sweep < 5000; ++sweep) history.add(history_line({sweep, 0, 1, 1, 0}));
    history.finish();
    EXPECT_EQ(console.warnings(),
              std::vector{fmt::format("'{}' cannot be written ({}); the run continues without its history",
                                      path, why)});
  }
}

// Cells of 0.5 x 1 x 2 m from (-1, 2, 0).
Config config_of(Int3 cells) {
  return {.grid = {.cells = cells, .spacing = Vector3{0.5, 1, 2}, .origin = {-1, 2, 0}},
          .material = {.conductivity = 4}};
}

using Cells = std::function<double(Int3)>;
double read(const Config& config, const Vector3& at, const Cells& field, double t = 0) {
  const Probe probe(config, at);
  std::array<double, Probe::corners> cells{};
  for (int corner = 0; corner < Probe::corners; ++corner) cells[corner] = field(probe.cell(corner));
  return probe.value(config, cells, t);
}

double by_index(Int3 cell) { return 300 + static_cast<double>(cell.x + 10 * cell.y + 100 * cell.z); }

TEST(Probe, AtACentreItReadsThatCell) {
  const Config config = config_of({4, 3, 2});
  const GridAxes axes(config);
  for_each_cell(config.grid.cells,
                [&](Int3 c) { EXPECT_EQ(read(config, axes.centre(c), by_index), by_index(c)); });
  // A neighbour that is not finite has no weight.
  const auto broken = [](Int3 cell) { return cell == Int3{1, 1, 1} ? 7 : std::nan(""); };
  EXPECT_EQ(read(config, axes.centre(Int3{1, 1, 1}), broken), 7);
}

// Boundaries of every kind, corners of two, periodic faces and a grid one cell thick.
TEST(Probe, NextToABoundaryItUsesTheBoundaryCondition) {
  const auto expect_read = [](Int3 cells, const std::map<int, BoundaryConfig>& boundaries,
                              const std::vector<std::pair<Vector3, double>>& points, double t = 0) {
    Config config = config_of(cells);
    for (const auto& [face, boundary] : boundaries)
      config.boundaries[static_cast<std::size_t>(face)] = boundary;
    for (const auto& [at, expected] : points)
      EXPECT_DOUBLE_EQ(read(config, at, by_index, t), expected) << at[0] << " " << at[1] << " " << at[2];
  };
  const Int3 n{4, 3, 2};
  const auto held = [](double value) {
    return BoundaryConfig{BoundaryKind::temperature, Expression(value), 0};
  };
  const BoundaryConfig insulated{BoundaryKind::insulated, {}, 0}, periodic{BoundaryKind::periodic, {}, 0};
  // At the cell's own y: on the boundary, halfway to the centre, at the centre.
  expect_read(n, {{0, {BoundaryKind::temperature, Expression("100 + 10*y + t", "yzt"), 0}}},
              {{{-1, 3.5, 1}, 142}, {{-0.875, 3.5, 1}, (142 + 310) / 2.0}, {{-0.75, 3.5, 1}, 310}}, 7);
  // 8 / 4 = 2 K/m inwards: warmer towards the boundary.
  expect_read(n, {{5, {BoundaryKind::flux, Expression(8.0), 0}}},
              {{{-0.75, 2.5, 4}, 400 + 2}, {{-0.75, 2.5, 0}, 300}});
  // The surface: k/(h/2) (T - Ts) = H (Ts - Ta), k = 4, h = 1, H = 24.
  expect_read(n, {{3, {BoundaryKind::convection, Expression(200.0), 24}}},
              {{{-0.75, 5, 1}, (8 * 320.0 + 24 * 200.0) / (8 + 24)}});
  // At an edge of two boundaries a temperature decides; of two temperatures that of the later axis.
  const BoundaryConfig flux{BoundaryKind::flux, Expression(8.0), 0};
  expect_read(n, {{0, held(10)}, {2, held(20)}}, {{{-1, 2, 1}, 20}, {{-1, 2.5, 1}, 10}});
  for (const BoundaryConfig& other : {insulated, flux}) {
    expect_read(n, {{0, held(10)}, {2, other}}, {{{-1, 2, 1}, 10}});
    expect_read(n, {{0, other}, {2, held(10)}}, {{{-1, 2, 1}, 10}});
  }
  // Faces at which the field is linear, as it is by index: so are edges and corners.
  const auto linear = [](const char* formula, const char* names) {
    return BoundaryConfig{BoundaryKind::temperature, Expression(formula, names), 0};
  };
  expect_read(
      n,
      {{0, linear("224.5 + 10*y + 50*z", "yzt")},
       {2, linear("246.5 + 2*x + 50*z", "xzt")},
       {4, linear("226.5 + 2*x + 10*y", "xyt")}},
      {{{-1, 2, 1}, 294.5}, {{-1, 2, 0}, 244.5}, {{-1, 2.5, 0}, 249.5}, {{-0.875, 2.25, 0.5}, 272.25}});
  const double between = (300 + 303) / 2.0;
  expect_read(n, {{0, periodic}, {1, periodic}},
              {{{-1, 2.5, 1}, between}, {{1, 2.5, 1}, between}, {{0.875, 2.5, 1}, 303 - 3 * 0.25}});
  expect_read({1, 1, 1}, {{0, held(10)}, {1, held(20)}},
              {{{-1, 2, 0}, 10}, {{-0.75, 2.25, 1.5}, 300}, {{-0.5, 3, 2}, 20}});
}

// faults/test_command_line.py and test_ranks.py test the tables of a build and a machine.

TEST(List, SaysTilesByPrecisionAndWhyAKernelDoesNotRunHere) {
  static constexpr std::array<std::string_view, 2> two = {"32x8x1", "64x4x1"};
  const auto launch = []<class T>(const SweepArgs<T>&, SweepPlan, Stream) {};
  StencilKernel<float> single[] = {{"absent", Backend::cuda, ""}, {"any", Backend::cuda, ""}};
  single[1].launch = launch;
  StencilKernel<double> registry[] = {{"absent", Backend::cuda, "a"},
                                      {"any", Backend::cuda, "b"},
                                      {"picky", Backend::cuda, "c"},
                                      {"plain", Backend::host, "d"}};
  for (auto& kernel : std::span(registry).subspan(1)) kernel.launch = launch;
  registry[1].tiles = two;
  registry[1].unsupported = [](int) { return std::string(); };
  registry[2].unsupported = [](int) { return std::string("it needs more"); };
  registry[3].purpose = Purpose::production;
  EXPECT_EQ(tile_table(single, std::span(registry).first(2)),
            "  name  in fp32  in fp64\n"
            "  any   -        32x8x1, 64x4x1\n");
  EXPECT_EQ(stencil_table(registry, ""),
            "  name    backend  purpose     time block  available          description\n"
            "  absent  cuda     lecture     -           not in this build  a\n"
            "  any     cuda     lecture     1           yes                b\n"
            "  picky   cuda     lecture     1           no: it needs more  c\n"
            "  plain   cpu      production  1           yes                d\n");
  expect_says(stencil_table(registry, "no driver"),
              "  picky   cuda     lecture     1           no CUDA device     c\n");  // not queried
  const CudaDevices cuda = find_cuda_devices();
  const std::string text = list_text();
  expect_says(text, tile_table(stencil_kernels<float>(), stencil_kernels<double>()));
  expect_says(text, cuda.devices.empty() ? "not known here: " + cuda.why_none : "occupancy");
}

TEST(List, ResourceTableHasEveryFigure) {
  const std::string text =
      resource_table({{"tile", "fp32", "32x8x1", {256, 40, 4352, 16, 6, 0.75}}, {"wide", "fp64", "-", {}}});
  EXPECT_EQ(text,
            "  kernel  precision  tile    threads  registers    shared  spilled  blocks  occupancy\n"
            "  tile    fp32       32x8x1      256         40  4.25 KiB     16 B       6       75 %\n"
            "  wide    fp64       -             0          0       0 B      0 B       0        0 %\n");
}

// 40 ranks, of which rank r has swept for r seconds.
TEST(Profile, OfManyRanksItShowsTheSlowestAndTheFastest) {
  std::vector<PhaseTimes> profiles(40);
  std::vector<RankInfo> ranks;
  for (int rank = 0; rank < 40; ++rank) {
    profiles[rank][Phase::sweep] = rank;
    profiles[rank][Phase::loop] = 40;
    ranks.push_back({rank, fmt::format("node{}", rank / 8), Backend::cuda, rank % 8, "A GPU"});
  }
  const std::string text = profile_table(profiles, ranks);
  std::istringstream lines(text);
  std::vector<int> shown;
  for (std::string line; std::getline(lines, line);)
    if (line.find("  node") == 6) shown.push_back(std::stoi(line));
  EXPECT_EQ(shown, (std::vector{39, 38, 37, 36, 35, 34, 33, 32, 7, 6, 5, 4, 3, 2, 1, 0}));
  expect_says(text, "\n  8 ranks that swept longest and 8 that swept shortest; 24 more in run.json\n");
  expect_says(text, "19.5 s");
  expect_says(text, "  7 A GPU  ");
  RunRecord record;
  record.profile = profiles;
  EXPECT_EQ(nlohmann::json::parse(to_json(record))["profile"].size(), 40u);
  profiles.resize(32);
  ranks.resize(32);
  EXPECT_EQ(profile_table(profiles, ranks).find("more in run.json"), std::string::npos);
}

}  // namespace
}  // namespace isotherm
