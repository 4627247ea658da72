// Tables: history.csv, probes, the rows that are listed, the time of each rank.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <functional>
#include <span>

#include "app/subcommands.hpp"
#include "core/device.hpp"
#include "kernels/histogram.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "output/console/console.hpp"
#include "output/records/history.hpp"
#include "output/records/run_record.hpp"
#include "physics/cells.hpp"
#include "physics/probe.hpp"
#include "support/error_text.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

using test::read_file;

TEST(History, LinesHoldShortestDigitsThatReadBack) {
  EXPECT_EQ(history_head(), "sweep,time_s,residual,relative_residual,wall_s\n");
  EXPECT_EQ(history_line({100, 0.1, 1.0 / 3.0, 1e-7, 0.25}), "100,0.1,0.3333333333333333,1e-07,0.250000\n");
  EXPECT_EQ(history_line({1, 0, std::nan(""), INFINITY, 0}), "1,0,nan,inf,0.000000\n");
}

DiagnosticsPlan plan_of_a_column() {
  DiagnosticsPlan plan;
  plan.boundaries = {true, true, false, false, false, false};
  plan.flows = plan.rate = true;
  plan.heat_capacity = 2;
  plan.bins = 2;
  return plan;
}

TEST(History, DiagnosticsAreFurtherColumns) {
  DiagnosticsPlan plan = plan_of_a_column();
  EXPECT_EQ(
      history_head(plan),
      "sweep,time_s,residual,relative_residual,wall_s,min_K,max_K,mean_K,heat_J,rate_W,wall_x_min_W,"
      "wall_x_max_W,source_W,balance_W,relative_balance,hist_under,hist_0,hist_1,hist_over,nan_cells\n");
  HistoryRow row{7, 0.5, 0.25, 0.125, 1, {}};
  EXPECT_EQ(history_line(row, plan), "7,0.5,0.25,0.125,1.000000,,,,,,,,,,,,,,,\n");
  row.residual.reset();
  row.relative.reset();
  row.diagnostics =
      Diagnostics{290, 310, 300.5, 0, 1e6, {}, Histogram{Bins::of(290, 310, 2), {1, 2, 3, 4, 5}}};
  EXPECT_EQ(history_line(row, plan), "7,0.5,,,1.000000,290,310,300.5,1000000,,,,,,,1,2,3,4,0\n");
  row.diagnostics->flows = HeatFlows{{3, -1, 0, 0, 0, 0}, 0.5, 2.25, 0.25, 0.0625};
  row.diagnostics->mean = -std::nan("");
  row.diagnostics->nan_cells = 5;
  EXPECT_EQ(history_line(row, plan),
            "7,0.5,,,1.000000,290,310,nan,1000000,2.25,3,-1,0.5,0.25,0.0625,1,2,3,4,5\n");
  plan = {};
  EXPECT_EQ(history_head(plan),
            "sweep,time_s,residual,relative_residual,wall_s,min_K,max_K,mean_K,nan_cells\n");
  EXPECT_EQ(history_line(row, plan), "7,0.5,,,1.000000,290,310,nan,5\n");
}

TEST(History, IsCompleteWhenFinished) {
  const test::TemporaryFolder folder;
  Console console(0, Console::Echo::no);
  std::string expected = history_head();
  History history(folder.path() / "history.csv", console);
  for (int sweep = 0; sweep < 5000; ++sweep) {  // more than one buffer
    const HistoryRow row{sweep, sweep * 1e-3, 1.0 / (sweep + 1), 0.5, 1};
    history.add(row);
    expected += history_line(row);
  }
  history.finish();
  EXPECT_EQ(read_file(folder.path() / "history.csv"), expected);
  EXPECT_TRUE(console.warnings().empty());
}

TEST(History, HeadStandsBeforeTheFirstRowAndTheEndOfTheObjectFinishes) {
  const test::TemporaryFolder folder;
  Console console(0, Console::Echo::no);
  {
    History history(folder.path() / "history.csv", console);
    EXPECT_EQ(read_file(folder.path() / "history.csv"), history_head());
    history.add({1, 0, 2, 1, 0});
  }
  EXPECT_EQ(read_file(folder.path() / "history.csv"), history_head() + "1,0,2,1,0.000000\n");
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
  Console console(0, Console::Echo::no);
  History history("/nowhere/history.csv", console);
  for (int sweep = 0; sweep < 5000; ++sweep) history.add({sweep, 0, 1, 1, 0});
  history.finish();
  ASSERT_EQ(console.warnings().size(), 1u);
  EXPECT_EQ(console.warnings()[0],
            "'/nowhere/history.csv' cannot be written (No such file or directory); the run goes on without "
            "its history");
}

TEST(History, FullDiskIsOneWarning) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  Console console(0, Console::Echo::no);
  History history("/dev/full", console);
  for (int sweep = 0; sweep < 5000; ++sweep) history.add({sweep, 0, 1, 1, 0});
  history.finish();
  ASSERT_EQ(console.warnings().size(), 1u);
  EXPECT_EQ(console.warnings()[0],
            "'/dev/full' cannot be written (No space left on device); the run goes on without its history");
}

// What a probe reads between cells, at walls and across periodic faces.

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
  for (Index z = 0; z < 2; ++z)
    for (Index y = 0; y < 3; ++y)
      for (Index x = 0; x < 4; ++x)
        EXPECT_EQ(read(config, centre(Int3{x, y, z}), by_index), by_index({x, y, z}));
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

TEST(Probe, AtAWallOfGivenTemperatureItReadsThat) {
  Config config = config_of({4, 3, 2});
  config.boundaries[0] = {BoundaryKind::temperature, Expression("100 + 10*y + t", "yzt"), 0};
  EXPECT_EQ(read(config, {-1, 3.5, 1}, by_index, 7), 142);                    // the value at the cell's own y
  EXPECT_EQ(read(config, {-0.875, 3.5, 1}, by_index, 7), (142 + 310) / 2.0);  // half way to its centre
  EXPECT_EQ(read(config, {-0.75, 3.5, 1}, by_index, 7), 310);
}

TEST(Probe, TowardsAFluxItFollowsTheGradient) {
  Config config = config_of({4, 3, 2});
  config.boundaries[5] = {BoundaryKind::flux, Expression(8.0),
                          0};  // 8 / 4 = 2 K/m inwards: warmer towards the wall
  EXPECT_EQ(read(config, {-0.75, 2.5, 4}, by_index), 400 + 2);
  EXPECT_EQ(read(config, {-0.75, 2.5, 0}, by_index), 300);  // insulated
}

TEST(Probe, AtAConvectionWallItIsTheSurface) {
  Config config = config_of({4, 3, 2});
  config.boundaries[3] = {BoundaryKind::convection, Expression(200.0), 24};
  // k/(h/2) (T - Ts) = H (Ts - Ta), k = 4, h = 1, H = 24
  EXPECT_DOUBLE_EQ(read(config, {-0.75, 5, 1}, by_index), (8 * 320.0 + 24 * 200.0) / (8 + 24));
}

TEST(Probe, BeyondTwoWallsTheLaterAxisHasTheLastWord) {
  Config config = config_of({4, 3, 2});
  config.boundaries[0] = {BoundaryKind::temperature, Expression(10.0), 0};
  config.boundaries[2] = {BoundaryKind::temperature, Expression(20.0), 0};
  EXPECT_EQ(read(config, {-1, 2, 1}, by_index), 20);
  EXPECT_EQ(read(config, {-1, 2.5, 1}, by_index), 10);
  config.boundaries[2] = {BoundaryKind::insulated, {}, 0};
  EXPECT_EQ(read(config, {-1, 2, 1}, by_index), 10);
}

TEST(Probe, AcrossAPeriodicFaceTheOtherSideIsNext) {
  Config config = config_of({4, 3, 2});
  config.boundaries[0].kind = config.boundaries[1].kind = BoundaryKind::periodic;
  const double between = (300 + 303) / 2.0;
  EXPECT_EQ(read(config, {-1, 2.5, 1}, by_index), between);
  EXPECT_EQ(read(config, {1, 2.5, 1}, by_index), between);
  EXPECT_EQ(read(config, {0.875, 2.5, 1}, by_index), 303 - 3 * 0.25);
}

TEST(Probe, AGridOneCellThickHasWallsOnBothSides) {
  Config config = config_of({1, 1, 1});
  config.boundaries[0] = {BoundaryKind::temperature, Expression(10.0), 0};
  config.boundaries[1] = {BoundaryKind::temperature, Expression(20.0), 0};
  const auto uniform = [](Int3) { return 15.0; };
  EXPECT_EQ(read(config, {-1, 2, 0}, uniform), 10);
  EXPECT_EQ(read(config, {-0.75, 2.25, 1.5}, uniform), 15);
  EXPECT_EQ(read(config, {-0.5, 3, 2}, uniform), 20);
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

bool has_row(const std::string& text, std::string_view name, std::string_view backend) {
  const auto at = text.find("\n  " + std::string(name) + " ");
  return at != std::string::npos &&
         text.substr(at, text.find('\n', at + 1) - at).find(backend) != std::string::npos;
}

TEST(List, NamesThePoliciesOfEveryRowThatWasBuilt) {
  const auto check = [](const auto& rows, const std::string& text) {
    for (const auto& row : rows) {
      if (!row.available()) continue;
      for (const std::string_view policy : row.policies)
        EXPECT_TRUE(has_row(text, row.name, policy)) << row.name << " " << policy << "\n" << text;
    }
  };
  const std::string text = "\n" + policy_table(stencil_kernels<float>(), stencil_kernels<double>());
  check(stencil_kernels<float>(), text);
  check(stencil_kernels<double>(), text);
  expect_says(list_text(), text);
}

TEST(List, PoliciesStandByPrecision) {
  static constexpr std::array<std::string_view, 2> two = {"32x8x1", "64x4x1"};
  StencilKernel<float> fp32[] = {{"absent", Backend::cuda, ""}, {"tile", Backend::cuda, ""}};
  StencilKernel<double> fp64[] = {{"absent", Backend::cuda, ""}, {"tile", Backend::cuda, ""}};
  fp32[1].launch = [](const SweepArgs<float>&, SweepPlan, Stream) {};
  fp64[1].launch = [](const SweepArgs<double>&, SweepPlan, Stream) {};
  fp64[1].policies = two;
  EXPECT_EQ(policy_table(fp32, fp64),
            "  name  in fp32  in fp64\n"
            "  tile  -        32x8x1, 64x4x1\n");
}

TEST(List, SaysWhyARowDoesNotRunHere) {
  StencilKernel<double> rows[] = {{"absent", Backend::cuda, "a"},
                                  {"picky", Backend::cuda, "b"},
                                  {"any", Backend::cuda, "c"},
                                  {"plain", Backend::host, "d"}};
  for (auto& row : std::span(rows).subspan(1)) {
    row.launch = [](const SweepArgs<double>&, SweepPlan, Stream) {};
  }
  rows[1].unsupported = [](int) { return std::string("it needs more"); };
  rows[2].unsupported = [](int) { return std::string(); };
  EXPECT_EQ(stencil_table(rows, ""),
            "  name    backend  depth  available          remark\n"
            "  absent  cuda     1      not in this build  a\n"
            "  picky   cuda     1      no: it needs more  b\n"
            "  any     cuda     1      yes                c\n"
            "  plain   cpu      1      yes                d\n");
  EXPECT_EQ(stencil_table(rows, "no driver"),  // the rows are not asked
            "  name    backend  depth  available          remark\n"
            "  absent  cuda     1      not in this build  a\n"
            "  picky   cuda     1      no CUDA device     b\n"
            "  any     cuda     1      no CUDA device     c\n"
            "  plain   cpu      1      yes                d\n");
}

TEST(List, SaysWhatTheRowsTakeOfADeviceOrWhyItIsNotKnown) {
  const std::string text = list_text();
  const CudaDevices cuda = find_cuda_devices();
  if (cuda.devices.empty()) {
    expect_says(text, "not known here: " + cuda.why_none);
  } else {
    expect_says(text, "occupancy");
    for (const auto& row : histogram_kernels<double>()) {
      const std::string line = "\n  " + std::string(row.name) + " ";
      EXPECT_TRUE(!row.resources || text.rfind(line) != text.find(line)) << row.name << "\n" << text;
    }
  }
}

TEST(List, ResourceTableHasEveryFigure) {
  const std::string text =
      resource_table({{"tile", "fp32", "32x8x1", {256, 40, 4352, 16, 6, 0.75}}, {"wide", "fp64", "-", {}}});
  EXPECT_EQ(text,
            "  row   precision  policy  threads  registers    shared  spilled  blocks  occupancy\n"
            "  tile  fp32       32x8x1      256         40  4.25 KiB     16 B       6       75 %\n"
            "  wide  fp64       -             0          0       0 B      0 B       0        0 %\n");
}

// Rank 0 waits for rank 1, which sweeps longer; powers of two, that sums are exact.
std::vector<PhaseTimes> two() {
  std::vector<PhaseTimes> profiles(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    PhaseTimes& p = profiles[rank];
    p[Phase::setup] = 0.5;
    p[Phase::interior] = rank ? 2 : 1;
    p[Phase::shells] = 0.5;
    p[Phase::pack] = p[Phase::unpack] = 0.125;
    p[Phase::wire] = rank ? 0.25 : 1.25;
    p[Phase::output] = 0.75;
    p[Phase::other] = 0.25;
    p[Phase::loop] = 4;
    p[Phase::total] = 5;
  }
  return profiles;
}

RankRow row_of(int rank, int device) {
  RankRow row;
  row.rank = rank;
  row.host = fmt::format("node{}", rank / 8);
  row.backend = device < 0 ? Backend::host : Backend::cuda;
  row.device_index = device;
  row.device = device < 0 ? "Some CPU" : "A GPU";
  return row;
}

TEST(Profile, NamesTheGpuOfARank) {
  const std::string text = profile_table(two(), {row_of(0, 0), row_of(1, 3)});
  expect_says(text, "  3 A GPU  ");
}

// 40 ranks, of which rank r has swept for r seconds.
TEST(Profile, OfManyRanksItShowsTheSlowestAndTheFastest) {
  std::vector<PhaseTimes> profiles(40);
  std::vector<RankRow> rows;
  for (int rank = 0; rank < 40; ++rank) {
    profiles[static_cast<std::size_t>(rank)][Phase::sweep] = rank;
    profiles[static_cast<std::size_t>(rank)][Phase::loop] = 40;
    rows.push_back(row_of(rank, rank % 8));
  }
  const std::string text = profile_table(profiles, rows);
  std::vector<int> shown;
  for (std::size_t at = text.find('\n', 1); at + 1 < text.size(); at = text.find('\n', at + 1)) {
    const std::string rank = text.substr(at + 1, 6);
    if (rank.find_first_of("0123456789") != rank.npos && text.compare(at + 7, 6, "  node") == 0)
      shown.push_back(std::stoi(rank));
  }
  EXPECT_EQ(shown, (std::vector{39, 38, 37, 36, 35, 34, 33, 32, 7, 6, 5, 4, 3, 2, 1, 0}));
  expect_says(text, "\n  8 ranks that swept longest and 8 that swept shortest; 24 more in run.json\n");
  expect_says(text, "19.5 s");
  RunRecord record;
  record.profile = profiles;
  EXPECT_EQ(nlohmann::json::parse(to_json(record))["profile"].size(), 40u);
  profiles.resize(32);
  rows.resize(32);
  EXPECT_EQ(profile_table(profiles, rows).find("more in run.json"), std::string::npos);
}

}  // namespace
}  // namespace isotherm
