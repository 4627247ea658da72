#include "output/records/history.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "output/console/console.hpp"
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
  plan.walls = {true, true, false, false, false, false};
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
  EXPECT_NE(console.warnings()[1].find("wrote other columns; its lines are in 'history.csv.2.aside'"),
            std::string::npos)
      << console.warnings()[1];
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

}  // namespace
}  // namespace isotherm
