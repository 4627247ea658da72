// Exact solutions are tested against the boundaries of their decks, and modes against the discrete operator,
// whose decay per sweep is known in closed form. verification/test_order.py tests them against the heat
// equation.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>
#include <vector>

#include "physics/cells.hpp"
#include "physics/diagnostics.hpp"
#include "physics/exact.hpp"
#include "physics/region_values.hpp"
#include "support/decks.hpp"
#include "support/error_text.hpp"
#include "support/field_by_index.hpp"
#include "support/plain_sweep.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

using decks::boundary_of;

enum class Pair { fixed, insulated, fixed_insulated, insulated_fixed, periodic };
constexpr Pair pairs[] = {Pair::fixed, Pair::insulated, Pair::fixed_insulated, Pair::insulated_fixed,
                          Pair::periodic};
constexpr double boundary_temperature = 310;

Config body() {
  return {.name = "deck.yaml",
          .grid = {.cells = {8, 10, 12}, .lengths = Vector3{0.4, 0.3, 0.5}, .origin = {-0.1, 0.2, 5}},
          .material = {.conductivity = 2, .density = 1000, .heat_capacity = 800},
          .problem = {.steps = 1},
          .verify = {.amplitude = 25}};
}

void set_pair(Config& config, int axis, Pair pair) {
  const BoundaryConfig fixed{BoundaryKind::temperature, boundary_temperature, 0}, insulated{},
      none{BoundaryKind::flux, 0.0, 0}, around{BoundaryKind::periodic, {}, {}};
  const std::pair<BoundaryConfig, BoundaryConfig> ends[] = {{fixed, fixed},
                                                            {insulated, none},
                                                            {fixed, insulated},
                                                            {none, fixed},
                                                            {around, around}};  // as in `Pair`
  std::tie(boundary_of(config, face(axis, false)), boundary_of(config, face(axis, true))) =
      ends[static_cast<std::size_t>(pair)];
}

// 4/h^2 sin^2(K h/2): the discrete operator for -d^2/dx^2, applied to a wave of `half_waves` over n cells.
double discrete_square(double half_waves, Index n, double h) {
  return 4 / (h * h) * std::pow(std::sin(half_waves * std::numbers::pi / (2 * static_cast<double>(n))), 2);
}

double half_waves(Pair pair, int m) {
  return pair == Pair::periodic ? 2 * m : pair == Pair::fixed || pair == Pair::insulated ? m : m - 0.5;
}

std::string error_of(const Config& config) {
  return deck_error([&] { make_exact(config); });
}

// All 125 combinations of boundaries: the mode satisfies the boundaries, and decays in one sweep by exactly
// the factor 1 - alpha dt sum 4/h^2 sin^2(K h/2).
TEST(Exact, ModesOfEveryMixDecayByTheDiscreteFactor) {
  for (const Pair px : pairs)
    for (const Pair py : pairs)
      for (const Pair pz : pairs) {
        Config config = body();
        const Pair all[] = {px, py, pz};
        for (int axis = 0; axis < 3; ++axis) set_pair(config, axis, all[axis]);
        config.verify.solution = ExactSolution::decaying_mode;
        config.verify.modes = {px == Pair::insulated || px == Pair::periodic ? 0 : 1, 2, 3};  // 0: constant
        const auto exact = make_exact(config);
        const bool fixed =
            std::any_of(all, all + 3, [](Pair p) { return p != Pair::insulated && p != Pair::periodic; });
        const double offset = fixed ? boundary_temperature : 0;
        double square = 0;
        for (int axis = 0; axis < 3; ++axis)
          square += discrete_square(half_waves(all[axis], config.verify.modes[axis]), config.grid.cells[axis],
                                    spacing(config)[axis]);
        const double factor = 1 - diffusivity(config) * time_plan(config).dt * square;
        std::vector<double> before;
        for_each_cell(config.grid.cells, [&, axes = GridAxes(config)](Int3 c) {
          const Vector3 at = axes.centre(c);
          before.push_back((*exact)(at[0], at[1], at[2], 0));
        });
        const std::vector<double> after = plain_sweep(config)(before);
        double largest = 0;
        for (std::size_t i = 0; i < before.size(); ++i) {
          ASSERT_NEAR(after[i], offset + factor * (before[i] - offset), 2e-12);
          largest = std::max(largest, std::abs(before[i] - offset));
        }
        EXPECT_GT(largest, 5);  // the amplitude is 25
      }
}

// One boundary alone: the half space of the textbooks (Carslaw and Jaeger 1959, sections 2.4 and 2.7).
TEST(Exact, SlabSeriesIsTheHalfSpaceAtFirst) {
  Config config = body();
  config.verify.solution = ExactSolution::slab_series;
  config.initial.emplace_back().value = 300;
  boundary_of(config, Face::x_min) = {BoundaryKind::temperature, 280.0, 0};
  const double alpha = diffusivity(config), t = 1e-3 * 0.16 / alpha, depth = std::sqrt(alpha * t);
  const auto fixed = make_exact(config);
  const double H = 30, k = 2;
  boundary_of(config, Face::x_min) = {BoundaryKind::convection, 280.0, H};
  const auto convecting = make_exact(config);
  for (const double s : {0.1, 0.5, 1.0, 2.0, 4.0}) {
    const double x = s * depth, erfc = std::erfc(s / 2), m = H / k * depth;
    EXPECT_NEAR((*fixed)(-0.1 + x, 0.3, 5, t), 280 + 20 * (1 - erfc), 1e-9);
    const double eased = erfc - std::exp(m * s + m * m) * std::erfc(s / 2 + m);
    EXPECT_NEAR((*convecting)(-0.1 + x, 0.3, 5, t), 300 - 20 * eased, 1e-9);
  }
}

TEST(Exact, BoundariesThatDoNotFitAreRejectedWithTheReason) {
  Config config = body();
  config.places["verify.solution"] = {.argument = 3};
  config.verify.solution = ExactSolution::decaying_mode;
  boundary_of(config, Face::y_max) = {BoundaryKind::convection, 300.0, 5};
  expect_start(error_of(config), "argument 3: verify.solution: decaying_mode does not fit the deck");
  set_pair(config, 1, Pair::fixed);
  boundary_of(config, Face::y_max).value = 311.0;
  expect_says(error_of(config), "boundaries.y_max holds 311 K, another boundary 310 K");
  boundary_of(config, Face::y_max).value = Expression("310 + x", "xzt");
  expect_says(error_of(config), "boundaries.y_max is a formula");
  set_pair(config, 1, Pair::fixed);
  config.verify.modes = {1, 0, 1};
  expect_says(error_of(config), "mode 0 along y is not zero at its temperature boundary");
  config.verify.modes = {8, 1, 1};  // 8 half waves of a cosine over 8 cells: zero in every cell
  expect_says(error_of(config), "mode 8 along x is shorter than 8 cells can hold");
  config.verify.modes = {1, 10, 1};  // 10 half waves of a sine over 10 cells: the checkerboard
  EXPECT_EQ(error_of(config), "no error");
  config.problem.kind = ProblemKind::steady;
  expect_says(error_of(config), "the problem is steady");
  config.problem.kind = ProblemKind::transient;
  config.sources.emplace_back().value = 1;
  expect_says(error_of(config), "the deck has sources");

  config.verify.solution = ExactSolution::steady_profile;
  boundary_of(config, Face::x_min) = {BoundaryKind::flux, 5.0, 0};
  expect_says(error_of(config), "heat passes boundaries along x and y");
  config.verify.solution = ExactSolution::slab_series;
  config.sources.clear();
  expect_says(error_of(config), "does not start at one temperature");

  config = body();  // without a boundary that fixes the temperature
  config.verify.solution = ExactSolution::slab_series;
  config.initial.emplace_back().value = 300;
  boundary_of(config, Face::y_min) = {BoundaryKind::flux, 100.0, 0};
  EXPECT_NE(error_of(config), "no error");
  config.problem.kind = ProblemKind::steady;
  config.verify.solution = ExactSolution::steady_profile;
  EXPECT_NE(error_of(config), "no error");
  config.problem.mean_temperature = 320;
  config.sources.emplace_back().value = 2000;  // W/m^3 over 0.3 m: 600 W/m^2
  boundary_of(config, Face::y_max) = {BoundaryKind::flux, -701.0, 0};
  expect_says(error_of(config), "-1 W/m^2 more come in than go out");
}

TEST(VerificationErrors, AreThoseOfTheSubdomain) {
  Config config = body();
  config.verify = {.solution = ExactSolution::formula, .formula = Expression("100*x + 10*y + z + t", "xyzt")};
  const auto exact = make_exact(config);
  const auto device = make_host_device();
  const Box subdomain{{2, 3, 4}, {7, 9, 11}};
  Field<double> field(*device, subdomain.extent(), 1);
  const auto view = field.view();
  const GridAxes axes(config);
  double sum = 0;
  for_each_cell(subdomain.extent(), [&](Int3 c) {
    const Vector3 at = axes.centre(subdomain.lo + c);
    const double error = static_cast<double>(c.x - 2 * c.y + 3 * c.z) / 16;
    view(c) = (*exact)(at[0], at[1], at[2], 2) + error;
    sum += error * error;
  });
  const auto errors = [&] { return verification_errors<double>(config, view, subdomain, *exact, 2); };
  const VerificationErrors found = errors();
  EXPECT_NEAR(found.max, 22.0 / 16, 1e-12);
  EXPECT_NEAR(found.sum_squares, sum, 1e-10);
  EXPECT_NEAR(verification_errors<double>(config, view, subdomain, *exact, 3).max, 1 + 10.0 / 16, 1e-12);

  on_threads({1, 3, 8}, [&] { EXPECT_EQ(errors().sum_squares, found.sum_squares); });
  view(0, 0, 0) = std::nan("");
  EXPECT_TRUE(std::isnan(errors().max));
  view(4, 5, 6) += 100;
  EXPECT_TRUE(std::isnan(errors().max));
  EXPECT_TRUE(std::isnan(errors().sum_squares));
}

// Ranges of histograms, heat balances, and extremes. verification/test_heat.py tests which diagnostics a deck
// allows.

TEST(Diagnostics, BinsCoverTemperaturesKnownBeforeTheFirstSweep) {
  Config config = decks::base({4, 5, 6});
  config.output.histogram.bins = 8;
  config.boundaries[0] = {BoundaryKind::temperature, Expression(250.0), 0};
  config.boundaries[1] = {BoundaryKind::convection, Expression(410.0), 3};
  config.boundaries[2] = {BoundaryKind::temperature, Expression("1000*x", "xzt"), 0};  // not a constant
  config.boundaries[3] = {BoundaryKind::flux, Expression(5000.0), 0};                  // not a temperature
  Bins bins = choose_bins(config, 290, 320);
  EXPECT_EQ((Interval{bins.low, bins.high}), (Interval{250, 410}));
  EXPECT_EQ(bins.edge(1), 270);
  config.output.histogram.range = Interval{300, 308};
  bins = choose_bins(config, 290, 320);
  EXPECT_EQ(bins.low, 300);
  EXPECT_EQ(bins.edge(8), 308);

  config = decks::base({4, 5, 6});
  config.output.histogram.bins = 4096;
  for (const double uniform : {300.0, 0.0, -1e12, 1e12, 1e-310}) {
    bins = choose_bins(config, uniform, uniform);
    EXPECT_LT(bins.low, uniform);
    EXPECT_GT(bins.high, uniform);
    for (int i = 0; i < bins.count; ++i) ASSERT_LT(bins.edge(i), bins.edge(i + 1)) << uniform;
  }
}

TEST(Diagnostics, BalanceIsTheHeatNotAccountedFor) {
  HeatFlows flows{.boundaries = {5, -3, 0, 0, 1, 0}, .source = 2, .rate = 4};
  close_balance(flows);
  EXPECT_EQ(flows.balance, 1);
  EXPECT_EQ(flows.relative_balance, 1.0 / 15);
  flows = {};
  close_balance(flows);
  EXPECT_EQ(flows.relative_balance, 0);
  flows.rate = std::nan("");
  close_balance(flows);
  EXPECT_TRUE(std::isnan(flows.balance) && std::isnan(flows.relative_balance));
}

Config closed_domain(Int3 cells) {
  return {.name = "deck.yaml",
          .grid = {.cells = cells, .lengths = Vector3{0.2, 0.3, 0.5}},
          .material = {.conductivity = 2},
          .problem = {.kind = ProblemKind::steady}};
}

std::string error_of(const Config& config, const HeatTotals& balance) {
  return deck_error([&] { check_balance(config, balance); });
}

TEST(Balance, OnlyTemperatureAndConvectionFixTheMean) {
  Config config = closed_domain({4, 4, 4});
  config.boundaries[2].kind = config.boundaries[3].kind = BoundaryKind::periodic;
  const std::pair<BoundaryConfig, bool> cases[] = {
      {{BoundaryKind::insulated, {}, 0}, true},
      {{BoundaryKind::flux, 10.0, 0}, true},
      {{BoundaryKind::convection, 300.0, 0}, true},  // a coefficient of 0 insulates
      {{BoundaryKind::convection, 300.0, 1}, false},
      {{BoundaryKind::temperature, 300.0, 0}, false}};
  for (const auto& [boundary, is_free] : cases) {
    config.boundaries[5] = boundary;
    EXPECT_EQ(mean_is_free(config), is_free) << static_cast<int>(boundary.kind);
  }
  config.boundaries[5] = {};
  config.problem.kind = ProblemKind::transient;
  EXPECT_FALSE(mean_is_free(config));
}

// faults/test_inputs.py tests the place and the problem.
TEST(Balance, CountsFluxesOverFacesAndSourcesOverCells) {
  Config config = closed_domain({5, 7, 3});
  config.boundaries[static_cast<int>(Face::x_min)] = {BoundaryKind::flux, 40.0, 0};
  config.boundaries[static_cast<int>(Face::z_max)] = {BoundaryKind::flux, Expression("-1000*x", "xyt"), 0};
  config.sources = {{.value = -100}};
  // The mean x of the cell centres equals that of the face.
  const double in = 40 * 0.3 * 0.5, out = 1000 * 0.1 * 0.2 * 0.3 + 100 * 0.2 * 0.3 * 0.5;
  const Box subdomains[] = {
      {{0, 0, 0}, {2, 7, 3}}, {{2, 0, 0}, {5, 7, 1}}, {{2, 0, 1}, {5, 3, 3}}, {{2, 3, 1}, {5, 7, 3}}};
  HeatTotals sum;
  for (const Box& subdomain : subdomains) {
    std::array<bool, face_count> boundaries;
    for (int f = 0; f < face_count; ++f)
      boundaries[f] = f % 2 ? subdomain.hi[f / 2] == config.grid.cells[f / 2] : subdomain.lo[f / 2] == 0;
    const HeatTotals part = heat_balance(config, subdomain, boundaries);
    sum.net += part.net;
    sum.gross += part.gross;
  }
  EXPECT_NEAR(sum.net, in - out, 1e-12);
  EXPECT_NEAR(sum.gross, in + out, 1e-12);
}

TEST(Balance, AnImbalanceIsRejectedInWatts) {
  Config config = closed_domain({4, 4, 4});
  config.problem.mean_temperature = 300;
  EXPECT_EQ(error_of(config, {0.9e-9, 1}), "no error");
  expect_says(error_of(config, {-2e-9, 1}), "2e-09 W more heat leaves the body");
  EXPECT_NE(error_of(config, {std::nan(""), 1}), "no error");
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Few distinct values, so that most occur in several cells: the first cell counts, for any decomposition.
template <class T>
void expect_first_of_equals(std::uint64_t seed) {
  Random random(seed);
  const Int3 n{11, 7, 5};
  const auto host = make_host_device();
  Field<T> field(*host, n, 1);
  TemperatureExtremes expected;
  for_each_cell(n, [&](Int3 c) {
    const int drawn = random.between(0, 39);
    const double value = drawn == 39 ? nan : 300 + drawn;
    const auto number = static_cast<Index>(index_of(c, n));
    field.view()(c) = static_cast<T>(value);
    expected.nan_cells += std::isnan(value);
    if (value < expected.lowest.value) expected.lowest = {value, number};
    if (value > expected.highest.value) expected.highest = {value, number};
  });
  const auto all_of = [](const TemperatureExtremes& e) {
    return std::tuple(e.lowest.value, e.lowest.number, e.highest.value, e.highest.number, e.nan_cells);
  };
  EXPECT_EQ(all_of(temperature_extremes<T>(field.view(), {0, 0, 0}, n)), all_of(expected));
  TemperatureExtremes joined;  // parts in the wrong order
  for (const Box box :
       {Box{{4, 3, 0}, n}, Box{{0, 3, 0}, {4, 7, 5}}, Box{{0, 0, 0}, {11, 3, 5}}, Box{{0, 0, 0}, {0, 3, 5}}})
    joined.add(temperature_extremes<T>(field.view().part(box), box.lo, n));
  EXPECT_EQ(all_of(joined), all_of(expected));
}

TEST(TemperatureExtremes, AreTheFirstOfEquals) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    expect_first_of_equals<double>(seed);
    expect_first_of_equals<float>(seed);
  }
}

TEST(TemperatureExtremes, OfNothingButNanThereAreNone) {
  const Int3 n{2, 2, 1};
  const auto host = make_host_device();
  Field<double> field(*host, n, 1);
  for_each_cell(n, [&](Int3 c) { field.view()(c) = nan; });
  TemperatureExtremes found = temperature_extremes<double>(field.view(), {0, 0, 0}, n);
  EXPECT_FALSE(found.any());
  EXPECT_EQ(found.nan_cells, 4);
  field.view()(1, 1, 0) = -std::numeric_limits<double>::infinity();
  found = temperature_extremes<double>(field.view(), {0, 0, 0}, n);
  EXPECT_EQ(found.highest.value, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(found.highest.cell(n), (Int3{1, 1, 0}));
  EXPECT_EQ(found.lowest.number, 3);
}

}  // namespace
}  // namespace isotherm
