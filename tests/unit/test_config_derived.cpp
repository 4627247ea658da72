// What follows from a deck: where cells are, what they are of, how long steps are.
#include <gtest/gtest.h>

#include "config/config.hpp"
#include "config/grid_axes.hpp"
#include "support/deck_text.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

using deck_text::base;
using deck_text::parse;
using deck_text::replaced;

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

}  // namespace
}  // namespace isotherm
