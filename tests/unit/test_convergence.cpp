// When a steady problem has come to rest.
#include "solver/convergence.hpp"

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

}  // namespace
}  // namespace isotherm
