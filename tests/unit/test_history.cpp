#include "output/history.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "output/console.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

using test::read_file;

TEST(History, LinesHoldShortestDigitsThatReadBack) {
  EXPECT_EQ(history_head(), "sweep,time_s,residual,relative_residual,wall_s\n");
  EXPECT_EQ(history_line({100, 0.1, 1.0 / 3.0, 1e-7, 0.25}), "100,0.1,0.3333333333333333,1e-07,0.250000\n");
  EXPECT_EQ(history_line({1, 0, std::nan(""), INFINITY, 0}), "1,0,nan,inf,0.000000\n");
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
