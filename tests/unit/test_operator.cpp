#include "physics/operator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace isotherm {
namespace {

// Copper, cells of 1 x 2 x 4 mm.
Config copper() {
  Config config;
  config.grid.cells = {8, 8, 8};
  config.grid.spacing = Vector3{1e-3, 2e-3, 4e-3};
  config.material.conductivity = 400;
  config.material.density = 8960;
  config.material.heat_capacity = 385;
  return config;
}

TEST(Operator, TransientIsOneExplicitEulerStep) {
  Config config = copper();
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
  Config config = copper();
  config.problem.dt_fraction = 1;
  config.problem.steps = 1;
  EXPECT_NEAR(sweep_coefficients(config).c0, 0, 1e-15);
}

TEST(Operator, SteadyIsOneWeightedJacobiSweep) {
  Config config = copper();
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

}  // namespace
}  // namespace isotherm
