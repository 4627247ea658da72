#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "config/config.hpp"
#include "solver/schedule.hpp"
#include "support/deck_text.hpp"
#include "support/error_text.hpp"

namespace isotherm {
namespace {

Config copper(Int3 cells) {
  Config config;
  config.grid.cells = cells;
  config.grid.spacing = Vector3{1e-3, 2e-3, 4e-3};
  config.material.conductivity = 400;
  config.material.density = 8960;
  config.material.heat_capacity = 385;
  return config;
}

// What dt * alpha * (...) may be at most 1, cell by cell: the sum of (1 - a_f) / h^2 over six faces.
double largest_loss(const Config& config) {
  double largest = 0;
  const Int3 n = config.grid.cells;
  for (Index z = 0; z < n.z; ++z)
    for (Index y = 0; y < n.y; ++y)
      for (Index x = 0; x < n.x; ++x) {
        double loss = 0;
        for (int f = 0; f < face_count; ++f) {
          const auto side = static_cast<Face>(f);
          const int axis = axis_of(side);
          const Index i = Int3{x, y, z}[axis];
          const bool periodic = config.boundaries[static_cast<std::size_t>(f)].kind == WallKind::periodic;
          const bool at_boundary = i == (is_max(side) ? n[axis] - 1 : 0) && !periodic;
          const double h = (*config.grid.spacing)[static_cast<std::size_t>(axis)];
          if (periodic && n[axis] == 1) continue;  // its own neighbour
          loss += (1 - (at_boundary ? wall_law(config, side).a : 0)) / (h * h);
        }
        largest = std::max(largest, loss);
      }
  return largest;
}

TEST(TimeStep, TheMonotoneStepIsThatOfTheWorstCell) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 500; ++i) {
    const auto any = [&] { return static_cast<Index>(1 + random() % 4); };
    Config config = copper({any(), any(), any()});
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const bool periodic = random() % 4 == 0;
      for (std::size_t side = 0; side < 2; ++side) {
        WallConfig& wall = config.boundaries[2 * axis + side];
        wall.kind = periodic ? WallKind::periodic
                             : std::array{WallKind::temperature, WallKind::flux, WallKind::convection,
                                          WallKind::insulated}[random() % 4];
        wall.coefficient = std::pow(10, static_cast<double>(random() % 9));
      }
    }
    const double worst = largest_loss(config);
    if (worst == 0)
      EXPECT_TRUE(std::isinf(monotone_dt(config)));
    else
      EXPECT_NEAR(monotone_dt(config) * diffusivity(config) * worst, 1, 1e-12) << i;
  }
}

TEST(TimeStep, WithoutHeldBoundariesTheMonotoneStepIsTheStableOne) {
  const Config config = copper({8, 8, 8});
  EXPECT_EQ(monotone_dt(config), stable_dt(config));
}

TEST(TimeStep, AutoDividesTheTimesOfOutputs) {
  Config config = copper({8, 8, 8});
  const double dt = 0.9 * stable_dt(config);
  const auto plan = [&](double end_time, std::optional<double> every_time,
                        std::optional<double> probes = {}) {
    config.problem.end_time = end_time;
    config.output.every_time = every_time;
    config.output.probes.times.every_time = probes;
    return time_plan(config);
  };
  const auto is_whole = [](double time, double step) {
    return std::abs(time / step - std::round(time / step)) < 1e-9 * time / step;
  };
  const TimePlan alone = plan(1000.3 * dt, {});
  const TimePlan made = plan(1000 * dt, 100 * dt);
  EXPECT_TRUE(is_whole(100 * dt, made.dt));
  for (const double every : {250.0, 125.0, 400.0, 62.5}) {
    const TimePlan with = plan(1000.3 * dt, every * 1.0003 * dt);
    EXPECT_TRUE(is_whole(every * 1.0003 * dt, with.dt)) << every;
    EXPECT_TRUE(is_whole(1000.3 * dt, with.dt)) << every;
    EXPECT_LE(with.dt, dt * (1 + 1e-9));
    EXPECT_LE(with.steps, alone.steps * 5 / 4 + 1);
    const Recurrence files({}, every * 1.0003 * dt, with.dt);
    EXPECT_NEAR(static_cast<double>(files.next_after(1)) * with.dt, every * 1.0003 * dt, 1e-9 * dt);
  }
  // Two outputs.
  const TimePlan both = plan(900 * dt, 300 * dt, 90 * dt);
  EXPECT_TRUE(is_whole(30 * dt, both.dt));
  // Where it cannot, or would cost a multiple of the steps, the step is what it was.
  EXPECT_EQ(plan(1000.3 * dt, M_PI * 100 * dt).steps, alone.steps);
  EXPECT_EQ(plan(1000.3 * dt, 0.1 * dt).steps, alone.steps);
  EXPECT_EQ(plan(1000.3 * dt, 1e6 * dt).steps, alone.steps);
  config.problem.end_time.reset();
  config.problem.steps = 500;
  config.output.every_time = 10.5 * dt;
  config.output.probes.times.every_time.reset();
  EXPECT_TRUE(is_whole(10.5 * dt, time_plan(config).dt));
  EXPECT_EQ(time_plan(config).steps, 500);
}

// Warnings of a deck.
std::vector<std::string> warnings(const std::string& text) {
  return deck_text::parse(text).warnings;
}

std::string deck(const std::string& wall, const std::string& initial, const std::string& more = "") {
  return "grid: {cells: 10, lengths: 0.1}\nmaterial: {diffusivity: 1e-4, conductivity: 1}\nboundaries: "
         "{x_min: " +
         wall + "}\ninitial: [{shape: constant, value: " + initial + "}]\nproblem: {steps: 10" + more + "}\n";
}

TEST(TimeStep, AStepThatCanOvershootIsTold) {
  const std::string held = "{kind: temperature, value: 400}";
  const Config config = deck_text::parse(deck(held, "300"));
  const double limit = stable_dt(config), monotone = monotone_dt(config);
  EXPECT_DOUBLE_EQ(monotone, limit * 6 / 7);
  EXPECT_TRUE(warnings(deck(held, "300", fmt::format(", dt: {}", monotone))).empty());
  const auto told = warnings(deck(held, "300", fmt::format(", dt: {}", 0.95 * limit)));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find(fmt::format("{}", limit)), std::string::npos) << told[0];
  EXPECT_NE(told[0].find(fmt::format("{}", monotone)), std::string::npos) << told[0];
}

TEST(Kelvin, TemperaturesBelowZeroAreErrors) {
  for (const char* wall :
       {"{kind: temperature, value: -20}", "{kind: convection, ambient: -20, coefficient: 5}"}) {
    const std::string error = deck_error([&] { deck_text::parse(deck(wall, "300")); });
    EXPECT_NE(error.find("-20 K is below absolute zero"), std::string::npos) << error;
  }
  EXPECT_NE(deck_error([&] { deck_text::parse(deck("insulated", "-1")); }).find("initial.0.value: -1 K"),
            std::string::npos);
  EXPECT_NO_THROW(deck_text::parse(deck("{kind: flux, value: -20}", "300")));
}

TEST(Kelvin, TemperaturesThatLookLikeCelsiusAreAskedFor) {
  const std::string wall = "{kind: temperature, value: \"25 + y\"}";
  ASSERT_EQ(warnings(deck(wall, "20")).size(), 1u);
  EXPECT_NE(warnings(deck(wall, "20"))[0].find("kelvin?"), std::string::npos);
  EXPECT_TRUE(warnings(deck(wall, "293")).empty());
  EXPECT_TRUE(warnings(deck("{kind: temperature, value: 400}", "20")).empty());
}

}  // namespace
}  // namespace isotherm
