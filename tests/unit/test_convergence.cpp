// When a steady problem has come to rest, and when it comes no further.
#include "solver/residual_check.hpp"

#include <gtest/gtest.h>

namespace isotherm {
namespace {

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

}  // namespace
}  // namespace isotherm
