// When something is due; the length of steps and the end of a run; the regions of the sweeps of a period.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "config/config.hpp"
#include "physics/diagnostics.hpp"
#include "solver/jumps.hpp"
#include "solver/kernel_choice.hpp"
#include "solver/method.hpp"
#include "solver/residual_check.hpp"
#include "solver/schedule.hpp"
#include "support/deck_text.hpp"
#include "support/decks.hpp"
#include "support/error_text.hpp"
#include "support/plain_sweep.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

// The heat up to the end of each step. Some jumps are at the ends of steps, up to rounding.
TEST(Jumps, DivideStepsSoThatEachPartHasOneValue) {
  Random random;
  for (int turn = 0; turn < 100; ++turn) {
    const double dt = random.between(0.1, 3.0);
    std::vector<TableKnot> knots{{random.between(-2.0, 2.0), 1}};
    while (std::ssize(knots) < 12) {
      const double time = knots.back().time + random.between(0.01, 2.0);
      knots.push_back(
          {random.coin() ? std::ceil(time / dt) * dt * random.between(1 - 4e-16, 1 + 4e-16) : time,
           random.between(-5.0, 5.0)});
    }
    const Expression table(knots, true, "");
    const Jumps jumps(table.jumps(), dt);
    double heat = 0, expected = 0;
    for (int step = 0; step < 400; ++step) {
      const double begin = step * dt, end = (step + 1) * dt;
      const std::vector<PartOfStep> parts = jumps.parts(begin, dt);
      EXPECT_EQ(parts.size() > 1, jumps.divided_from(step) == step);
      for (const PartOfStep& part : parts) heat += table(0, 0, 0, jumps.at_jump(part.from)) * part.dt;
      for (std::size_t i = 0; i < knots.size(); ++i) {
        const double until = i + 1 < knots.size() ? knots[i + 1].time : end,
                     from = i == 0 ? begin : knots[i].time;
        expected += knots[i].value * std::max(0.0, std::min(until, end) - std::max(from, begin));
      }
      EXPECT_NEAR(heat, expected, 1e-11 * (step + 1)) << "turn " << turn << ", step " << step;
    }
  }
}

TEST(Jumps, OfTwoTablesThatDifferByRoundingAreOne) {
  const double first = 0.3, second = 0.1 + 0.2;
  ASSERT_LT(first, second);
  for (const double dt : {1.0, 0.3}) {  // within a step, and at the end of one
    const Jumps jumps({first, second}, dt);
    EXPECT_EQ(jumps.parts(0, dt).size(), dt > first ? 2u : 1u);
    EXPECT_EQ(jumps.at_jump(first), second);
    EXPECT_EQ(jumps.at_jump(second), second);
    EXPECT_EQ(jumps.at_jump(0.4), 0.4);
  }
}

// Only two of these checks are at sweeps at which nothing is written or diagnosed.
TEST(Schedule, ACheckIsAsynchronousUnlessAnOutputNeedsTheField) {
  Config config = decks::base({8, 9, 10});
  config.problem.check_interval = 10;
  config.problem.check = Check::asynchronous;
  config.output.every_steps = 30;
  config.output.diagnostics = 40;
  config.output.coarse = {Int3{1, 1, 1}, {50, {}}};
  config.output.probes.points = {{"a", {}}};
  config.output.probes.times.every_steps = 70;
  const Schedule schedule(config);
  for (std::int64_t sweep = 10; sweep <= 100; sweep += 10)
    EXPECT_EQ(schedule.check_is_asynchronous(sweep), sweep <= 20) << sweep;
}

TEST(Schedule, TheLikelySweepsOfASteadyRunFollowFromItsSlowestMode) {
  Config config = decks::base({8, 9, 10});
  EXPECT_EQ(likely_sweeps(config), 100);
  config.problem = {.kind = ProblemKind::steady, .method = MethodName::jacobi, .tolerance = 1e-6};
  config.grid.cells = {16, 16, 16};
  for (BoundaryConfig& boundary : config.boundaries) boundary.kind = BoundaryKind::temperature;
  EXPECT_EQ(likely_sweeps(config), 720);  // ln(1e6) / -ln(1 - 0.99 (1 - cos(pi/16)))
  config.problem.max_sweeps = 500;
  EXPECT_EQ(likely_sweeps(config), 500);
  config.problem.criterion = Criterion::absolute;  // the first residual is unknown
  config.problem.max_sweeps = 1000;
  EXPECT_EQ(likely_sweeps(config), 1000);
}

TEST(SweepWork, CountsTheBytesOfThePassesOverAllGrids) {
  Config config = decks::base({8, 9, 10});
  config.grid.cells = {64, 64, 64};
  config.solver.kernel = "openmp";
  const Decomposition one(config.grid.cells, {1, 1, 1}, {});
  const double cells = 64.0 * 64 * 64;
  SweepWork work = sweep_work(config, one, Backend::host);
  EXPECT_DOUBLE_EQ(work.bytes, 100 * 2 * 8 * cells);
  EXPECT_DOUBLE_EQ(work.seconds(Backend::host, 1e9), work.bytes / 1e9);
  EXPECT_GT(work.seconds(Backend::cuda, 1e30), 100e-6);  // each launch has a latency
  config.solver.kernel = "auto";
  EXPECT_LT(sweep_work(config, one, Backend::host).bytes, work.bytes);  // time blocks

  for (BoundaryConfig& boundary : config.boundaries) boundary.kind = BoundaryKind::temperature;
  config.problem = {.kind = ProblemKind::steady, .method = MethodName::jacobi, .tolerance = 1e-8};
  const double by_jacobi = sweep_work(config, one, Backend::host).bytes;
  config.problem.method = MethodName::multigrid;
  work = sweep_work(config, one, Backend::host);
  EXPECT_LT(work.bytes, by_jacobi / 100);
  const double fine_sweeps = static_cast<double>(likely_sweeps(config)) * 2 * 8 * cells / 1.5;
  EXPECT_GT(work.bytes, 8.0 / 7 * fine_sweeps);
  EXPECT_LT(work.bytes, 3 * fine_sweeps);
}

Config steady(Criterion criterion = Criterion::relative, double tolerance = 1e-12) {
  return {.problem = {.kind = ProblemKind::steady, .criterion = criterion, .tolerance = tolerance}};
}

TEST(Convergence, IsAResidualAtATolerance) {
  const struct {
    Criterion criterion;
    double tolerance, first, last;
    bool converged;
  } cases[] = {{Criterion::relative, 0.25, 8, 2, true}, {Criterion::relative, 0.25, 8, 2.5, false},
               {Criterion::absolute, 2, 8, 2, true},    {Criterion::absolute, 2, 8, 2.5, false},
               {Criterion::relative, 0.25, 0, 0, true}, {Criterion::relative, 0, 8, 0, false},
               {Criterion::absolute, 0, 8, 0, false},   {Criterion::relative, 0, 0, 0, false},
               {Criterion::absolute, 0, 0, 0, false}};
  for (const auto& c : cases) {
    Config config = steady(c.criterion, c.tolerance);
    EXPECT_EQ(has_converged(config, c.first, c.last), c.converged) << c.tolerance << " " << c.last;
    config.problem.kind = ProblemKind::transient;
    EXPECT_FALSE(has_converged(config, c.first, c.last));
  }
}

constexpr double decay = 1e-4;  // a tenth in 23026 sweeps

TEST(Stagnation, MeansNoLowerResidualWhileTheSlowestModeFallsToATenth) {
  Stagnation stagnation(steady(), decay, 100);
  EXPECT_FALSE(stagnation.reached(0));
  stagnation.checked(100, 2e-5);
  for (std::int64_t sweep = 200; sweep <= 23100; sweep += 100) {
    stagnation.checked(sweep, sweep % 300 == 0 ? 1.6e-5 : 4e-5);  // a slightly lower residual is no progress
    EXPECT_FALSE(stagnation.reached(sweep));
  }
  EXPECT_TRUE(stagnation.reached(23200));
  stagnation.checked(23200, 1e-5);
  EXPECT_FALSE(stagnation.reached(23200));
}

// The slowest possible decay: constant until heat reaches the boundaries, then by the slowest mode alone.
TEST(Stagnation, IsNotASlowDecay) {
  Stagnation stagnation(steady(), decay, 100);
  for (std::int64_t sweep = 1; sweep < 1'000'000; sweep += 100) {
    const double falling = 2 * std::exp(-decay * static_cast<double>(sweep));
    stagnation.checked(sweep, std::min(1.0, falling));
    ASSERT_FALSE(stagnation.reached(sweep)) << sweep;
  }
}

TEST(Stagnation, IsNeverWithoutAToleranceOrADecay) {
  for (const auto& [tolerance, slowest] : {std::pair{0.0, decay}, {1e-6, 0.0}}) {
    Stagnation stagnation(steady(Criterion::absolute, tolerance), slowest, 100);
    stagnation.checked(1, 1);
    EXPECT_FALSE(stagnation.reached(std::int64_t{1} << 60));
  }
}

// Recurrences. faults/test_outputs.py and test_asynchronous.py test the events of a schedule.

// due(), next_after() and count_before() agree.
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

TEST(Recurrence, NeverIsNever) {
  for (const Recurrence& never : {Recurrence(), Recurrence({}, 1e17, 1e-11), Recurrence({}, 1e300, 1e-11)}) {
    EXPECT_FALSE(never.due(1) || never.due(100));
    EXPECT_EQ(never.next_after(0), Recurrence::never);
    EXPECT_EQ(never.count_before(1'000'000'000), 0);
  }
}

TEST(Recurrence, ATimeBelongsToTheFirstStepThatReachesIt) {
  const Recurrence often({}, 0.3, 0.1), between({}, 0.25, 0.1);
  EXPECT_EQ(often.next_after(0), 3);  // 0.1 + 0.1 + 0.1 is not 0.3
  EXPECT_EQ(often.next_after(3), 6);
  EXPECT_EQ(between.next_after(0), 3);
  EXPECT_EQ(between.next_after(3), 5);
  EXPECT_EQ(Recurrence({}, 1e8, 1 / 2.1).count_before(2'100'000'000), 9);  // 1e-9 of the steps are 2
}

// Each face is a boundary, or next to cells of this rank or of another rank: 3^6 blocks.
GhostSides sides_of(int code) {
  GhostSides sides;
  for (std::size_t f = 0; f < face_count; ++f, code /= 3) {
    sides.filled[f] = code % 3 > 0;
    sides.remote[f] = code % 3 == 2;
  }
  return sides;
}

bool within(Box inner, Box outer) { return inner.within(outer) == inner; }

// `box`, limited to one layer beyond each boundary: the boundary rule fills that layer for any swept region.
Box with_boundaries(Box box, Int3 extent, const GhostSides& sides) {
  for (int f = 0; f < face_count; ++f) {
    if (sides.filled[f]) continue;
    f % 2 == 1 ? box.hi[f / 2] = extent[f / 2] + 1 : box.lo[f / 2] = -1;
  }
  return box;
}
// The cells that `sweeps` sweeps of a region read: as many more layers.
Box read_by(Box region, Index sweeps, Int3 extent, const GhostSides& sides) {
  const Int3 by{sweeps, sweeps, sweeps};
  return with_boundaries({region.lo - by, region.hi + by}, extent, sides);
}

// A launch reads as many layers around its region as it has sweeps.
TEST(Period, EveryLaunchReadsOnlyValidCells) {
  const Int3 extent{5, 6, 7};
  const Box subdomain{{0, 0, 0}, extent};
  for (int code = 0; code < 2 * 729; ++code) {
    const GhostSides sides = sides_of(code / 2);
    const bool last_alone = code % 2 == 1;
    for (const int halo_width : {1, 2, 3, 5}) {
      for (const int most : {1, 2, 3, 4, 8}) {
        Box valid = widened_subdomain(extent, sides.filled, halo_width);
        int taken = 0;
        for (const PeriodLaunch& launch : launches_of_period(extent, sides, halo_width, most, last_alone)) {
          const Box read = read_by(launch.region, launch.sweeps, extent, sides);
          EXPECT_TRUE(within(read, with_boundaries(valid, extent, sides))) << "sides " << code / 2;
          EXPECT_TRUE(within(subdomain, launch.region));
          EXPECT_LE(launch.sweeps, most);
          valid = launch.region;
          taken += launch.sweeps;
        }
        EXPECT_EQ(taken, halo_width);
        EXPECT_EQ(valid, subdomain);
      }
    }
  }
}

// For the first launch of a period: the interior reads only cells available before the exchange, and no
// boundary ghosts that depend on others.
TEST(Period, TheInteriorReadsOnlyCellsAvailableBeforeTheExchange) {
  const Int3 extent{5, 6, 7};
  for (int code = 0; code < 729; ++code) {
    const GhostSides sides = sides_of(code);
    for (int most = 1; most <= 3; ++most) {
      const PeriodLaunch first = launches_of_period(extent, sides, 3, most).front();
      Box filled{{0, 0, 0}, extent};  // by this rank alone
      for (int f = 0; f < face_count; ++f) {
        const auto face = static_cast<std::size_t>(f);
        if (!sides.filled[face] || sides.remote[face]) continue;
        f % 2 == 1 ? filled.hi[f / 2] += 3 : filled.lo[f / 2] -= 3;
      }
      EXPECT_TRUE(within(first.available, filled) && within(first.available, first.region));
      EXPECT_TRUE(first.interior.empty() || within(first.interior, first.available));
      const Box read = read_by(first.interior, most, extent, sides);
      EXPECT_TRUE(first.interior.empty() || within(read, with_boundaries(filled, extent, sides))) << code;
    }
  }
}

TEST(Period, LaunchesHaveAsManySweepsAsAllowed) {
  using Launches = std::vector<int>;
  EXPECT_EQ(launch_sizes(8, 4), (Launches{4, 4}));
  EXPECT_EQ(launch_sizes(7, 3), (Launches{3, 3, 1}));
  EXPECT_EQ(launch_sizes(2, 8), (Launches{2}));
  EXPECT_EQ(launch_sizes(0, 4), Launches{});
  // If the last update is needed, the last launch is a single sweep, so that both its fields exist.
  EXPECT_EQ(launch_sizes(8, 4, true), (Launches{4, 3, 1}));
  EXPECT_EQ(launch_sizes(5, 4, true), (Launches{4, 1}));
  EXPECT_EQ(launch_sizes(1, 4, true), (Launches{1}));
  EXPECT_EQ(launch_sizes(3, 1, true), (Launches{1, 1, 1}));
}

TEST(Period, AGraphHoldsWholePeriodsAndAnEvenNumberOfLaunches) {
  for (int halo_width = 1; halo_width <= 64; ++halo_width) {
    for (const int fused : {1, 2, 3, 4, 8}) {
      const std::int64_t sweeps = sweeps_of_a_graph(halo_width, fused);
      EXPECT_EQ(sweeps % halo_width, 0);
      EXPECT_EQ(sweeps / halo_width * std::ssize(launch_sizes(halo_width, fused)) % 2, 0);
      EXPECT_GE(sweeps, 16);
      EXPECT_LT(sweeps, 16 + 2 * halo_width);
    }
  }
  EXPECT_EQ(sweeps_of_a_graph(6, 4), 18);
}

TEST(Period, PartsEndWithAPeriodOrWithAll) {
  EXPECT_EQ(whole_periods(7, 100, 4), 4);
  EXPECT_EQ(whole_periods(8, 100, 4), 8);
  EXPECT_EQ(whole_periods(0, 100, 4), 4);  // at least one
  EXPECT_EQ(whole_periods(0, 3, 4), 3);
  EXPECT_EQ(whole_periods(1000, 10, 4), 10);
  EXPECT_EQ(whole_periods(7, 100, 1), 7);
}

Config copper(Int3 cells) {
  return {.grid = {.cells = cells, .spacing = Vector3{1e-3, 2e-3, 4e-3}},
          .material = {.conductivity = 400, .density = 8960, .heat_capacity = 385}};
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
  expect_whole(30 * dt, plan(900 * dt, 300 * dt, 90 * dt).dt);  // multiple of both output intervals
  // If that is impossible or would multiply the number of steps, the step stays the same.
  for (const double every : {M_PI * 100, 0.1, 1e6})
    EXPECT_EQ(plan(1000.3 * dt, every * dt).steps, alone.steps);
  config.problem.end_time.reset();
  config.problem.steps = 500;
  config.output.every_time = 10.5 * dt;
  config.output.probes.times.every_time.reset();
  expect_whole(10.5 * dt, time_plan(config).dt);
  EXPECT_EQ(time_plan(config).steps, 500);
}

std::vector<std::string> warnings(const std::string& text) { return deck_text::parse(text).warnings; }

std::string deck(const std::string& boundary, const std::string& initial, const std::string& more = "") {
  return "grid: {cells: 10, lengths: 0.1}\nmaterial: {diffusivity: 1e-4, conductivity: 1}\nboundaries: "
         "{x_min: " +
         boundary + "}\ninitial: [{shape: constant, value: " + initial + "}]\nproblem: {steps: 10" + more +
         "}\n";
}

TEST(TimeStep, AStepThatCanOvershootIsReported) {
  const std::string held = "{kind: temperature, value: 400}";
  const Config config = deck_text::parse(deck(held, "300"));
  EXPECT_EQ(monotone_dt(copper({8, 8, 8})), stable_dt(copper({8, 8, 8})));  // without fixed temperatures
  const double limit = stable_dt(config), monotone = monotone_dt(config);
  EXPECT_DOUBLE_EQ(monotone, limit * 6 / 7);
  EXPECT_TRUE(warnings(deck(held, "300", fmt::format(", dt: {}", monotone))).empty());
  EXPECT_TRUE(warnings(deck("insulated", "300", fmt::format(", dt: {}", limit))).empty());
  const std::string found = only_text(warnings(deck(held, "300", fmt::format(", dt: {}", 0.95 * limit))));
  expect_says(found, fmt::format("{}", limit));
  expect_says(found, fmt::format("{}", monotone));
}

TEST(Kelvin, TemperaturesBelowZeroAreErrorsAndLikelyCelsiusIsAWarning) {
  for (const char* boundary :
       {"{kind: temperature, value: -20}", "{kind: convection, ambient: -20, coefficient: 5}"})
    expect_says(deck_error([&] { deck_text::parse(deck(boundary, "300")); }), "-20 K is below absolute zero");
  expect_says(deck_error([&] { deck_text::parse(deck("insulated", "-1")); }), "initial.0.value: -1 K");
  EXPECT_NO_THROW(deck_text::parse(deck("{kind: flux, value: -20}", "300")));
  const std::string boundary = "{kind: temperature, value: \"25 + y\"}";
  expect_says(only_text(warnings(deck(boundary, "20"))), "kelvin?");
  EXPECT_TRUE(warnings(deck(boundary, "293")).empty());
  EXPECT_TRUE(warnings(deck("{kind: temperature, value: 400}", "20")).empty());
}

// The decay of the slowest mode, compared with sweeps of a rough field.

Config steady_domain(Int3 cells, std::array<BoundaryKind, face_count> kinds) {
  Config config{.grid = {.cells = cells, .spacing = Vector3{0.01, 0.02, 0.015}},
                .material = {.conductivity = 15},
                .problem = {.kind = ProblemKind::steady}};
  for (std::size_t f = 0; f < face_count; ++f) config.boundaries[f] = {kinds[f], Expression(0.0), 700};
  return config;
}

// The decay of the error in the last sweep by its root mean square, with homogeneous boundaries.
double measured_decay(const Config& config, int sweeps) {
  const auto sweep = plain_sweep(config);
  const Index cells = config.grid.cells.product();
  std::vector<double> error;
  for (Index i = 0; i < cells; ++i) error.push_back(std::sin(1.0 + 37.0 * static_cast<double>(i * i)));
  double norm = 1;
  for (int n = 0; n < sweeps; ++n) {
    error = sweep(error);
    double mean = 0, squares = 0;
    if (mean_is_free(config))
      mean = std::accumulate(error.begin(), error.end(), 0.0) / static_cast<double>(cells);
    for (const double value : error) squares += (value - mean) * (value - mean);
    norm = std::sqrt(squares);
    for (double& value : error) value = (value - mean) / norm;
  }
  return -std::log(norm);
}

constexpr BoundaryKind held = BoundaryKind::temperature, open = BoundaryKind::insulated,
                       cooled = BoundaryKind::convection, heated = BoundaryKind::flux,
                       round = BoundaryKind::periodic;

TEST(SlowestMode, DecaysAsItDoesInSweeps) {
  const std::array<BoundaryKind, face_count> cases[] = {
      {held, held, held, held, held, held},     {held, open, open, open, open, open},
      {cooled, open, heated, open, open, open}, {held, cooled, round, round, open, cooled},
      {round, round, held, held, round, round}, {open, heated, round, round, open, open},
      {open, open, open, open, open, open},     {cooled, cooled, cooled, held, open, open}};
  for (const auto& kinds : cases)
    for (const Int3 cells : {Int3{6, 5, 7}, {1, 8, 3}, {9, 1, 1}}) {
      const Config config = steady_domain(cells, kinds);
      const double expected = measured_decay(config, 4000);
      EXPECT_NEAR(slowest_decay(config), expected, 1e-6 * expected);
    }
}

TEST(SlowestMode, MayBeTheCheckerboard) {
  Config config = steady_domain({4, 4, 4}, {round, round, round, round, held, held});
  config.problem.weight = 0.9999;
  EXPECT_NEAR(slowest_decay(config), measured_decay(config, 4000), 1e-8);
  config = steady_domain({4, 4, 4}, {held, held, held, held, held, held});
  config.problem.weight = 1;
  EXPECT_NEAR(slowest_decay(config), 0, 1e-15);
  // A single cell without any fixed boundary has no decay.
  EXPECT_EQ(slowest_decay(steady_domain({1, 1, 1}, {open, open, open, open, open, open})), 0);
}

}  // namespace
}  // namespace isotherm
