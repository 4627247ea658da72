#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "grid/field.hpp"
#include "physics/cells.hpp"
#include "physics/exact.hpp"

namespace isotherm {
namespace {

TEST(VerificationErrors, AreThoseOfTheBlock) {
  Config config;
  config.grid.cells = {8, 10, 12};
  config.grid.lengths = Vector3{0.4, 0.3, 0.5};
  config.verify.solution = ExactSolution::formula;
  config.verify.formula = Expression("100*x + 10*y + z + t", "xyzt");
  const auto exact = make_exact(config);
  const auto device = make_host_device();
  const Box block{{2, 3, 4}, {7, 9, 11}};
  Field<double> field(*device, block.extent(), 1);
  const auto view = field.view();
  const CellCentres centre(config);
  double sum = 0;
  for (Index z = 0; z < 7; ++z)
    for (Index y = 0; y < 6; ++y)
      for (Index x = 0; x < 5; ++x) {
        const Vector3 at = centre(block.lo + Int3{x, y, z});
        const double error = static_cast<double>(x - 2 * y + 3 * z) / 16;
        view(x, y, z) = (*exact)(at[0], at[1], at[2], 2) + error;
        sum += error * error;
      }
  const auto errors = [&] { return verification_errors<double>(config, view, block, *exact, 2); };
  const VerificationErrors found = errors();
  EXPECT_NEAR(found.max, 22.0 / 16, 1e-12);
  EXPECT_NEAR(found.sum_squares, sum, 1e-10);
  EXPECT_NEAR(found.l2, std::sqrt(sum / 210), 1e-12);
  EXPECT_NEAR(verification_errors<double>(config, view, block, *exact, 3).max, 1 + 10.0 / 16, 1e-12);

  const int threads = omp_get_max_threads();
  for (const int count : {1, 3, 8}) {
    omp_set_num_threads(count);
    EXPECT_EQ(errors().sum_squares, found.sum_squares);
  }
  omp_set_num_threads(threads);
  view(0, 0, 0) = std::nan("");
  EXPECT_TRUE(std::isnan(errors().max));
  view(4, 5, 6) += 100;
  EXPECT_TRUE(std::isnan(errors().max));
  EXPECT_TRUE(std::isnan(errors().l2));
}

}  // namespace
}  // namespace isotherm
