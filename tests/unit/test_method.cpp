// Cycles of weights: the remaining factor of each mode, and coefficients of large weights; the limits of time
// steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "config/boundary_laws.hpp"
#include "config/materials.hpp"
#include "physics/cells.hpp"
#include "physics/operator.hpp"
#include "physics/region_materials.hpp"
#include "solver/coarsening.hpp"
#include "solver/method.hpp"
#include "solver/schedule.hpp"
#include "solver/super_step.hpp"
#include "support/decks.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

Config chebyshev(Int3 cells, std::optional<std::int64_t> cycle = {}) {
  Config config = decks::steady(cells);
  config.problem.method = MethodName::chebyshev;
  config.problem.cycle = cycle;
  return config;
}

// The factor of a mode that decays as exp(-rate t), for the weights from `first` to `last`.
double factor(const Method& method, std::int64_t first, std::int64_t last, double rate) {
  double product = 1;
  for (std::int64_t i = first; i < last; ++i) product *= 1 - method.weights[i] * rate;
  return product;
}

// No mode of the spectrum keeps more than 1/T_m, and some keep as much: no polynomial can do better.
TEST(Chebyshev, ReducesEveryModeByTheOptimalFactor) {
  Random random;
  for (int trial = 0; trial < 50; ++trial) {
    const Int3 cells{random.between(1, 60), random.between(2, 60), random.between(1, 60)};
    const std::int64_t m =
        trial % 2 == 0 ? std::int64_t{1} << random.between(1, 9) : 16 * random.between(1, 32);
    const Config config = chebyshev(cells, m);
    const Spectrum s = sweep_spectrum(config);
    const Method method = make_method(config);
    ASSERT_EQ(method.cycle(), m);
    ASSERT_GT(s.lowest, 0);
    const double bound = std::exp(-method.decay * static_cast<double>(m));
    double largest = 0;
    for (int i = 0; i <= 4000; ++i) {
      const double lambda = s.lowest + (s.highest - s.lowest) * i / 4000;
      largest = std::max(largest, std::abs(factor(method, 0, m, lambda)));
    }
    EXPECT_LE(largest, bound * (1 + 1e-6)) << m << " sweeps";
    EXPECT_GE(largest, bound * 0.9) << m << " sweeps";
  }
}

// No error grows beyond twice the largest weight before it decays. Rounding errors do not grow if the cycle
// is a power of two, in chosen cycles by up to 37, with an odd factor of 31, and otherwise by less than 1000.
// With weights in falling order both would reach 1e124.
TEST(Chebyshev, StaysInBoundsWithinACycle) {
  std::vector<std::pair<Index, std::optional<std::int64_t>>> cases{{64, 256}, {64, 112}, {600, 1008}};
  for (Index n = 8; n < 640; n += 1 + n / 16) cases.push_back({n, {}});
  for (const auto& [n, m] : cases) {
    SCOPED_TRACE(n);
    const Config config = chebyshev({n, n, n}, m);
    const Spectrum s = sweep_spectrum(config);
    const std::vector<double> weights = make_method(config).weights;
    const double largest = *std::max_element(weights.begin(), weights.end());
    for (int i = 0; i <= 300; ++i) {
      const double lambda = s.lowest * std::pow(s.highest / s.lowest, i / 300.0);
      double of_start = 1, of_rounding = 1;
      for (std::size_t k = 0; k < weights.size(); ++k) {
        of_start *= 1 - weights[k] * lambda;
        of_rounding *= 1 - weights[weights.size() - 1 - k] * lambda;
        ASSERT_LE(std::abs(of_start), 2.01 * largest);
        ASSERT_LE(std::abs(of_rounding), m == 256 ? 1 + 1e-9 : m ? 1000 : 37);
      }
    }
  }
}

// The shortest multiple of 16 that reduces an error to 1 % and has an odd factor of at most 31.
TEST(Chebyshev, ChoosesCyclesByGridAndBoundaries) {
  const auto left = [](Int3 cells, std::int64_t m) {
    return std::exp(-make_method(chebyshev(cells, m)).decay * static_cast<double>(m));
  };
  for (const Index n : {16, 40, 100, 200, 512}) {
    const std::int64_t m = sweeps_of_cycle(chebyshev({n, n, n}));
    const auto step = std::max<std::int64_t>(16, std::bit_floor(static_cast<std::uint64_t>(m - 1)) / 16);
    EXPECT_EQ(m % step, 0) << n;
    EXPECT_LE(left({n, n, n}, m), 1e-2) << n;
    EXPECT_GT(left({n, n, n}, m - step), 1e-2) << n;
  }
  EXPECT_EQ(sweeps_of_cycle(decks::steady({64, 64, 64})), 1);
  EXPECT_EQ(sweeps_of_cycle(decks::every_boundary({8, 8, 8})), 1);  // transient
}

Config rkl(double stable_steps, Precision precision = Precision::fp64) {
  Config config = decks::every_boundary({32, 30, 28});
  config.precision = precision;
  config.problem.method = MethodName::rkl;
  config.problem.end_time.reset();
  config.problem.steps = 3;
  config.problem.dt = stable_steps * stable_dt(config);
  return config;
}

// Equals the exponential to second order for slow modes; no mode grows, up to the fastest mode of a grid.
TEST(Rkl, DecaysAsTheExponential) {
  Random random;
  for (int trial = 0; trial < 100; ++trial) {
    const Config config = rkl(std::exp(random.between(0.0, std::log(1970.0))));
    const double dt = time_plan(config).dt;
    const Method method = make_method(config);
    const auto [first, share] = *method.combination;
    ASSERT_EQ(method.cycle(), first + 2 * rkl_stages(config, dt / 2));
    ASSERT_LE(dt, rkl_limit(config, static_cast<int>(first)));
    const auto after_step = [&](double rate) {
      return share * factor(method, first, method.cycle(), rate) +
             (1 - share) * factor(method, 0, first, rate);
    };
    for (const double z : {1e-2, 1e-1}) EXPECT_NEAR(after_step(z / dt), std::exp(-z), 0.2 * z * z * z);
    for (int i = 0; i <= 1000; ++i)
      EXPECT_LE(std::abs(after_step(2 / stable_dt(config) * i / 1000)), 1 + 1e-9) << dt << " s, " << i;
  }
}

TEST(Rkl, TakesAtLeastThirtyTwoStepsByDefault) {
  Config config = rkl(1);
  config.problem.dt.reset();
  config.problem.steps.reset();
  config.problem.end_time = 1000 * stable_dt(config);
  EXPECT_EQ(time_plan(config).steps, 32);
  config.problem.end_time = 1e5 * stable_dt(config);
  EXPECT_EQ(rkl_stages(config, time_plan(config).dt), 32);
}

// Intermediate values grow moderately; the rounding errors of a stage hardly grow in later stages.
TEST(Rkl, StaysInBoundsWithinAStep) {
  const Config config = rkl(1970);
  const Method method = make_method(config);
  ASSERT_EQ(method.combination->first, most_rkl_stages(config));
  for (int i = 0; i <= 1000; ++i) {
    const double rate = 2 / stable_dt(config) * i / 1000;
    for (std::int64_t k = 0; k < method.combination->first; ++k) {
      EXPECT_LE(std::abs(factor(method, 0, k, rate)), 1e3);
      EXPECT_LE(std::abs(factor(method, k + 1, method.combination->first, rate)), 10);
    }
  }
}

// A mode that decays as exp(-z t): correct to the order of the scheme; none grows, the fastest vanish.
TEST(Implicit, DecaysAsTheExponential) {
  Config config = rkl(1);
  config.problem.method = MethodName::implicit;
  for (const auto& [scheme, error] : {std::pair(Scheme::backward_euler, 1.0), {Scheme::sdirk2, 0.1}}) {
    config.problem.scheme = scheme;
    const double share = implicit_share(config);
    const auto after_step = [&](double z) {
      double t = 1;
      for (const auto& [time, scale] : implicit_stages(scheme)) t -= scale * share * z * t / (1 + share * z);
      return t;
    };
    const double order = scheme == Scheme::sdirk2 ? 2 : 1;
    for (const double z : {1e-2, 1e-1})
      EXPECT_NEAR(after_step(z), std::exp(-z), error * std::pow(z, order + 1));
    for (double z = 1e-3; z < 1e9; z *= 1.1) EXPECT_LE(std::abs(after_step(z)), 1);
    EXPECT_LT(std::abs(after_step(1e9)), 1e-8);
    EXPECT_EQ(implicit_stages(scheme).back().time, 1);
  }
}

// The error grows as the square of a part, with a factor that changes in time. The parts add up to the step,
// only the shortest ones miss the tolerance, and they are no shorter than needed.
TEST(StepControl, TakesPartsBelowTheTolerance) {
  Random random;
  for (int trial = 0; trial < 300; ++trial) {
    const int most = static_cast<int>(random.between(0, 12));
    const double tolerance = std::exp(random.between(-9.0, 0.0)), calm = random.between(0.0, 1.0);
    StepControl control(tolerance, most);
    const double lively = std::exp(random.between(-3.0, 9.0));
    for (int step = 0; step < 3; ++step) {
      double passed = 0;
      for (control.begin_step(); !control.at_end();) {
        ASSERT_EQ(control.passed(), passed);
        const double part = std::ldexp(1, -control.halvings());
        ASSERT_EQ(std::fmod(passed, part), 0);
        const double error = (passed < calm ? lively : 1e-3) * part * part;
        const bool accepted = control.judge(error);
        ASSERT_EQ(accepted, error <= tolerance || part == std::ldexp(1, -most));
        if (accepted) passed += part;
        ASSERT_TRUE(accepted || std::ldexp(1, -control.halvings()) < part);
      }
      ASSERT_EQ(passed, 1);
      ASSERT_TRUE(calm > 0.5 || 1e-3 > tolerance / 8 || control.halvings() <= 1);
    }
  }
  StepControl control(1, 3);
  EXPECT_FALSE(control.judge(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_EQ(control.halvings(), 3);
  StepControl shorter(1, 2);
  shorter.resume_from(control.halvings());
  EXPECT_EQ(shorter.halvings(), 2);
}

TEST(Multigrid, HalvesTheStiffestAxes) {
  Config config = decks::steady({40, 20, 7});
  config.grid.lengths = Vector3{40, 20, 0.7};  // cells are a tenth as thick as wide
  std::vector<Int3> cells;
  for (const CoarseGrid& grid : coarse_grids(config, {config.grid.cells, {1, 1, 1}, {}}, Backend::host))
    cells.push_back(grid.config.grid.cells);
  EXPECT_EQ(cells,
            (std::vector<Int3>{
                {40, 20, 4}, {40, 20, 2}, {40, 20, 1}, {20, 10, 1}, {10, 5, 1}, {5, 3, 1}, {3, 2, 1}}));
}

// Ghosts of distributed grids suffice for the transfers to the next grid, distributed or not; a periodic axis
// of one cell becomes insulated.
TEST(Multigrid, CutGridsHaveTheGhostsThatTransfersRead) {
  Random random;
  for (int trial = 0; trial < 300; ++trial) {
    Config config = decks::steady({random.between(1, 90), random.between(16, 300), random.between(16, 90)});
    const Int3 parts{1, random.between(1, 4), random.between(1, 4)};
    for (const int axis : {0, 1, 2})
      if (random.between(0, 2) == 0) config = decks::periodic_along({axis}, config);
    config.problem.method = MethodName::multigrid;
    config.solver.halo_width = 4;
    if (random.between(0, 1) == 0) config.solver.whole_grid = 0;
    const Decomposition decomposition(config.grid.cells, parts, periodic_axes(config), 1);
    const std::vector<CoarseGrid> grids = coarse_grids(config, decomposition, Backend::host);
    for (std::size_t i = 1; i < grids.size(); ++i) {
      const CoarseGrid &finer = grids[i - 1], &grid = grids[i];
      const TransferReach reach = transfer_reach(finer.decomposition, grid);
      EXPECT_TRUE(finer.whole || reach.fine <= ghost_layers(finer.config));
      EXPECT_TRUE(grid.whole || reach.coarse <= ghost_layers(grid.config));
    }
    for (const CoarseGrid& grid : grids)
      for (int axis = 0; axis < 3; ++axis)
        EXPECT_FALSE(grid.config.grid.cells[axis] == 1 &&
                     grid.config.boundaries[2 * axis].kind == BoundaryKind::periodic);
  }
}

// For any fine grid: the shares of a coarse cell add up to 1, those of a fine cell to the ratio of the grids;
// a linear function is interpolated exactly.
TEST(Multigrid, TransfersFitAnyNumbersOfCells) {
  Random random;
  for (int trial = 0; trial < 200; ++trial) {
    const Index fine = random.between(2, 300), coarse = (fine + 1) / 2;
    std::vector<double> of_fine(static_cast<std::size_t>(fine));
    for (Index i = 0; i < coarse; ++i) {
      const CellOverlap<double> overlap = overlap_of(i, fine, coarse);
      ASSERT_LE(overlap.count, 3);
      double sum = 0;
      for (int k = 0; k < overlap.count; ++k) {
        sum += overlap.share[k];
        of_fine.at(static_cast<std::size_t>(overlap.first + k)) += overlap.share[k];
      }
      EXPECT_NEAR(sum, 1, 1e-14);
    }
    const double ratio = static_cast<double>(coarse) / static_cast<double>(fine);
    for (const double share : of_fine) EXPECT_NEAR(share, ratio, 1e-14);
    for (Index i = 0; i < fine; ++i) {
      const AxisInterpolation between = interpolation_of(i, fine, coarse);
      EXPECT_NEAR(
          (static_cast<double>(between.lower) + 0.5 + between.upper_weight) / static_cast<double>(coarse),
          (static_cast<double>(i) + 0.5) / static_cast<double>(fine), 1e-14);
    }
  }
}

TEST(Schedule, CountsCyclesWhereThereAreSome) {
  Config config = chebyshev({16, 16, 16}, 32);
  config.problem.check_interval = 3;
  config.problem.max_sweeps = 1000;
  const Schedule schedule(config);
  EXPECT_EQ(schedule.last(), 992);
  EXPECT_TRUE(schedule.check_due(0));
  EXPECT_EQ(schedule.next_after(0), 96);
  EXPECT_FALSE(schedule.check_due(1) || schedule.check_due(32));
  config.problem.max_cycles = 5;
  EXPECT_EQ(Schedule(config).last(), 160);
}

template <class T>
void expect_a_constant_kept() {
  Random random;
  for (int trial = 0; trial < 10000; ++trial) {
    const bool is_large = random.coin();
    const double weight =
        is_large ? std::exp(random.between(std::log(2.01), std::log(1e6))) : random.between(0.0, 1.0);
    const double a = random.between(0.0, 1.0), b = random.between(0.0, 1.0), d = random.between(0.0, 1.0);
    const double part = weight / 2 / (a + b + d);
    const auto r = rounded_coefficients<T>({1 - weight, part * a, part * b, part * d, weight / 0.99});
    const long double sum =
        static_cast<long double>(r.c0) + 2 * (static_cast<long double>(r.cx) + r.cy + r.cz);
    ASSERT_LE(std::abs(sum - 1), is_large ? 0 : sizeof(T) == 4 ? 0x1p-26 : 0x1p-53) << weight;
    // For small weights, the largest coefficient absorbs the rounding of c0.
    constexpr double epsilon = std::numeric_limits<T>::epsilon();
    ASSERT_NEAR(r.cx, part * a, is_large ? 4 * weight * epsilon : part * a * epsilon + epsilon / 6);
  }
}
// Any deviation of the sum from 1 would be a gain or loss in every cell and sweep.
TEST(Operator, RoundedCoefficientsKeepAConstant) {
  expect_a_constant_kept<float>();
  expect_a_constant_kept<double>();
}
// Grids of an implicit step: a sweep keeps the factor `kept` of a constant field.
TEST(Operator, SweepsOfImplicitGridsKeepTheirShare) {
  Random random;
  for (int trial = 0; trial < 1000; ++trial) {
    Config config = decks::steady({random.between(1, 90), random.between(1, 90), random.between(1, 90)});
    config.problem.implicit_dt = stable_dt(config) * std::exp(random.between(-3.0, 12.0));
    const double weight = random.between(0.5, 4.3), h = half_diagonal(config);
    const auto c = rounded_sweep<double>(config, weight);
    const double kept = 1 - weight / (2 * h * diffusivity(config) * *config.problem.implicit_dt);
    ASSERT_NEAR(c.c0 + 2 * (c.cx + c.cy + c.cz), kept, 2e-15);
    ASSERT_NEAR(c.c0, 1 - weight, 4e-15);
    const Spectrum s = sweep_spectrum(config);
    ASSERT_GE(s.lowest, (1 - kept) / weight * (1 - 1e-12));
    ASSERT_LE(s.highest, 2);
  }
}
// Approximately, if there are more cells than samples.
TEST(Operator, SlowestModeOfMaterialsIsThatOfABodyOfOne) {
  Random random;
  for (int trial = 0; trial < 16; ++trial) {
    Config config = decks::steady({random.between(1, 40), random.between(2, 40), random.between(1, 40)});
    config.boundaries[random.between(1, 3)] = {BoundaryKind::convection, Expression(300.0),
                                               std::exp(random.between(-3.0, 6.0))};
    config.material = {.conductivity = 7.0};
    const Spectrum one = sweep_spectrum(config);
    config.material = {.default_material = "board"};
    config.materials = {{"board", Vector3{7, 7, 7 * (1 + 1e-12)}, {}, {}, {}, {}}};
    const Int3 n = config.grid.cells;
    const double nearly = n.product() > 32 * 32 * 32 ? 0.02 : 1e-6;
    ASSERT_NEAR(lowest_eigenvalue(config), one.lowest, nearly * one.lowest)
        << n.x << ' ' << n.y << ' ' << n.z;
  }
}

// n^3 cells of 1 mm, of which a box from `from` to `to` along each axis is of another material, all of
// 7 W/(m K).
constexpr double body_k = 7, body_h = 1e-3;
Config with_a_box(Index n, double from, double to, const char* material) {
  Config config = decks::steady({n, n, n});
  config.grid.lengths->fill(static_cast<double>(n) * body_h);
  config.material = {.default_material = "board"};
  config.materials = {{"board", Vector3{body_k, body_k, body_k}, {}, {}, {}, {}},
                      {"core", Vector3{body_k, body_k, body_k}, {}, {}, {}, {}}};
  config.regions = {{.shape = RegionShape::box,
                     .material = material,
                     .place = {.from = {from, from, from}, .to = {to, to, to}}}};
  return config;
}

// For a body that one cell face cools weakly, the eigenvalue is that face's conductance over the sum of the
// sweeps' divisors of all cells, for any face and any hole: of 64^3 cells every other one is sampled.
TEST(Operator, SlowestModeIncludesCellsBetweenTheSamples) {
  constexpr double H = 10, n = 64, k = body_k, h = body_h;
  for (const double at : {32 * h, 33 * h})
    for (const char* in_middle : {"board", "void"}) {
      Config config = with_a_box(64, at, at + h, in_middle);
      config.boundaries = {};
      BoundaryConfig& cooled = config.boundaries[0];
      cooled.kind = BoundaryKind::convection;
      cooled.coefficient = H;
      cooled.where = {Interval{at, at}, Interval{at + h, at + h}};
      const double expected = H * h / (6 * k * n * n * n);
      EXPECT_NEAR(lowest_eigenvalue(config), expected, 0.02 * expected) << at << in_middle;
    }
}

// A cube that contacts of resistance R nearly insulate has one temperature: its eigenvalue is the conductance
// of its surface over the sum of the sweeps' divisors of its cells.
TEST(Operator, SlowestModeOfACubeBehindContactsIsThatOfItsSurface) {
  constexpr double R = 10, side = 6, k = body_k, h = body_h;
  Config config = with_a_box(12, 3 * h, 9 * h, "core");
  config.contacts = {{{"board", "core"}, R}};
  const double faces = 6 * side * side, each = 1 / (h * R), inner = 6 * side * side * side - faces;
  const double expected = faces * each / (inner * k / (h * h));
  EXPECT_NEAR(lowest_eigenvalue(config), expected, 1e-3 * expected);
}

// The limits of time steps are those of the worst cell.

void give_any_boundaries(Config& config, Random& random) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const bool is_periodic = random() % 4 == 0;
    for (const std::size_t f : {2 * axis, 2 * axis + 1}) {
      BoundaryConfig& boundary = config.boundaries[f];
      boundary.kind = is_periodic
                          ? BoundaryKind::periodic
                          : std::array{BoundaryKind::temperature, BoundaryKind::flux,
                                       BoundaryKind::convection, BoundaryKind::insulated}[random() % 4];
      boundary.coefficient = std::pow(10, random.between(0, 8));
    }
  }
}

Config any_body(Random& random) {
  Config config = decks::in_a_void({random.between(1, 40), random.between(1, 12), random.between(1, 12)});
  config.problem = {.steps = 1};
  const auto radius = random.between(0.0, 0.1);
  config.regions.push_back({.shape = RegionShape::cylinder,
                            .material = random.coin() ? "foam" : "copper",
                            .place = {.centre = {0.15, 0.1, random.between(0.0, 0.2)},
                                      .radius = radius,
                                      .axis = random.between(0, 2),
                                      .length = random.between(0.0, 0.3)}});
  std::shuffle(config.regions.begin(), config.regions.end(), random);
  give_any_boundaries(config, random);
  return random.coin() ? decks::graded(config) : config;
}

// The reference: the formula for each face of each cell, without classes.
StepLimits brute_force(const Config& config) {
  StepLimits least;
  RegionMaterials regions(config);
  const GridAxes axes(config);
  const Int3 n = config.grid.cells;
  for_each_cell({{0, 0, 0}, n}, [&](Int3 cell) {
    const NamedMaterial& own = material_of_number(config, regions.at(cell));
    if (own.is_void()) return;
    double stable = 0, monotone = 0;  // W/(m^3 K)
    for (int i = 0; i < face_count; ++i) {
      const auto f = static_cast<Face>(i);
      const int axis = axis_of(f);
      Int3 next = cell;
      next[axis] += is_max(f) ? 1 : -1;
      const bool is_beyond = next[axis] < 0 || next[axis] >= n[axis],
                 is_periodic = boundary_of(config, f).kind == BoundaryKind::periodic;
      const double h = axes[axis].size(cell[axis]), k = (*own.conductivity)[axis], among = k / (h * h);
      if (is_beyond && !is_periodic) {
        const double held = 1 - boundary_law(config, f, k).a;  // 2 if temperature is fixed, 0 if insulated
        stable += among * held / 2;
        monotone += among * held;
        continue;
      }
      next[axis] = (next[axis] + n[axis]) % n[axis];
      const NamedMaterial& other = material_of_number(config, regions.at(next));
      double resistance = other.is_void() ? 1 / other.coefficient.value_or(0)
                                          : axes[axis].size(next[axis]) / 2 / (*other.conductivity)[axis];
      const auto meet = [&](const char* a, const char* b) { return own.name == a && other.name == b; };
      if (meet("core", "board") || meet("board", "core")) resistance += 1e-3;
      if (n[axis] > 1) stable += 1 / (h * (h / 2 / k + resistance));
      if (n[axis] > 1) monotone += 1 / (h * (h / 2 / k + resistance));
    }
    const double heat = own.volumetric_heat_capacity();
    least.stable = std::min(least.stable, heat / stable);
    least.monotone = std::min(least.monotone, heat / monotone);
  });
  return least;
}

StepLimits limits_of(const Config& config) { return step_limits_of(config, {{}, config.grid.cells}); }

// Either may be infinite.
void expect_like(double value, double wanted, int trial) {
  EXPECT_NEAR(1 / value, 1 / wanted, 1e-12 / wanted) << trial;
}

TEST(StepLimits, AreTheLeastOfAllCells) {
  Random random;
  for (int i = 0; i < 200; ++i) {
    const Config config = any_body(random);
    const StepLimits expected = brute_force(config), found = limits_of(config);
    expect_like(found.stable, expected.stable, i);
    expect_like(found.monotone, expected.monotone, i);
    EXPECT_LE(found.alone, std::numeric_limits<double>::max()) << i;

    Box low{{}, config.grid.cells}, high = low;  // the minimum over parts has the same bits
    const int axis = random.between(1, 2);
    low.hi[axis] = high.lo[axis] = random.between<Index>(0, config.grid.cells[axis]);
    const StepLimits one = step_limits_of(config, low), other = step_limits_of(config, high);
    EXPECT_EQ(found.stable, std::min(one.stable, other.stable)) << i;
    EXPECT_EQ(found.monotone, std::min(one.monotone, other.monotone)) << i;
  }
}

// Tests the monotone limit only: the stability limit of one material also counts insulated faces.
TEST(StepLimits, OfOneMaterialAreTheLeastOfAllCells) {
  Random random;
  for (int i = 0; i < 500; ++i) {
    Config config = decks::base({random.between(1, 4), random.between(1, 4), random.between(1, 4)});
    give_any_boundaries(config, random);
    Config named = config;
    named.material = {.default_material = "core"};
    named.materials = {{"core", Vector3{15, 15, 15}, 7800, 500, {}, {}}};
    expect_like(monotone_dt(config), brute_force(named).monotone, i);
  }
}

TEST(StepLimits, TakeTheLargestCoefficientOfAFace) {
  Config config = decks::several({8, 8, 1});
  config.problem = {.steps = 1};
  config.boundaries[4] = {BoundaryKind::convection, Expression(300.0), 0};
  const auto limit = [&](const Expression& coefficient) {
    config.boundaries[4].coefficient = coefficient;
    return limits_of(config).monotone;
  };
  const double last = 0.3 * 7.5 / 8;  // the centre of the last cells
  EXPECT_EQ(limit(Expression("10 + 1e4*x", "xyzt")), limit(10 + 1e4 * last));
  EXPECT_EQ(limit(Expression("10 + 1e4*x + 0*t", "xyzt")), limit(1e300));
}

TEST(StepLimits, CountAFixedTemperatureOnlyForTheClassesNextToIt) {
  Config config = decks::several({8, 8, 1});
  config.grid.lengths = Vector3{0.3, 0.2, 0.025};
  config.problem = {.steps = 1};
  config.regions = {{.shape = RegionShape::box, .material = "copper", .place = {.to = {0.1, 1, 1}}}};
  config.boundaries = {};
  const double insulated = limits_of(config).monotone;
  const auto limit = [&](double from, double to) {
    config.boundaries[5] = {BoundaryKind::temperature, Expression(300.0), 0};
    config.boundaries[5].where = {Interval{from, 0}, Interval{to, 0.2}};
    return limits_of(config).monotone;
  };
  EXPECT_EQ(limit(0.2, 0.3), insulated);  // of the core, whose cells allow longer steps
  EXPECT_LT(limit(0, 0.05), 0.9 * insulated);
}

}  // namespace
}  // namespace isotherm
