// What follows from a deck: where cells are, what they are of, how long steps are, what its tables say.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "config/config.hpp"
#include "config/expression.hpp"
#include "config/grid_axes.hpp"
#include "support/deck_text.hpp"
#include "support/error_text.hpp"
#include "support/repeat.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

using deck_text::base;
using deck_text::parse;
using deck_text::replaced;
using deck_text::with_boundary;

TEST(ConfigDerived, PlacesOnAGradedAxis) {
  const Config config = parse(replaced(replaced(base, "[8, 9, 10]", "[2, 2, null]"), "lengths: 1",
                                       "spacing: [1, 1, [[2, 0.5], [1, 2], [3, 0.25]]]"));
  const GridAxis z(config, 2);
  const double edges[] = {0, 0.5, 1, 3, 3.25, 3.5, 3.75, 4};
  for (Index i = 0; i < 6; ++i) {
    EXPECT_EQ(z.edge(i), edges[i]);
    EXPECT_EQ(z.centre(i), (edges[i] + edges[i + 1]) / 2);
    EXPECT_EQ(z.in_cells(z.centre(i)), static_cast<double>(i) + 0.5);
    EXPECT_EQ(z.size_formula()(0, 0, z.centre(i)), z.size(i));
  }
  EXPECT_EQ(z.length(), 3.75);
  EXPECT_EQ(z.edge(7), 4);
  EXPECT_EQ(z.edge(-1), -0.5);
  EXPECT_EQ(spacing(config)[2], 0.5);
  EXPECT_EQ(size_at(config, Face::z_max), 0.25);
}

TEST(ConfigDerived, SpacingAndMaterial) {
  Config config = parse(base);
  EXPECT_EQ(spacing(config), (Vector3{1.0 / 8, 1.0 / 9, 1.0 / 10}));
  config.grid.spacing = Vector3{1, 2, 3};
  EXPECT_EQ(spacing(config), (Vector3{1, 2, 3}));
  config.material = {.conductivity = 400, .density = 8000, .heat_capacity = 500};
  EXPECT_EQ(diffusivity(config), 400 / (8000.0 * 500));
  EXPECT_EQ(volumetric_heat_capacity(config), 4e6);
  config.material = {.conductivity = 400, .diffusivity = 1e-4};
  EXPECT_EQ(volumetric_heat_capacity(config), 400 / 1e-4);
  EXPECT_EQ(stable_dt(config), 1 / (2 * 1e-4 * (1 / 1.0 + 1 / 4.0 + 1 / 9.0)));
}

TEST(ConfigDerived, WholeStepsEndAtEndTime) {
  Config config = parse(base);
  config.grid.spacing = Vector3{1, 1, 1};  // stable dt: 1/6 s
  const auto plan = [&](std::optional<double> dt, std::optional<double> end_time,
                        std::optional<std::int64_t> steps) {
    config.problem.dt = dt;
    config.problem.end_time = end_time;
    config.problem.steps = steps;
    return time_plan(config);
  };
  EXPECT_EQ(plan(0.1, 1.0, {}).steps, 10);  // and not 11 for the sake of the last bit
  EXPECT_EQ(plan(0.1, 0.3, {}).steps, 3);
  EXPECT_EQ(plan(0.1, 0.31, {}).steps, 4);
  EXPECT_EQ(plan(0.1, 0.31, {}).dt, 0.31 / 4);
  EXPECT_EQ(plan(0.1, 0.0, {}).steps, 0);
  EXPECT_EQ(plan({}, 1.5, {}).steps, 10);
  EXPECT_DOUBLE_EQ(plan({}, 1.5, {}).dt, 0.15);
  EXPECT_EQ(plan(0.1, {}, 7).steps, 7);
  EXPECT_EQ(plan(0.1, {}, 7).dt, 0.1);
  Random random;
  for (int i = 0; i < 1000; ++i) {
    const double dt = random.between(1e-4, 0.1), end_time = random.between(0.01, 10.0);
    const TimePlan made = plan(dt, end_time, {});
    EXPECT_LE(made.dt, dt * (1 + 1e-9));
    EXPECT_GT(made.dt * static_cast<double>(made.steps + 1), end_time);
    EXPECT_DOUBLE_EQ(made.dt * static_cast<double>(made.steps), end_time);
  }
}

TEST(ConfigTable, IsLinearOrInStepsAndConstantBeyondItsEnds) {
  const test::TemporaryFolder folder;
  const std::string file = (folder.path() / "trace.csv").string();
  std::ofstream(file) << "# power of a chip\nP_W, \"t_s\"\n20,1\n\n50,3\n-10, 4\n";
  for (const std::string table : {"[[1, 20], [3, 50], [4, -10]]", "trace.csv, time: t_s, column: P_W"}) {
    const auto value_of = [&](const std::string& interpolation) {
      const std::string value = fmt::format("{{table: {}{}}}", table, interpolation);
      const std::string deck = with_boundary("{kind: flux, value: " + value + "}") +
                               "material: {conductivity: 1, diffusivity: 1}\n";
      return parse_deck(replaced(deck, "material:\n  diffusivity: 1\n", ""),
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
