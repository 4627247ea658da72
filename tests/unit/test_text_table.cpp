#include "core/text_table.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "core/text.hpp"

namespace isotherm {
namespace {

TEST(TextTable, Aligns) {
  const TextTable table{"lrl", {{"name", "n", "remark"}, {"a", "1", ""}, {"long name", "1000"}}};
  EXPECT_EQ(table.text(2),
            "  name          n  remark\n"
            "  a             1\n"
            "  long name  1000\n");
}

TEST(TextTable, AlignsByColumnsNotBytes) {
  const TextTable table{"lr", {{"name", "n"}, {"k\u00fchl", "1"}, {"\u5bd2", "2"}}};
  EXPECT_EQ(table.text(), "name  n\nk\u00fchl  1\n\u5bd2    2\n");
}

const TextTable cases{"lrl",
                      {{"name", "copy_bandwidth_share_percent", "state"},
                       {"grid.cells-16_precision-fp32", "93.25", "done"},
                       {"k\u00fchl", "7 of 8", "failed: a rank was killed"}}};

TEST(TextTable, IsAsEverWhereItFits) {
  const std::string natural = cases.text(1);  // the last line has 86 columns
  EXPECT_EQ(cases.text(1, 86), natural);
  EXPECT_EQ(cases.text(1, 1000), natural);
  EXPECT_NE(cases.text(1, 85), natural);
}

TEST(TextTable, BreaksHeadsAndWordsNoNumbersOnANarrowTerminal) {
  EXPECT_EQ(cases.text(1, 45),
            "                         copy_\n"
            "                    bandwidth_\n"
            " name            share_percent  state\n"
            " grid.cells-16_          93.25  done\n"
            " precision-fp32\n"
            " k\u00fchl                   7 of 8  failed: a\n"
            "                                rank was\n"
            "                                killed\n");
}

TEST(TextTable, NeverHasALineThatIsWiderThanItsTerminalIfItCan) {
  for (int width = 40; width < 90; ++width) {
    std::istringstream text(cases.text(1, width));
    for (std::string line; std::getline(text, line);)
      EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
  }
}

TEST(TextTable, IsTablesBelowEachOtherWhereNotAllColumnsFit) {
  const TextTable ladder{"llrrl",
                         {{"row", "policy", "GPts/s", "spread", "check"},
                          {"openmp", "3planes", "1.234", "5.2 %", "right"},
                          {"fused", "2planes", "2.345", "11.0 %", "WRONG"}}};
  EXPECT_EQ(ladder.text(0, 40), ladder.text());
  EXPECT_EQ(ladder.text(0, 32),
            "row     policy   GPts/s  spread\n"
            "openmp  3planes   1.234   5.2 %\n"
            "fused   2planes   2.345  11.0 %\n"
            "\n"
            "row     policy   check\n"
            "openmp  3planes  right\n"
            "fused   2planes  WRONG\n");
  const TextTable ranks{
      "rlrr",
      {{"rank", "host", "sweep", "total"}, {"0", "a", "1.5 s", "2.5 s"}, {"", "mean", "1.5 s", "2.5 s"}}};
  EXPECT_EQ(ranks.text(0, 20),
            "rank  host  sweep\n"
            "   0  a     1.5 s\n"
            "      mean  1.5 s\n"
            "\n"
            "rank  host  total\n"
            "   0  a     2.5 s\n"
            "      mean  2.5 s\n");
}

TEST(TextTable, IsBlocksWhereNoTableFits) {
  EXPECT_EQ(cases.text(1, 20),
            " name                          grid.cells-16_precision-fp32\n"
            " copy_bandwidth_share_percent  93.25\n"
            " state                         done\n"
            "\n"
            " name                          k\u00fchl\n"
            " copy_bandwidth_share_percent  7 of 8\n"
            " state                         failed: a rank was killed\n");
  const TextTable holes{"lr", {{"name", "n"}, {"unbroken", ""}, {"b"}}};
  EXPECT_EQ(holes.text(0, 5), "name  unbroken\n\nname  b\n");
}

}  // namespace
}  // namespace isotherm
