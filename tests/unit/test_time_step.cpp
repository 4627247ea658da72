// Coefficients, steps, their decay, and when things end or come again.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "config/config.hpp"
#include "physics/boundaries.hpp"
#include "physics/diagnostics.hpp"
#include "physics/operator.hpp"
#include "physics/slowest_mode.hpp"
#include "solver/residual_check.hpp"
#include "solver/schedule.hpp"
#include "support/deck_text.hpp"
#include "support/decks.hpp"
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
          const bool periodic = config.boundaries[static_cast<std::size_t>(f)].kind == BoundaryKind::periodic;
          const bool at_boundary = i == (is_max(side) ? n[axis] - 1 : 0) && !periodic;
          const double h = (*config.grid.spacing)[static_cast<std::size_t>(axis)];
          if (periodic && n[axis] == 1) continue;  // its own neighbour
          loss += (1 - (at_boundary ? boundary_law(config, side).a : 0)) / (h * h);
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

std::string deck(const std::string& boundary, const std::string& initial, const std::string& more = "") {
  return "grid: {cells: 10, lengths: 0.1}\nmaterial: {diffusivity: 1e-4, conductivity: 1}\nboundaries: "
         "{x_min: " +
         boundary + "}\ninitial: [{shape: constant, value: " + initial + "}]\nproblem: {steps: 10" + more +
         "}\n";
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
  for (const char* boundary :
       {"{kind: temperature, value: -20}", "{kind: convection, ambient: -20, coefficient: 5}"}) {
    const std::string error = deck_error([&] { deck_text::parse(deck(boundary, "300")); });
    expect_says(error, "-20 K is below absolute zero");
  }
  expect_says(deck_error([&] { deck_text::parse(deck("insulated", "-1")); }), "initial.0.value: -1 K");
  EXPECT_NO_THROW(deck_text::parse(deck("{kind: flux, value: -20}", "300")));
}

TEST(Kelvin, TemperaturesThatLookLikeCelsiusAreAskedFor) {
  const std::string boundary = "{kind: temperature, value: \"25 + y\"}";
  ASSERT_EQ(warnings(deck(boundary, "20")).size(), 1u);
  expect_says(warnings(deck(boundary, "20"))[0], "kelvin?");
  EXPECT_TRUE(warnings(deck(boundary, "293")).empty());
  EXPECT_TRUE(warnings(deck("{kind: temperature, value: 400}", "20")).empty());
}

TEST(Operator, TransientIsOneExplicitEulerStep) {
  Config config = copper({8, 8, 8});
  config.problem.dt = 1e-3;
  config.problem.steps = 1;
  const double alpha = 400 / (8960.0 * 385.0);
  const Coefficients<double> c = sweep_coefficients(config);
  EXPECT_DOUBLE_EQ(c.cx, alpha * 1e-3 / 1e-6);
  EXPECT_DOUBLE_EQ(c.cy, alpha * 1e-3 / 4e-6);
  EXPECT_DOUBLE_EQ(c.cz, alpha * 1e-3 / 16e-6);
  EXPECT_DOUBLE_EQ(c.c0, 1 - 2 * (c.cx + c.cy + c.cz));
  EXPECT_DOUBLE_EQ(source_scale(config), 1e-3 / (8960.0 * 385.0));
}

TEST(Operator, AtTheStableLimitTheCentreWeighsNothing) {
  Config config = copper({8, 8, 8});
  config.problem.dt_fraction = 1;
  config.problem.steps = 1;
  EXPECT_NEAR(sweep_coefficients(config).c0, 0, 1e-15);
}

TEST(Operator, SteadyIsOneWeightedJacobiSweep) {
  Config config = copper({8, 8, 8});
  config.problem.kind = ProblemKind::steady;
  config.problem.weight = 0.8;
  const double sum = 1e6 + 0.25e6 + 0.0625e6;  // 1/h^2
  const Coefficients<double> c = sweep_coefficients(config);
  EXPECT_DOUBLE_EQ(c.c0, 1 - 0.8);
  EXPECT_DOUBLE_EQ(c.cx, 0.8 * 1e6 / (2 * sum));
  EXPECT_DOUBLE_EQ(c.cy, 0.8 * 0.25e6 / (2 * sum));
  EXPECT_DOUBLE_EQ(c.cz, 0.8 * 0.0625e6 / (2 * sum));
  EXPECT_DOUBLE_EQ(source_scale(config), 0.8 / (400 * 2 * sum));
}

// What c0 + 2 (cx + cy + cz) misses 1 by is gained or lost by every cell in every sweep.
TEST(Operator, RoundedCoefficientsKeepAConstantConstant) {
  const unsigned seed = 20240607;
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  double worst_one_by_one = 0;
  for (int trial = 0; trial < 10000; ++trial) {
    const double a = uniform(random), b = uniform(random), d = uniform(random), part = uniform(random) / 2;
    const double cx = part * a / (a + b + d), cy = part * b / (a + b + d), cz = part * d / (a + b + d);
    const Coefficients<double> c{1 - 2 * (cx + cy + cz), cx, cy, cz};
    const auto missing = [](double c0, double x, double y, double z) {
      return std::abs(1 - c0 - 2 * (x + y + z));
    };
    const auto r = rounded_coefficients<float>(c);
    ASSERT_LE(missing(r.c0, r.cx, r.cy, r.cz), std::ldexp(1, -26)) << "seed " << seed << " trial " << trial;
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

Config steady_body(Int3 cells, std::array<BoundaryKind, face_count> kinds) {
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
  double value(Int3 c) const { return values_[static_cast<std::size_t>(c.x + n_.x * (c.y + n_.y * c.z))]; }

  double sweep_once() {
    const double weights[] = {c_.cx, c_.cy, c_.cz};
    std::vector<double> next;
    double mean = 0, squares = 0;
    for (Index z = 0; z < n_.z; ++z)
      for (Index y = 0; y < n_.y; ++y)
        for (Index x = 0; x < n_.x; ++x) {
          const Int3 cell{x, y, z};
          double sum = c_.c0 * value(cell);
          for (int axis = 0; axis < 3; ++axis)
            sum += weights[axis] * (at(cell, axis, cell[axis] - 1) + at(cell, axis, cell[axis] + 1));
          next.push_back(sum);
          mean += sum / static_cast<double>(n_.product());
        }
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
    expect_as_measured(steady_body({6, 5, 7}, kinds));
    expect_as_measured(steady_body({1, 8, 3}, kinds));
    expect_as_measured(steady_body({9, 1, 1}, kinds));
  }
}

TEST(SlowestMode, MayBeTheCheckerboard) {
  Config config = steady_body({4, 4, 4}, {round, round, round, round, held, held});
  config.problem.weight = 0.9999;
  EXPECT_NEAR(slowest_decay(config), Error3(config).decay(4000), 1e-8);
  config = steady_body({4, 4, 4}, {held, held, held, held, held, held});
  config.problem.weight = 1;
  EXPECT_NEAR(slowest_decay(config), 0, 1e-15);
}

// The figures by which the default of problem.max_sweeps was chosen.
TEST(SlowestMode, TheDefaultOfMaxSweepsIsEnoughFor256CellsEachWay) {
  const double way = std::log(1 / ProblemConfig{}.tolerance);
  const auto needed = [&](std::array<BoundaryKind, face_count> kinds) {
    Config config = steady_body({256, 256, 256}, kinds);
    config.grid.spacing = Vector3{0.01, 0.01, 0.01};
    return way / slowest_decay(config);
  };
  EXPECT_NEAR(needed({held, held, held, held, held, held}), 185'300, 100);
  EXPECT_NEAR(needed({held, held, open, open, open, open}), 555'900, 300);
  EXPECT_NEAR(needed({held, open, open, open, open, open}), 2'223'700, 1000);
  EXPECT_GT(static_cast<double>(ProblemConfig{}.max_sweeps), needed({held, open, open, open, open, open}));
}

TEST(SlowestMode, OfASingleCellThatNothingHoldsIsNone) {
  EXPECT_EQ(slowest_decay(steady_body({1, 1, 1}, {open, open, open, open, open, open})), 0);
}

// When a steady problem has come to rest, and when it comes no further.

ProblemConfig steady(Criterion criterion, double tolerance) {
  ProblemConfig problem;
  problem.kind = ProblemKind::steady;
  problem.criterion = criterion;
  problem.tolerance = tolerance;
  return problem;
}

TEST(Convergence, AResidualAtTheToleranceEnds) {
  EXPECT_TRUE(has_converged(steady(Criterion::relative, 0.25), 8, 2));
  EXPECT_FALSE(has_converged(steady(Criterion::relative, 0.25), 8, 2.5));
  EXPECT_TRUE(has_converged(steady(Criterion::absolute, 2), 8, 2));
  EXPECT_FALSE(has_converged(steady(Criterion::absolute, 2), 8, 2.5));
  EXPECT_TRUE(has_converged(steady(Criterion::relative, 0.25), 0, 0));
}

TEST(Convergence, AToleranceOfZeroIsNever) {
  for (const Criterion criterion : {Criterion::relative, Criterion::absolute}) {
    EXPECT_FALSE(has_converged(steady(criterion, 0), 8, 0));
    EXPECT_FALSE(has_converged(steady(criterion, 0), 0, 0));
  }
}

TEST(Convergence, ATransientProblemNeverEndsByIt) {
  ProblemConfig problem = steady(Criterion::absolute, 1);
  problem.kind = ProblemKind::transient;
  EXPECT_FALSE(has_converged(problem, 8, 0));
}

constexpr double decay = 1e-4;  // a tenth in 23026 sweeps

ProblemConfig checked_every_hundred() {
  return steady(Criterion::relative, 1e-12);
}

TEST(Stagnation, IsWhereNoLowerResidualCameWhileTheSlowestModeFellToATenth) {
  Stagnation stagnation(checked_every_hundred(), decay);
  EXPECT_FALSE(stagnation.reached(0));
  stagnation.checked(100, 2e-5);
  for (std::int64_t sweep = 200; sweep <= 23100; sweep += 100) {
    stagnation.checked(sweep, sweep % 300 == 0 ? 1.6e-5 : 4e-5);  // hardly lower is no progress
    EXPECT_FALSE(stagnation.reached(sweep));
  }
  EXPECT_TRUE(stagnation.reached(23200));
  stagnation.checked(23200, 1e-5);
  EXPECT_FALSE(stagnation.reached(23200));
}

// The slowest that a residual can fall: as constant as heat that has not reached the boundaries, then by the
// slowest mode alone.
TEST(Stagnation, IsNotWhatFallsSlowly) {
  Stagnation stagnation(checked_every_hundred(), decay);
  for (std::int64_t sweep = 1; sweep < 1'000'000; sweep += 100) {
    const double falling = 2 * std::exp(-decay * static_cast<double>(sweep));
    stagnation.checked(sweep, std::min(1.0, falling));
    ASSERT_FALSE(stagnation.reached(sweep)) << sweep;
  }
}

TEST(Stagnation, IsNotToldBySomeChecksOfASmallGrid) {
  Stagnation stagnation(checked_every_hundred(), 0.5);  // a tenth in 5 sweeps
  stagnation.checked(100, 1);
  EXPECT_FALSE(stagnation.reached(300));
  EXPECT_TRUE(stagnation.reached(400));
}

TEST(Stagnation, IsNeverWithoutAToleranceOrADecay) {
  for (const auto& [tolerance, slowest] : {std::pair{0.0, decay}, {1e-6, 0.0}}) {
    Stagnation stagnation(steady(Criterion::absolute, tolerance), slowest);
    stagnation.checked(1, 1);
    EXPECT_FALSE(stagnation.reached(std::int64_t{1} << 60));
  }
}

TEST(Stagnation, GoesOnFromACheckpoint) {
  Stagnation stagnation(checked_every_hundred(), decay);
  stagnation.go_on_from({1e-5, 1000});
  stagnation.checked(20000, 1e-5);
  EXPECT_FALSE(stagnation.reached(24000));
  EXPECT_TRUE(stagnation.reached(24100));
}

// When something comes again, and what of it a schedule takes.

// What is due is what is next, and as often as is counted.
void expect_consistent(const Recurrence& recurrence, std::int64_t last) {
  std::int64_t count = 0;
  for (std::int64_t sweep = 1; sweep < last; ++sweep) {
    EXPECT_EQ(recurrence.due(sweep), recurrence.next_after(sweep - 1) == sweep) << sweep;
    count += recurrence.due(sweep);
  }
  EXPECT_EQ(recurrence.count_before(last), count);
}

TEST(Recurrence, DueNextAndCountAgree) {
  for (const std::int64_t steps : {1, 2, 7, 99, 100, 1000}) expect_consistent({steps, {}, 0.1}, 100);
  for (const double time : {0.01, 0.1, 0.25, 0.3, 1.0, 9.95, 10.0, 1e3})
    expect_consistent({{}, time, 0.1}, 100);
}

TEST(Recurrence, ATimeBeyondAllStepsIsNever) {
  for (const double time : {1e17, 1e300}) {
    const Recurrence seldom({}, time, 1e-11);
    EXPECT_EQ(seldom.next_after(0), Recurrence::never);
    EXPECT_EQ(seldom.count_before(1'000'000'000), 0);
  }
}

TEST(Recurrence, ATimeBelongsToTheFirstStepThatReachesIt) {
  const Recurrence often({}, 0.3, 0.1), between({}, 0.25, 0.1);
  EXPECT_EQ(often.next_after(0), 3);  // 0.1 + 0.1 + 0.1 is not 0.3
  EXPECT_EQ(often.next_after(3), 6);
  EXPECT_EQ(between.next_after(0), 3);
  EXPECT_EQ(between.next_after(3), 5);
}

TEST(Recurrence, NeverIsNever) {
  const Recurrence never;
  EXPECT_FALSE(never.recurs() || never.due(1) || never.due(100));
  EXPECT_EQ(never.next_after(5), Recurrence::never);
  EXPECT_EQ(never.count_before(1000), 0);
}

TEST(Schedule, StopsWhereACheckpointIsDue) {
  Config config = decks::base({4, 5, 6});  // 100 steps
  config.problem.check_interval = 40;
  config.output.checkpoint.every_steps = 30;
  const Schedule schedule(config);
  std::vector<std::int64_t> stops, due;
  for (std::int64_t at = 0; at < 100; stops.push_back(at)) at = schedule.next_after(at);
  for (std::int64_t sweep = 0; sweep <= 100; ++sweep)
    if (schedule.checkpoint_due(sweep)) due.push_back(sweep);
  EXPECT_EQ(stops, (std::vector<std::int64_t>{1, 30, 40, 60, 80, 90, 100}));
  EXPECT_EQ(due, (std::vector<std::int64_t>{30, 60, 90}));
  EXPECT_EQ(schedule.checkpoints(), 3);
  config.output.checkpoint.write = false;
  EXPECT_EQ(Schedule(config).next_after(1), 40);
  EXPECT_EQ(Schedule(config).checkpoints(), 0);
}

// Or a run without checkpoints would end at another sweep than one that has some.
TEST(Schedule, ACheckpointLeavesLaggedChecksAsTheyAre) {
  Config config = decks::base({4, 5, 6});
  config.problem.check_interval = 10;
  config.problem.check = Check::asynchronous;
  config.output.checkpoint.every_steps = 10;
  EXPECT_TRUE(Schedule(config).check_may_lag(10));
}

}  // namespace
}  // namespace isotherm
