#include "physics/coverage.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "physics/cells.hpp"
#include "physics/paint.hpp"
#include "support/error_text.hpp"

namespace isotherm {
namespace {

Config grid(Int3 cells, Vector3 spacing, Vector3 origin = {0, 0, 0}) {
  Config config;
  config.name = "deck.yaml";
  config.grid.cells = cells;
  config.grid.spacing = spacing;
  config.grid.origin = origin;
  return config;
}

std::vector<double> painted(const Config& config, const std::vector<Paint>& sources, Box block) {
  const Int3 n = block.extent();
  std::vector<double> cells(static_cast<std::size_t>(n.product()));
  Painter(config, sources, "sources")
      .paint(1.0, block, FieldView<double>{cells.data(), n.x, n.x * n.y, n, 0});
  return cells;
}
std::vector<double> painted(const Config& config, const std::vector<Paint>& sources) {
  return painted(config, sources, {{0, 0, 0}, config.grid.cells});
}

double power(const Config& config, const std::vector<Paint>& sources) {
  Config with = config;
  with.sources = sources;
  return source_totals(with).power;
}

// A shape of any kind and size, whole within the box from 0 to `lengths`.
Paint shape_within(const Vector3& lengths, std::mt19937& random) {
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  Paint paint;
  paint.shape = std::array{Shape::box, Shape::sphere, Shape::cylinder}[random() % 3];
  paint.mode = PaintMode::add;
  paint.axis = static_cast<int>(random() % 3);
  const double least = *std::min_element(lengths.begin(), lengths.end());
  paint.radius = least * std::exp(uniform(-6, -0.8));
  paint.length = least * std::exp(uniform(-6, -0.8));
  for (std::size_t a = 0; a < 3; ++a) {
    const double reach = std::max(paint.radius, paint.length / 2);
    paint.centre[a] = uniform(reach, lengths[a] - reach);
    paint.from[a] = uniform(0, lengths[a]);
    paint.to[a] = paint.from[a] + (lengths[a] - paint.from[a]) * std::exp(uniform(-6, 0));
  }
  return paint;
}

double volume_of(const Paint& p) {
  if (p.shape == Shape::box) return (p.to[0] - p.from[0]) * (p.to[1] - p.from[1]) * (p.to[2] - p.from[2]);
  if (p.shape == Shape::sphere) return 4.0 / 3 * M_PI * std::pow(p.radius, 3);
  return M_PI * p.radius * p.radius * p.length;
}

// On any grid, also where a shape is smaller than a cell.
TEST(Coverage, ShapesWithinTheDomainHaveTheirPower) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 300; ++i) {
    const auto any = [&](int most) { return static_cast<Index>(1 + random() % static_cast<unsigned>(most)); };
    const Config config = grid({any(30), any(30), any(30)}, {0.1, 0.07, 0.23});
    Vector3 lengths;
    for (int a = 0; a < 3; ++a)
      lengths[static_cast<std::size_t>(a)] =
          (*config.grid.spacing)[static_cast<std::size_t>(a)] * static_cast<double>(config.grid.cells[a]);
    Paint with_value = shape_within(lengths, random), with_power = with_value;
    with_value.value = 1e6;
    with_power.power = 16;
    const double expected = 1e6 * volume_of(with_value);
    // Where it lies is known to a rounding of its distance from the corner.
    const double thinnest =
        with_value.shape == Shape::box
            ? std::min({with_value.to[0] - with_value.from[0], with_value.to[1] - with_value.from[1],
                        with_value.to[2] - with_value.from[2]})
            : std::min(with_value.radius, with_value.length);
    const double rounding = 1e-13 + 1e-15 * (lengths[0] + lengths[1] + lengths[2]) / thinnest;
    EXPECT_NEAR(power(config, {with_value}), expected, rounding * expected) << i;
    EXPECT_NEAR(power(config, {with_power}), 16, 1e-11) << i;
  }
}

TEST(Coverage, AGaussianHasThePowerOfItsIntegral) {
  Paint gaussian;
  gaussian.shape = Shape::gaussian;
  gaussian.power = 16;
  gaussian.width = 0.01;
  gaussian.centre = {0.5, 0.5, 0.5};
  for (const Index n : {1, 2, 7, 40})
    EXPECT_NEAR(power(grid({n, n, n}, {1.0 / static_cast<double>(n), 1.0 / static_cast<double>(n),
                                       1.0 / static_cast<double>(n)}),
                      {gaussian}),
                16, 1e-11);
  gaussian.centre[2] = 1;  // half of it is outside
  EXPECT_NEAR(power(grid({20, 20, 20}, {0.05, 0.05, 0.05}), {gaussian}), 8, 1e-11);
  // The digits of a tail, where the error function itself is 1.
  const auto tail = painted(grid({1, 1, 12}, {1, 1, 0.01}, {0, 0, 1}), {gaussian});
  EXPECT_GT(tail[11], 0);
  EXPECT_LT(tail[11], 1e-20 * tail[0]);
}

TEST(Coverage, ABoxCoversSharesOfCells) {
  Paint box;
  box.shape = Shape::box;
  box.value = 8;
  box.from = {0.5, 0, -1};
  box.to = {2.25, 1, 3};
  EXPECT_EQ(painted(grid({4, 1, 1}, {1, 1, 1}), {box}), (std::vector<double>{4, 8, 2, 0}));
  Paint before;
  before.value = 100;
  EXPECT_EQ(painted(grid({4, 1, 1}, {1, 1, 1}), {before, box}), (std::vector<double>{54, 8, 77, 100}));
  before.mode = box.mode = PaintMode::add;
  EXPECT_EQ(painted(grid({4, 1, 1}, {1, 1, 1}), {before, box}), (std::vector<double>{104, 108, 102, 100}));
}

// 0.3 / 0.1 is 2.9999999999999996: no cell gets a share of 4e-16.
TEST(Coverage, FacesOfCellsButForRoundingAreFaces) {
  Paint box;
  box.shape = Shape::box;
  box.value = 1;
  box.from = {0.3, 0, 0};
  box.to = {0.6, 0.1, 0.1};
  EXPECT_EQ(painted(grid({10, 1, 1}, {0.1, 0.1, 0.1}), {box}),
            (std::vector<double>{0, 0, 0, 1, 1, 1, 0, 0, 0, 0}));
}

// Against counting points of a fine lattice in each cell.
TEST(Coverage, SharesOfRoundShapesAreThoseOfTheirVolume) {
  const Config config = grid({6, 5, 4}, {0.1, 0.12, 0.15});
  for (const Shape shape : {Shape::sphere, Shape::cylinder}) {
    for (int axis = 0; axis < 3; ++axis) {
      Paint paint;
      paint.shape = shape;
      paint.axis = axis;
      paint.value = 1;
      paint.centre = {0.31, 0.29, 0.32};
      paint.radius = 0.19;
      paint.length = 0.27;
      const auto inside = [&](const Vector3& at) {
        double squares = 0;
        for (int a = 0; a < 3; ++a) {
          const double d = at[static_cast<std::size_t>(a)] - paint.centre[static_cast<std::size_t>(a)];
          if (shape == Shape::cylinder && a == axis) {
            if (std::abs(d) > paint.length / 2) return false;
          } else {
            squares += d * d;
          }
        }
        return squares < paint.radius * paint.radius;
      };
      const auto shares = painted(config, {paint});
      std::size_t i = 0;
      constexpr int fine = 24;
      for (Index z = 0; z < 4; ++z)
        for (Index y = 0; y < 5; ++y)
          for (Index x = 0; x < 6; ++x, ++i) {
            int count = 0;
            for (int k = 0; k < fine * fine * fine; ++k) {
              const auto point = [&](Index cell, int part, double h) {
                return (static_cast<double>(cell) + (part + 0.5) / fine) * h;
              };
              count += inside({point(x, k % fine, 0.1), point(y, k / fine % fine, 0.12),
                               point(z, k / fine / fine, 0.15)});
            }
            ASSERT_NEAR(shares[i], static_cast<double>(count) / (fine * fine * fine), 0.03)
                << x << " " << y << " " << z << " axis " << axis;
          }
    }
  }
}

TEST(Coverage, EveryBlockPaintsTheBitsOfTheWhole) {
  const Config config = grid({17, 11, 9}, {0.1, 0.1, 0.1});
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  std::vector<Paint> sources;
  for (int i = 0; i < 8; ++i) {
    sources.push_back(shape_within({1.7, 1.1, 0.9}, random));
    sources.back().power = 3;
    if (i % 2) sources.back().mode = PaintMode::set;
  }
  Paint gaussian;
  gaussian.shape = Shape::gaussian;
  gaussian.value = 1e3;
  gaussian.width = 0.2;
  sources.push_back(gaussian);
  const auto whole = painted(config, sources);
  for (const Box block :
       {Box{{3, 0, 0}, {7, 11, 9}}, Box{{0, 2, 4}, {17, 3, 9}}, Box{{16, 10, 1}, {17, 11, 4}}}) {
    const auto part = painted(config, sources, block);
    std::size_t i = 0;
    for (Index z = block.lo.z; z < block.hi.z; ++z)
      for (Index y = block.lo.y; y < block.hi.y; ++y)
        for (Index x = block.lo.x; x < block.hi.x; ++x, ++i)
          ASSERT_EQ(part[i], whole[static_cast<std::size_t>(x + 17 * (y + 11 * z))]);
  }
}

// More rows of cells than the quadrature looks at all of.
TEST(Coverage, AHugeSphereCoversTheDomain) {
  Paint sphere;
  sphere.shape = Shape::sphere;
  sphere.value = 2;
  sphere.radius = 1e9;
  EXPECT_EQ(painted(grid({3, 1, 1}, {0.1, 0.1, 0.1}), {sphere}), (std::vector<double>{2, 2, 2}));
}

TEST(ShapeWarnings, WhatLiesOutsideIsToldOrRefused) {
  Config config = grid({4, 4, 4}, {0.1, 0.1, 0.1});
  Paint box;
  box.shape = Shape::box;
  box.value = 1;
  box.from = {0.3, 0, 0};
  box.to = {0.5, 0.4, 0.4};
  config.sources = {box};
  ASSERT_EQ(shape_warnings(config).size(), 1u);
  EXPECT_NE(shape_warnings(config)[0].find("sources.0: only 50 % of its heat"), std::string::npos);
  config.sources[0].to[0] = 0.4;
  EXPECT_TRUE(shape_warnings(config).empty());
  config.sources[0].from[0] = 0.4;
  config.sources[0].to[0] = 0.5;
  EXPECT_NE(deck_error([&] { shape_warnings(config); }).find("sources.0: lies outside the domain"),
            std::string::npos);
}

TEST(ShapeWarnings, AnInitialShapeBetweenCentresIsTold) {
  Config config = grid({4, 4, 4}, {0.1, 0.1, 0.1});
  for (const Shape shape : {Shape::box, Shape::sphere, Shape::cylinder}) {
    Paint paint;
    paint.shape = shape;
    paint.value = 400;
    paint.from = {0.16, 0.06, 0.06};
    paint.to = {0.24, 0.24, 0.24};
    paint.centre = {0.2, 0.15, 0.15};
    paint.radius = paint.length = 0.04;
    config.initial = {paint};
    ASSERT_EQ(shape_warnings(config).size(), 1u) << static_cast<int>(shape);
    EXPECT_NE(shape_warnings(config)[0].find("initial.0: holds no cell centre"), std::string::npos);
    config.initial[0].from[0] = 0.15 * (1 + 1e-15);  // a centre, but for rounding
    config.initial[0].radius = 0.06;
    config.initial[0].length = 0.2;
    EXPECT_TRUE(shape_warnings(config).empty()) << static_cast<int>(shape);
  }
}

}  // namespace
}  // namespace isotherm
