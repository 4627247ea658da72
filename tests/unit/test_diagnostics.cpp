// What diagnostics can know of a deck, where bins lie, how a balance closes, and extremes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "core/device.hpp"
#include "core/error.hpp"
#include "grid/field.hpp"
#include "physics/diagnostics.hpp"
#include "physics/region_values.hpp"
#include "support/decks.hpp"
#include "support/error_text.hpp"
#include "support/field_by_index.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

TEST(Diagnostics, KnowsWhatTheMaterialSays) {
  Config config = decks::base({4, 5, 6});  // transient, k, rho and c
  DiagnosticsPlan plan = plan_diagnostics(config);
  const double volume = 0.3 / 4 * (0.2 / 5) * (0.25 / 6);
  EXPECT_DOUBLE_EQ(*plan.heat_capacity, 7800 * 500.0 * volume);
  EXPECT_TRUE(plan.flows && plan.rate);
  EXPECT_DOUBLE_EQ(plan.conductance[2], 15 * (0.3 / 4) * (0.25 / 6) / (0.2 / 5));
  config.boundaries[4].kind = config.boundaries[5].kind = BoundaryKind::periodic;
  EXPECT_EQ(plan_diagnostics(config).boundaries,
            (std::array<bool, face_count>{true, true, true, true, false, false}));

  config.material = {};
  config.material.diffusivity = 1e-5;
  plan = plan_diagnostics(config);
  EXPECT_FALSE(plan.heat_capacity || plan.flows || plan.rate);
  config.material.conductivity = 15;
  EXPECT_DOUBLE_EQ(*plan_diagnostics(config).heat_capacity, 15 / 1e-5 * volume);

  config = decks::steady({4, 5, 6});
  config.material = {};
  EXPECT_FALSE(plan_diagnostics(config).flows);
  config.material.conductivity = 15;
  plan = plan_diagnostics(config);
  EXPECT_TRUE(plan.flows && !plan.rate && !plan.heat_capacity);
}

TEST(Diagnostics, BinsCoverWhatIsKnownBeforeTheFirstSweep) {
  Config config = decks::base({4, 5, 6});
  config.output.histogram.bins = 8;
  config.boundaries[0] = {BoundaryKind::temperature, Expression(250.0), 0};
  config.boundaries[1] = {BoundaryKind::convection, Expression(410.0), 3};
  config.boundaries[2] = {BoundaryKind::temperature, Expression("1000*x", "xzt"), 0};  // no number
  config.boundaries[3] = {BoundaryKind::flux, Expression(5000.0), 0};                  // no temperature
  Bins bins = choose_bins(config, 290, 320);
  EXPECT_EQ(bins.low, 250);
  EXPECT_EQ(bins.high, 410);
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

TEST(Diagnostics, BalanceIsWhatIsNotAccountedFor) {
  HeatFlows flows;
  flows.boundaries = {5, -3, 0, 0, 1, 0};
  flows.source = 2;
  flows.rate = 4;
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

constexpr std::array<bool, face_count> all_boundaries{true, true, true, true, true, true};

Config closed_domain(Int3 cells) {
  Config config;
  config.name = "deck.yaml";
  config.grid.cells = cells;
  config.grid.lengths = Vector3{0.2, 0.3, 0.5};
  config.material.conductivity = 2;
  config.problem.kind = ProblemKind::steady;
  return config;
}

Box whole(const Config& config) {
  return {{0, 0, 0}, config.grid.cells};
}

std::string error_of(const Config& config, const HeatBalance& balance) {
  return deck_error([&] { check_balance(config, balance); });
}

TEST(Balance, OnlyTemperatureAndConvectionFixTheMean) {
  Config config = closed_domain({4, 4, 4});
  EXPECT_TRUE(mean_is_free(config));
  config.boundaries[0] = {BoundaryKind::flux, 10.0, 0};
  config.boundaries[2].kind = config.boundaries[3].kind = BoundaryKind::periodic;
  EXPECT_TRUE(mean_is_free(config));
  config.boundaries[5] = {BoundaryKind::convection, 300.0, 0};  // a coefficient of 0 insulates
  EXPECT_TRUE(mean_is_free(config));
  config.boundaries[5].coefficient = 1;
  EXPECT_FALSE(mean_is_free(config));
  config.boundaries[5] = {BoundaryKind::temperature, 300.0, 0};
  EXPECT_FALSE(mean_is_free(config));
  config.boundaries[5] = {};
  config.problem.kind = ProblemKind::transient;
  EXPECT_FALSE(mean_is_free(config));
}

TEST(Balance, CountsFluxesOverFacesAndSourcesOverCells) {
  Config config = closed_domain({5, 7, 3});
  config.boundaries[static_cast<int>(Face::x_min)] = {BoundaryKind::flux, 40.0, 0};
  config.boundaries[static_cast<int>(Face::z_max)] = {BoundaryKind::flux, Expression("-1000*x", "xyt"), 0};
  RegionValue source;
  source.value = -100;
  config.sources = {source};
  const HeatBalance balance = heat_balance(config, whole(config), all_boundaries);
  // The centres' mean x is that of the face.
  const double in = 40 * 0.3 * 0.5, top = -1000 * 0.1 * 0.2 * 0.3, inside = -100 * 0.2 * 0.3 * 0.5;
  EXPECT_NEAR(balance.net, in + top + inside, 1e-12);
  EXPECT_NEAR(balance.gross, in - top - inside, 1e-12);
}

TEST(Balance, BlocksAddUpToTheWhole) {
  Config config = closed_domain({8, 6, 4});
  config.boundaries[static_cast<int>(Face::y_min)] = {BoundaryKind::flux, Expression("3 + sin(9*x)", "xzt"),
                                                      0};
  RegionValue source;
  source.shape = Shape::formula;
  source.formula = Expression("cos(20*x*y) - z", "xyz");
  config.sources = {source};
  const HeatBalance once = heat_balance(config, whole(config), all_boundaries);
  HeatBalance sum;
  for (const Box& subdomain :
       {Box{{0, 0, 0}, {3, 6, 4}}, Box{{3, 0, 0}, {8, 2, 4}}, Box{{3, 2, 0}, {8, 6, 4}}}) {
    auto boundaries = all_boundaries;
    boundaries[static_cast<int>(Face::y_min)] = subdomain.lo.y == 0;
    const HeatBalance part = heat_balance(config, subdomain, boundaries);
    sum.net += part.net;
    sum.gross += part.gross;
  }
  EXPECT_NEAR(sum.net, once.net, 1e-13 * once.gross);
  EXPECT_NEAR(sum.gross, once.gross, 1e-13 * once.gross);
}

TEST(Balance, WhatIsLeftOverIsRejectedInWatts) {
  Config config = closed_domain({4, 4, 4});
  config.problem.mean_temperature = 300;
  EXPECT_EQ(error_of(config, {0, 0}), "no error");
  EXPECT_EQ(error_of(config, {0.9e-9, 1}), "no error");
  expect_start(error_of(config, {2.5, 10}), "deck.yaml: boundaries: the steady problem has no solution");
  expect_says(error_of(config, {-2e-9, 1}), "2e-09 W more heat leaves the body");
  EXPECT_NE(error_of(config, {std::nan(""), 1}), "no error");
  config.problem.mean_temperature.reset();
  expect_says(error_of(config, {0, 0}), "problem.mean_temperature: missing");
}

TEST(Balance, ShiftMovesTheMeanOnly) {
  std::vector<double> cells{1, 2, 3, 4};
  shift(FieldView<double>{cells.data(), 2, 4, {2, 2, 1}, 0}, 297.5);
  EXPECT_EQ(cells, (std::vector<double>{298.5, 299.5, 300.5, 301.5}));
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
TemperatureExtremes extremes_of(const FieldView<T>& field, Box box, Int3 cells) {
  FieldView<const T> part = field;
  part.origin = &field(box.lo);
  part.extent = box.extent();
  return temperature_extremes<T>(part, box.lo, cells);
}

// Few different values, so that most are found in several cells: the first counts, whatever the parts.
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
  const auto expect_the_same = [&](const TemperatureExtremes& found) {
    const auto all_of = [](const TemperatureExtremes& e) {
      return std::tuple(e.lowest.value, e.lowest.number, e.highest.value, e.highest.number, e.nan_cells);
    };
    EXPECT_EQ(all_of(found), all_of(expected));
  };
  expect_the_same(extremes_of(field.view(), {{0, 0, 0}, n}, n));
  TemperatureExtremes joined;  // parts in the wrong order
  for (const Box box :
       {Box{{4, 3, 0}, n}, Box{{0, 3, 0}, {4, 7, 5}}, Box{{0, 0, 0}, {11, 3, 5}}, Box{{0, 0, 0}, {0, 3, 5}}})
    joined.add(extremes_of(field.view(), box, n));
  expect_the_same(joined);
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
  TemperatureExtremes found = extremes_of(field.view(), {{0, 0, 0}, n}, n);
  EXPECT_FALSE(found.any());
  EXPECT_EQ(found.nan_cells, 4);
  field.view()(1, 1, 0) = -std::numeric_limits<double>::infinity();
  found = extremes_of(field.view(), {{0, 0, 0}, n}, n);
  EXPECT_EQ(found.highest.value, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(found.highest.cell(n), (Int3{1, 1, 0}));
  EXPECT_EQ(found.lowest.number, 3);
}

}  // namespace
}  // namespace isotherm
