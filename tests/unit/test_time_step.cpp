// Coefficients, time steps, and the decay of the slowest mode.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "config/config.hpp"
#include "physics/boundaries.hpp"
#include "physics/diagnostics.hpp"
#include "physics/operator.hpp"
#include "physics/slowest_mode.hpp"
#include "solver/schedule.hpp"
#include "support/deck_text.hpp"
#include "support/error_text.hpp"
#include "support/field_by_index.hpp"
#include "support/repeat.hpp"

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
  for_each_cell(n, [&](Int3 c) {
    double loss = 0;
    for (int f = 0; f < face_count; ++f) {
      const auto side = static_cast<Face>(f);
      const int axis = axis_of(side);
      const bool periodic = config.boundaries[static_cast<std::size_t>(f)].kind == BoundaryKind::periodic;
      const bool at_boundary = c[axis] == (is_max(side) ? n[axis] - 1 : 0) && !periodic;
      const double h = (*config.grid.spacing)[static_cast<std::size_t>(axis)];
      if (periodic && n[axis] == 1) continue;  // its own neighbour
      loss += (1 - (at_boundary ? boundary_law(config, side).a : 0)) / (h * h);
    }
    largest = std::max(largest, loss);
  });
  return largest;
}

TEST(TimeStep, TheMonotoneStepIsThatOfTheWorstCell) {
  Random random;
  for (int i = 0; i < 500; ++i) {
    const auto any = [&] { return random.between<Index>(1, 4); };
    Config config = copper({any(), any(), any()});
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const bool periodic = random() % 4 == 0;
      for (std::size_t side = 0; side < 2; ++side) {
        BoundaryConfig& boundary = config.boundaries[2 * axis + side];
        boundary.kind = periodic
                            ? BoundaryKind::periodic
                            : std::array{BoundaryKind::temperature, BoundaryKind::flux,
                                         BoundaryKind::convection, BoundaryKind::insulated}[random() % 4];
        boundary.coefficient = std::pow(10, static_cast<double>(random() % 9));
      }
    }
    const double worst = largest_loss(config);
    if (worst == 0)
      EXPECT_TRUE(std::isinf(monotone_dt(config)));
    else
      EXPECT_NEAR(monotone_dt(config) * diffusivity(config) * worst, 1, 1e-12) << i;
  }
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
  const auto expect_whole = [](double time, double step) {
    EXPECT_NEAR(time / step, std::round(time / step), 1e-9 * time / step);
  };
  const TimePlan alone = plan(1000.3 * dt, {});
  expect_whole(100 * dt, plan(1000 * dt, 100 * dt).dt);
  for (const double n : {250.0, 125.0, 400.0, 62.5}) {
    const double every = n * 1.0003 * dt;
    const TimePlan with = plan(1000.3 * dt, every);
    expect_whole(every, with.dt);
    expect_whole(1000.3 * dt, with.dt);
    EXPECT_LE(with.dt, dt * (1 + 1e-9));
    EXPECT_LE(with.steps, alone.steps * 5 / 4 + 1);
    EXPECT_NEAR(static_cast<double>(Recurrence({}, every, with.dt).next_after(1)) * with.dt, every,
                1e-9 * dt);
  }
  expect_whole(30 * dt, plan(900 * dt, 300 * dt, 90 * dt).dt);  // of two outputs
  // Where it cannot, or would cost a multiple of the steps, the step is what it was.
  for (const double every : {M_PI * 100, 0.1, 1e6})
    EXPECT_EQ(plan(1000.3 * dt, every * dt).steps, alone.steps);
  config.problem.end_time.reset();
  config.problem.steps = 500;
  config.output.every_time = 10.5 * dt;
  config.output.probes.times.every_time.reset();
  expect_whole(10.5 * dt, time_plan(config).dt);
  EXPECT_EQ(time_plan(config).steps, 500);
}

// Warnings of a deck.
std::vector<std::string> warnings(const std::string& text) {
  return deck_text::parse(text).warnings;
}

std::string deck(const std::string& boundary, const std::string& initial, const std::string& more = "") {
  return "grid: {cells: 10, lengths: 0.1}\nmaterial: {diffusivity: 1e-4, conductivity: 1}\nboundaries: "
         "{x_min: " +
         boundary + "}\ninitial: [{shape: constant, value: " + initial + "}]\nproblem: {steps: 10" + more +
         "}\n";
}

TEST(TimeStep, AStepThatCanOvershootIsTold) {
  const std::string held = "{kind: temperature, value: 400}";
  const Config config = deck_text::parse(deck(held, "300"));
  EXPECT_EQ(monotone_dt(copper({8, 8, 8})), stable_dt(copper({8, 8, 8})));  // without held boundaries
  const double limit = stable_dt(config), monotone = monotone_dt(config);
  EXPECT_DOUBLE_EQ(monotone, limit * 6 / 7);
  EXPECT_TRUE(warnings(deck(held, "300", fmt::format(", dt: {}", monotone))).empty());
  const auto told = warnings(deck(held, "300", fmt::format(", dt: {}", 0.95 * limit)));
  ASSERT_EQ(told.size(), 1u);
  expect_says(told[0], fmt::format("{}", limit));
  expect_says(told[0], fmt::format("{}", monotone));
}

TEST(Kelvin, TemperaturesBelowZeroAreErrorsAndThoseLikeCelsiusAreAskedFor) {
  for (const char* boundary :
       {"{kind: temperature, value: -20}", "{kind: convection, ambient: -20, coefficient: 5}"})
    expect_says(deck_error([&] { deck_text::parse(deck(boundary, "300")); }), "-20 K is below absolute zero");
  expect_says(deck_error([&] { deck_text::parse(deck("insulated", "-1")); }), "initial.0.value: -1 K");
  EXPECT_NO_THROW(deck_text::parse(deck("{kind: flux, value: -20}", "300")));
  const std::string boundary = "{kind: temperature, value: \"25 + y\"}";
  ASSERT_EQ(warnings(deck(boundary, "20")).size(), 1u);
  expect_says(warnings(deck(boundary, "20"))[0], "kelvin?");
  EXPECT_TRUE(warnings(deck(boundary, "293")).empty());
  EXPECT_TRUE(warnings(deck("{kind: temperature, value: 400}", "20")).empty());
}

TEST(Operator, IsAnExplicitEulerStepOrAWeightedJacobiSweep) {
  Config config = copper({8, 8, 8});
  config.problem.dt = 1e-3;
  config.problem.steps = 1;
  const double sum = 1e6 + 0.25e6 + 0.0625e6;  // 1/h^2
  const auto expect_weights = [&](double c0, double by_square, double scale) {
    const Coefficients<double> c = sweep_coefficients(config);
    EXPECT_DOUBLE_EQ(c.c0, c0);
    EXPECT_DOUBLE_EQ(c.cx, by_square * 1e6);
    EXPECT_DOUBLE_EQ(c.cy, by_square * 0.25e6);
    EXPECT_DOUBLE_EQ(c.cz, by_square * 0.0625e6);
    EXPECT_DOUBLE_EQ(source_scale(config), scale);
  };
  const double moved = 400 / (8960.0 * 385.0) * 1e-3;  // alpha dt
  expect_weights(1 - 2 * moved * sum, moved, 1e-3 / (8960.0 * 385.0));
  config.problem = {};
  config.problem.kind = ProblemKind::steady;
  config.problem.weight = 0.8;
  expect_weights(1 - 0.8, 0.8 / (2 * sum), 0.8 / (400 * 2 * sum));
  config.problem = {};
  config.problem.dt_fraction = 1;  // at the stable limit the centre weighs nothing
  config.problem.steps = 1;
  EXPECT_NEAR(sweep_coefficients(config).c0, 0, 1e-15);
}

// What c0 + 2 (cx + cy + cz) misses 1 by is gained or lost by every cell in every sweep.
TEST(Operator, RoundedCoefficientsKeepAConstantConstant) {
  Random random;
  const auto uniform = [&] { return random.between(0.0, 1.0); };
  double worst_one_by_one = 0;
  for (int trial = 0; trial < 10000; ++trial) {
    const double a = uniform(), b = uniform(), d = uniform(), part = uniform() / 2;
    const double cx = part * a / (a + b + d), cy = part * b / (a + b + d), cz = part * d / (a + b + d);
    const Coefficients<double> c{1 - 2 * (cx + cy + cz), cx, cy, cz, 1};
    const auto missing = [](double c0, double x, double y, double z) {
      return std::abs(1 - c0 - 2 * (x + y + z));
    };
    const auto r = rounded_coefficients<float>(c);
    ASSERT_LE(missing(r.c0, r.cx, r.cy, r.cz), std::ldexp(1, -26));
    // Rounded; the largest has moved by what the rounding of c0 left.
    ASSERT_NEAR(r.cx, cx, cx * 1.2e-7 + 2e-8);
    ASSERT_NEAR(r.cy, cy, cy * 1.2e-7 + 2e-8);
    ASSERT_NEAR(r.cz, cz, cz * 1.2e-7 + 2e-8);
    worst_one_by_one = std::max(worst_one_by_one, missing(static_cast<float>(c.c0), static_cast<float>(cx),
                                                          static_cast<float>(cy), static_cast<float>(cz)));
  }
  EXPECT_GT(worst_one_by_one, 2 * std::ldexp(1, -26));  // what the care is for
}

// The decay of the slowest mode, against what sweeps do to a rough field.

Config steady_domain(Int3 cells, std::array<BoundaryKind, face_count> kinds) {
  Config config;
  config.grid.cells = cells;
  config.grid.spacing = Vector3{0.01, 0.02, 0.015};
  config.material.conductivity = 15;
  config.problem.kind = ProblemKind::steady;
  for (std::size_t f = 0; f < face_count; ++f) config.boundaries[f] = {kinds[f], Expression(0.0), 700};
  return config;
}

// Sweeps of an error, whose boundaries have no values of their own.
class Error3 {
 public:
  explicit Error3(const Config& config)
      : config_(config), n_(config.grid.cells), c_(sweep_coefficients(config)) {
    for (Index i = 0; i < n_.product(); ++i)
      values_.push_back(std::sin(1.0 + 37.0 * static_cast<double>(i * i)));
  }

  // The factor of one of the last sweeps, by the root mean square.
  double decay(int sweeps) {
    double factor = 1;
    for (int sweep = 0; sweep < sweeps; ++sweep) factor = sweep_once();
    return -std::log(factor);
  }

 private:
  double at(Int3 cell, int axis, Index to) const {
    const Index n = n_[axis];
    Int3 other = cell;
    other[axis] = to;
    if (to >= 0 && to < n) return value(other);
    const Face f = face(axis, to >= n);
    if (config_.boundaries[static_cast<std::size_t>(f)].kind == BoundaryKind::periodic) {
      other[axis] = (to + n) % n;
      return value(other);
    }
    return boundary_law(config_, f).a * value(cell);
  }
  double value(Int3 c) const { return values_[index_of(c, n_)]; }

  double sweep_once() {
    const double weights[] = {c_.cx, c_.cy, c_.cz};
    std::vector<double> next;
    double mean = 0, squares = 0;
    for_each_cell(n_, [&](Int3 cell) {
      double sum = c_.c0 * value(cell);
      for (int axis = 0; axis < 3; ++axis)
        sum += weights[axis] * (at(cell, axis, cell[axis] - 1) + at(cell, axis, cell[axis] + 1));
      next.push_back(sum);
      mean += sum / static_cast<double>(n_.product());
    });
    if (!mean_is_free(config_)) mean = 0;
    for (double& v : next) squares += (v - mean) * (v - mean);
    const double norm = std::sqrt(squares), factor = norm;
    for (double& v : next) v = (v - mean) / norm;
    values_ = std::move(next);
    return factor;
  }

  const Config& config_;
  Int3 n_;
  Coefficients<double> c_;
  std::vector<double> values_;
};

constexpr BoundaryKind held = BoundaryKind::temperature, open = BoundaryKind::insulated,
                       cooled = BoundaryKind::convection, heated = BoundaryKind::flux,
                       round = BoundaryKind::periodic;

void expect_as_measured(const Config& config) {
  const double expected = Error3(config).decay(4000);
  EXPECT_NEAR(slowest_decay(config), expected, 1e-6 * expected);
}

TEST(SlowestMode, DecaysAsItDoesInSweeps) {
  const std::array<BoundaryKind, face_count> cases[] = {
      {held, held, held, held, held, held},     {held, open, open, open, open, open},
      {cooled, open, heated, open, open, open}, {held, cooled, round, round, open, cooled},
      {round, round, held, held, round, round}, {open, heated, round, round, open, open},
      {open, open, open, open, open, open},     {cooled, cooled, cooled, held, open, open}};
  for (const auto& kinds : cases) {
    expect_as_measured(steady_domain({6, 5, 7}, kinds));
    expect_as_measured(steady_domain({1, 8, 3}, kinds));
    expect_as_measured(steady_domain({9, 1, 1}, kinds));
  }
}

TEST(SlowestMode, MayBeTheCheckerboard) {
  Config config = steady_domain({4, 4, 4}, {round, round, round, round, held, held});
  config.problem.weight = 0.9999;
  EXPECT_NEAR(slowest_decay(config), Error3(config).decay(4000), 1e-8);
  config = steady_domain({4, 4, 4}, {held, held, held, held, held, held});
  config.problem.weight = 1;
  EXPECT_NEAR(slowest_decay(config), 0, 1e-15);
  // Of a single cell that nothing holds there is none.
  EXPECT_EQ(slowest_decay(steady_domain({1, 1, 1}, {open, open, open, open, open, open})), 0);
}

// The figures by which the default of problem.max_sweeps was chosen.
TEST(SlowestMode, TheDefaultOfMaxSweepsIsEnoughFor256CellsEachWay) {
  const double way = std::log(1 / ProblemConfig{}.tolerance);
  const auto needed = [&](std::array<BoundaryKind, face_count> kinds) {
    Config config = steady_domain({256, 256, 256}, kinds);
    config.grid.spacing = Vector3{0.01, 0.01, 0.01};
    return way / slowest_decay(config);
  };
  EXPECT_NEAR(needed({held, held, held, held, held, held}), 185'300, 100);
  EXPECT_NEAR(needed({held, held, open, open, open, open}), 555'900, 300);
  EXPECT_NEAR(needed({held, open, open, open, open, open}), 2'223'700, 1000);
  EXPECT_GT(static_cast<double>(ProblemConfig{}.max_sweeps), needed({held, open, open, open, open, open}));
}

}  // namespace
}  // namespace isotherm
