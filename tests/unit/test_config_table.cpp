// Tables of decks: their values, and what is said of wrong ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "config/expression.hpp"
#include "support/deck_text.hpp"
#include "support/error_text.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

using deck_text::base;
using deck_text::with_boundary;

TEST(ConfigTable, IsLinearOrInStepsAndConstantBeyondItsEnds) {
  const test::TemporaryFolder folder;
  const std::string file = (folder.path() / "trace.csv").string();
  std::ofstream(file) << "# power of a chip\nP_W, \"t_s\"\n20,1\n\n50,3\n-10, 4\n";
  for (const std::string table : {"[[1, 20], [3, 50], [4, -10]]", "trace.csv, time: t_s, column: P_W"}) {
    const auto value_of = [&](const std::string& interpolation) {
      const std::string value = fmt::format("{{table: {}{}}}", table, interpolation);
      const std::string deck = with_boundary("{kind: flux, value: " + value + "}") +
                               "material: {conductivity: 1, diffusivity: 1}\n";
      return parse_deck(deck_text::replaced(deck, "material:\n  diffusivity: 1\n", ""),
                        (folder.path() / "deck.yaml").string(), {}, deck_text::registry())
          .boundaries[0]
          .value;
    };
    const Expression linear = value_of(""), steps = value_of(", interpolation: step");
    EXPECT_TRUE(linear.uses('t') && linear.is_table() && !linear.uses('x'));
    const double times[] = {0, 1, 2, 3, 3.5, 4, 9}, in_line[] = {20, 20, 35, 50, 20, -10, -10},
                 in_steps[] = {20, 20, 20, 50, 50, -10, -10};
    for (std::size_t i = 0; i < std::size(times); ++i) {
      EXPECT_EQ(linear(0, 0, 0, times[i]), in_line[i]) << times[i];
      EXPECT_EQ(steps(0, 0, 0, times[i]), in_steps[i]) << times[i];
    }
    if (table[0] == 't') {
      EXPECT_NE(steps.text().find(file), std::string::npos);  // found from anywhere
    }
  }
}

TEST(ConfigTable, WhatIsWrongIsNamed) {
  const auto expect = [](const std::string& value, const std::string& problem) {
    expect_says(deck_text::problems(with_boundary("{kind: flux, value: " + value + "}")).first, problem);
  };
  expect("{table: [[0, 1], [0, 2]]}", "the time 0 s does not follow 0 s");
  expect("{table: [[0, 1], [1, x]]}", "'x' is not a number (entry 2)");
  expect("{table: [0, 1]}", "a table is a list of [time, value]");
  expect("{table: []}", "the table is empty");
  expect("{table: [[0, 1e99]]}", "the value 1e+99 of the table is out of range");
  expect("{table: none.csv, time: t, column: q}", "none.csv cannot be read");
  expect("{table: none.csv}", "a file needs the names of its columns");
  expect("{table: [[0, 1]], interpolation: cubic}", "interpolation 'cubic' is unknown");
  expect("{tabel: [[0, 1]]}", "'tabel' is no part of a table");
  expect_says(
      deck_text::problems(base + "sources: [{shape: double_ellipsoid, value: 1, centre: [0, 0, 0], front: 1, "
                                 "rear: 1, half_width: 1, depth: 1}]\n")
          .first,
      "write power");
}

}  // namespace
}  // namespace isotherm
