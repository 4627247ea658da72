// Tables: history.csv, probes, the rows that are listed, the time of each rank.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <span>

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

using test::read_file;

TEST(History, LinesHoldShortestDigitsThatReadBack) {
  EXPECT_EQ(history_head(), "sweep,time_s,residual,relative_residual,wall_s\n");
  EXPECT_EQ(history_line({100, 0.1, 1.0 / 3.0, 1e-7, 0.25}), "100,0.1,0.3333333333333333,1e-07,0.250000\n");
  EXPECT_EQ(history_line({1, 0, std::nan(""), INFINITY, 0}), "1,0,nan,inf,0.000000\n");
}

TEST(History, DiagnosticsAreFurtherColumns) {
  DiagnosticsPlan plan;
  plan.boundaries = {true, true, false, false, false, false};
  plan.flows = plan.rate = true;
  plan.heat_capacity = 2;
  plan.bins = 2;
  EXPECT_EQ(
      history_head(plan),
      "sweep,time_s,residual,relative_residual,wall_s,min_K,max_K,mean_K,heat_J,rate_W,wall_x_min_W,"
      "wall_x_max_W,source_W,balance_W,relative_balance,hist_under,hist_0,hist_1,hist_over,nan_cells\n");
  HistoryLine line{7, 0.5, 0.25, 0.125, 1, {}};
  EXPECT_EQ(history_line(line, plan), "7,0.5,0.25,0.125,1.000000,,,,,,,,,,,,,,,\n");
  line.residual.reset();
  line.relative.reset();
  line.diagnostics =
      Diagnostics{290, 310, 300.5, 0, 1e6, {}, Histogram{Bins::of(290, 310, 2), {1, 2, 3, 4, 5}}};
  EXPECT_EQ(history_line(line, plan), "7,0.5,,,1.000000,290,310,300.5,1000000,,,,,,,1,2,3,4,0\n");
  line.diagnostics->flows = HeatFlows{{3, -1, 0, 0, 0, 0}, 0.5, 2.25, 0.25, 0.0625};
  line.diagnostics->mean = -std::nan("");
  line.diagnostics->nan_cells = 5;
  EXPECT_EQ(history_line(line, plan),
            "7,0.5,,,1.000000,290,310,nan,1000000,2.25,3,-1,0.5,0.25,0.0625,1,2,3,4,5\n");
  plan = {};
  EXPECT_EQ(history_head(plan),
            "sweep,time_s,residual,relative_residual,wall_s,min_K,max_K,mean_K,nan_cells\n");
  EXPECT_EQ(history_line(line, plan), "7,0.5,,,1.000000,290,310,nan,5\n");
}

TEST(History, HeadStandsBeforeTheFirstRowAndTheEndOfTheObjectFinishes) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "history.csv";
  Console console(0, Console::Echo::no);
  std::string expected = history_head();
  {
    History history(path, console);
    EXPECT_EQ(read_file(path), expected);
    for (int sweep = 0; sweep < 5000; ++sweep) {  // more than one buffer
      const HistoryLine line{sweep, sweep * 1e-3, 1.0 / (sweep + 1), 0.5, 1};
      history.add(line);
      expected += history_line(line);
    }
  }
  EXPECT_EQ(read_file(path), expected);
  EXPECT_TRUE(console.warnings().empty());
}

TEST(History, GoesOnBehindTheLinesThatStay) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "history.csv";
  Console console(0, Console::Echo::no);
  test::write_file(path, history_head() + "1,0,2,1,0.5\n10,0,1,0.5,0.6\n20,0,1,0.5,0.7\n30,0,1,0.");
  {
    History history(path, console, {}, 10);
    history.add({11, 0, 2, 1, 0});
    history.flush();
    EXPECT_EQ(read_file(path), history_head() + "1,0,2,1,0.5\n10,0,1,0.5,0.6\n11,0,2,1,0.000000\n");
  }
  { History cut_short(path, console, {}, 100); }
  EXPECT_EQ(read_file(path), history_head() + "1,0,2,1,0.5\n10,0,1,0.5,0.6\n11,0,2,1,0.000000\n");
  EXPECT_TRUE(console.warnings().empty());
}

TEST(History, BeginsWhereThereIsNoneToGoOnWith) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "history.csv";
  Console console(0, Console::Echo::no);
  { History history(path, console, {}, 10); }
  EXPECT_EQ(read_file(path), history_head());
  test::write_file(path, "sweep,other\n1,2\n");
  { History history(path, console, {}, 10); }
  EXPECT_EQ(read_file(path), history_head());
  EXPECT_EQ(read_file(folder / "history.csv.aside"), "sweep,other\n1,2\n");
  test::write_file(path, "sweep,another\n3,4\n");
  { History history(path, console, {}, 10); }
  EXPECT_EQ(read_file(folder / "history.csv.aside"), "sweep,other\n1,2\n");
  EXPECT_EQ(read_file(folder / "history.csv.2.aside"), "sweep,another\n3,4\n");
  ASSERT_EQ(console.warnings().size(), 2u);
  expect_says(console.warnings()[1], "wrote other columns; its lines are in 'history.csv.2.aside'");
}

TEST(History, LossIsOneWarning) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  for (const auto& [path, why] : {std::pair{"/nowhere/history.csv", "No such file or directory"},
                                  {"/dev/full", "No space left on device"}}) {
    Console console(0, Console::Echo::no);
    History history(path, console);
    for (int sweep = 0; sweep < 5000; ++sweep) history.add({sweep, 0, 1, 1, 0});
    history.finish();
    EXPECT_EQ(console.warnings(),
              std::vector{fmt::format("'{}' cannot be written ({}); the run goes on without its history",
                                      path, why)});
  }
}

// What a probe reads between cells, at boundaries and across periodic faces.

// Cells of 0.5 x 1 x 2 m from (-1, 2, 0).
Config config_of(Int3 cells) {
  Config config;
  config.grid.cells = cells;
  config.grid.spacing = Vector3{0.5, 1, 2};
  config.grid.origin = {-1, 2, 0};
  config.material.conductivity = 4;
  return config;
}

using Cells = std::function<double(Int3)>;
double read(const Config& config, const Vector3& at, const Cells& field, double t = 0) {
  const Probe probe(config, at);
  std::array<double, Probe::corners> cells{};
  for (int corner = 0; corner < Probe::corners; ++corner)
    cells[static_cast<std::size_t>(corner)] = field(probe.cell(corner));
  return probe.value(config, cells, t);
}

double by_index(Int3 cell) {
  return 300 + static_cast<double>(cell.x + 10 * cell.y + 100 * cell.z);
}

TEST(Probe, AtACentreItIsThatCells) {
  const Config config = config_of({4, 3, 2});
  const CellCentres centre(config);
  for_each_cell(config.grid.cells,
                [&](Int3 c) { EXPECT_EQ(read(config, centre(c), by_index), by_index(c)); });
  // A neighbour that is not finite has no share in it.
  const auto broken = [](Int3 cell) { return cell == Int3{1, 1, 1} ? 7 : std::nan(""); };
  EXPECT_EQ(read(config, centre(Int3{1, 1, 1}), broken), 7);
}

TEST(Probe, BetweenCentresItIsLinearAlongEachAxis) {
  const Config config = config_of({4, 3, 2});
  const CellCentres centre(config);
  const auto linear = [&](Int3 cell) {
    const Vector3 at = centre(cell);
    return 300 + 2 * at[0] + 3 * at[1] + 5 * at[2] + at[0] * at[1] * at[2];
  };
  for (const Vector3& at : {Vector3{-0.5, 3, 2}, Vector3{0.3, 4.1, 1.7}, Vector3{0.749, 2.501, 2.999}})
    EXPECT_DOUBLE_EQ(read(config, at, linear),
                     300 + 2 * at[0] + 3 * at[1] + 5 * at[2] + at[0] * at[1] * at[2]);
  // Weights, to the bit: a quarter of the way along x, half along y.
  EXPECT_EQ(read(config, {-0.625, 3, 1}, by_index), 300 + 0.25 + 5);
}

// Boundaries of every kind, two of them, periodic faces and a grid one cell thick.
TEST(Probe, TowardsABoundaryItFollowsItsRule) {
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
  // The value at the cell's own y, half way to its centre, and there.
  expect_read(n, {{0, {BoundaryKind::temperature, Expression("100 + 10*y + t", "yzt"), 0}}},
              {{{-1, 3.5, 1}, 142}, {{-0.875, 3.5, 1}, (142 + 310) / 2.0}, {{-0.75, 3.5, 1}, 310}}, 7);
  // 8 / 4 = 2 K/m inwards: warmer towards the boundary.
  expect_read(n, {{5, {BoundaryKind::flux, Expression(8.0), 0}}},
              {{{-0.75, 2.5, 4}, 400 + 2}, {{-0.75, 2.5, 0}, 300}});
  // The surface: k/(h/2) (T - Ts) = H (Ts - Ta), k = 4, h = 1, H = 24.
  expect_read(n, {{3, {BoundaryKind::convection, Expression(200.0), 24}}},
              {{{-0.75, 5, 1}, (8 * 320.0 + 24 * 200.0) / (8 + 24)}});
  // Beyond two boundaries the later axis has the last word.
  expect_read(n, {{0, held(10)}, {2, held(20)}}, {{{-1, 2, 1}, 20}, {{-1, 2.5, 1}, 10}});
  expect_read(n, {{0, held(10)}, {2, insulated}}, {{{-1, 2, 1}, 10}});
  const double between = (300 + 303) / 2.0;
  expect_read(n, {{0, periodic}, {1, periodic}},
              {{{-1, 2.5, 1}, between}, {{1, 2.5, 1}, between}, {{0.875, 2.5, 1}, 303 - 3 * 0.25}});
  expect_read({1, 1, 1}, {{0, held(10)}, {1, held(20)}},
              {{{-1, 2, 0}, 10}, {{-0.75, 2.25, 1.5}, 300}, {{-0.5, 3, 2}, 20}});
}

TEST(ProbeFile, SaysWhereItsColumnsAreMeasured) {
  ProbesConfig probes;
  probes.points = {{"p0", {0, 0.1, 1e-9}}, {"tip", {-1.5, 2, 3}}};
  EXPECT_EQ(probes_head(probes),
            "# p0: 0 0.1 1e-09 m\n"
            "# tip: -1.5 2 3 m\n"
            "sweep,time_s,p0_K,tip_K\n");
  EXPECT_EQ(probes_line(7, 0.1, {1.0 / 3, -std::nan("")}), "7,0.1,0.3333333333333333,nan\n");
}

// The tables of a build and a machine: faults/test_command_line.py and test_ranks.py.

TEST(List, TilesStandByPrecision) {
  static constexpr std::array<std::string_view, 2> two = {"32x8x1", "64x4x1"};
  StencilKernel<float> fp32[] = {{"absent", Backend::cuda, ""}, {"tile", Backend::cuda, ""}};
  StencilKernel<double> fp64[] = {{"absent", Backend::cuda, ""}, {"tile", Backend::cuda, ""}};
  fp32[1].launch = [](const SweepArgs<float>&, SweepPlan, Stream) {};
  fp64[1].launch = [](const SweepArgs<double>&, SweepPlan, Stream) {};
  fp64[1].tiles = two;
  EXPECT_EQ(tile_table(fp32, fp64),
            "  name  in fp32  in fp64\n"
            "  tile  -        32x8x1, 64x4x1\n");
  const CudaDevices cuda = find_cuda_devices();
  const std::string text = list_text();
  expect_says(text, tile_table(stencil_kernels<float>(), stencil_kernels<double>()));
  expect_says(text, cuda.devices.empty() ? "not known here: " + cuda.why_none : "occupancy");
}

TEST(List, SaysWhyAKernelDoesNotRunHere) {
  StencilKernel<double> registry[] = {{"absent", Backend::cuda, "a"},
                                      {"picky", Backend::cuda, "b"},
                                      {"any", Backend::cuda, "c"},
                                      {"plain", Backend::host, "d"}};
  for (auto& kernel : std::span(registry).subspan(1)) {
    kernel.launch = [](const SweepArgs<double>&, SweepPlan, Stream) {};
  }
  registry[1].unsupported = [](int) { return std::string("it needs more"); };
  registry[2].unsupported = [](int) { return std::string(); };
  EXPECT_EQ(stencil_table(registry, ""),
            "  name    backend  time block  available          description\n"
            "  absent  cuda     1           not in this build  a\n"
            "  picky   cuda     1           no: it needs more  b\n"
            "  any     cuda     1           yes                c\n"
            "  plain   cpu      1           yes                d\n");
  expect_says(stencil_table(registry, "no driver"),
              "  picky   cuda     1           no CUDA device     b\n");  // not asked
}

TEST(List, ResourceTableHasEveryFigure) {
  const std::string text =
      resource_table({{"tile", "fp32", "32x8x1", {256, 40, 4352, 16, 6, 0.75}}, {"wide", "fp64", "-", {}}});
  EXPECT_EQ(text,
            "  kernel  precision  tile    threads  registers    shared  spilled  blocks  occupancy\n"
            "  tile    fp32       32x8x1      256         40  4.25 KiB     16 B       6       75 %\n"
            "  wide    fp64       -             0          0       0 B      0 B       0        0 %\n");
}

RankInfo info_of(int rank) {
  RankInfo info;
  info.rank = rank;
  info.host = fmt::format("node{}", rank / 8);
  info.backend = Backend::cuda;
  info.device_index = rank % 8;
  info.device = "A GPU";
  return info;
}

// 40 ranks, of which rank r has swept for r seconds.
TEST(Profile, OfManyRanksItShowsTheSlowestAndTheFastest) {
  std::vector<PhaseTimes> profiles(40);
  std::vector<RankInfo> ranks;
  for (int rank = 0; rank < 40; ++rank) {
    profiles[static_cast<std::size_t>(rank)][Phase::sweep] = rank;
    profiles[static_cast<std::size_t>(rank)][Phase::loop] = 40;
    ranks.push_back(info_of(rank));
  }
  const std::string text = profile_table(profiles, ranks);
  std::vector<int> shown;
  for (std::size_t at = text.find('\n', 1); at + 1 < text.size(); at = text.find('\n', at + 1)) {
    const std::string rank = text.substr(at + 1, 6);
    if (rank.find_first_of("0123456789") != rank.npos && text.compare(at + 7, 6, "  node") == 0)
      shown.push_back(std::stoi(rank));
  }
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
