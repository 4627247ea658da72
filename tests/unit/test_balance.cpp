#include "physics/diagnostics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "physics/paint.hpp"

namespace isotherm {
namespace {

constexpr std::array<bool, face_count> all_walls{true, true, true, true, true, true};

Config closed_body(Int3 cells) {
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
  try {
    check_balance(config, balance);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::deck);
    return e.what();
  }
  return "";
}

TEST(Balance, OnlyTemperatureAndConvectionFixTheMean) {
  Config config = closed_body({4, 4, 4});
  EXPECT_TRUE(mean_is_free(config));
  config.boundaries[0] = {WallKind::flux, 10.0, 0};
  config.boundaries[2].kind = config.boundaries[3].kind = WallKind::periodic;
  EXPECT_TRUE(mean_is_free(config));
  config.boundaries[5] = {WallKind::convection, 300.0, 0};  // a coefficient of 0 insulates
  EXPECT_TRUE(mean_is_free(config));
  config.boundaries[5].coefficient = 1;
  EXPECT_FALSE(mean_is_free(config));
  config.boundaries[5] = {WallKind::temperature, 300.0, 0};
  EXPECT_FALSE(mean_is_free(config));
  config.boundaries[5] = {};
  config.problem.kind = ProblemKind::transient;
  EXPECT_FALSE(mean_is_free(config));
}

TEST(Balance, CountsFluxesOverFacesAndSourcesOverCells) {
  Config config = closed_body({5, 7, 3});
  config.boundaries[static_cast<int>(Face::x_min)] = {WallKind::flux, 40.0, 0};
  config.boundaries[static_cast<int>(Face::z_max)] = {WallKind::flux, Expression("-1000*x", "xyt"), 0};
  Paint source;
  source.value = -100;
  config.sources = {source};
  const HeatBalance balance = heat_balance(config, whole(config), all_walls);
  // The centres' mean x is that of the face.
  const double in = 40 * 0.3 * 0.5, top = -1000 * 0.1 * 0.2 * 0.3, inside = -100 * 0.2 * 0.3 * 0.5;
  EXPECT_NEAR(balance.net, in + top + inside, 1e-12);
  EXPECT_NEAR(balance.gross, in - top - inside, 1e-12);
}

TEST(Balance, BlocksAddUpToTheWhole) {
  Config config = closed_body({8, 6, 4});
  config.boundaries[static_cast<int>(Face::y_min)] = {WallKind::flux, Expression("3 + sin(9*x)", "xzt"), 0};
  Paint source;
  source.shape = Shape::formula;
  source.formula = Expression("cos(20*x*y) - z", "xyz");
  config.sources = {source};
  const HeatBalance once = heat_balance(config, whole(config), all_walls);
  HeatBalance sum;
  for (const Box& block : {Box{{0, 0, 0}, {3, 6, 4}}, Box{{3, 0, 0}, {8, 2, 4}}, Box{{3, 2, 0}, {8, 6, 4}}}) {
    auto walls = all_walls;
    walls[static_cast<int>(Face::y_min)] = block.lo.y == 0;
    const HeatBalance part = heat_balance(config, block, walls);
    sum.net += part.net;
    sum.gross += part.gross;
  }
  EXPECT_NEAR(sum.net, once.net, 1e-13 * once.gross);
  EXPECT_NEAR(sum.gross, once.gross, 1e-13 * once.gross);
}

TEST(Balance, WhatIsLeftOverIsRefusedInWatts) {
  Config config = closed_body({4, 4, 4});
  config.problem.mean_temperature = 300;
  EXPECT_EQ(error_of(config, {0, 0}), "");
  EXPECT_EQ(error_of(config, {0.9e-9, 1}), "");
  EXPECT_EQ(
      error_of(config, {2.5, 10}),
      "deck.yaml: boundaries: the steady problem has no solution (no wall fixes the temperature, and 2.5 W "
      "more heat enters the body through sources and fluxes than leaves); balance them, or make one wall "
      "temperature or convection");
  EXPECT_NE(error_of(config, {-2e-9, 1}).find("2e-09 W more heat leaves the body"), std::string::npos);
  EXPECT_NE(error_of(config, {std::nan(""), 1}), "");
  config.problem.mean_temperature.reset();
  EXPECT_NE(error_of(config, {0, 0}).find("problem.mean_temperature: missing"), std::string::npos);
}

FieldView<double> view_of(std::vector<double>& cells, Int3 extent) {
  return {cells.data(), extent.x, extent.x * extent.y, extent, 0};
}

TEST(Balance, ShiftMovesTheMeanOnly) {
  std::vector<double> cells{1, 2, 3, 4};
  shift(view_of(cells, {2, 2, 1}), 297.5);
  EXPECT_EQ(cells, (std::vector<double>{298.5, 299.5, 300.5, 301.5}));
}

}  // namespace
}  // namespace isotherm
