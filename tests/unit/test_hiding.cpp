// What of an exchange is hidden: the arithmetic.
#include <gtest/gtest.h>

#include <array>

#include "halo/hiding.hpp"

namespace isotherm {
namespace {

TEST(Hiding, IsWhatAStepDoesNotTakeBeyondItsSweep) {
  const StepSeconds sample{10e-6, 100e-6, 102e-6};
  const HaloCost cost = halo_cost(std::array{sample});
  EXPECT_DOUBLE_EQ(cost.exchange, 10e-6);
  EXPECT_NEAR(cost.exposed, 2e-6, 1e-15);
  EXPECT_NEAR(*cost.hidden_share(), 0.8, 1e-9);
}

TEST(Hiding, DifferencesAreTakenWithinASample) {
  // The device slows down: medians of the spans, subtracted, would leave 52.
  const std::array samples{StepSeconds{10, 100, 102}, StepSeconds{11, 150, 152}, StepSeconds{12, 200, 250}};
  const HaloCost cost = halo_cost(samples);
  EXPECT_EQ(cost.exchange, 11);
  EXPECT_EQ(cost.exposed, 2);
}

TEST(Hiding, IsNeitherLessThanNothingNorMoreThanAll) {
  EXPECT_EQ(halo_cost(std::array{StepSeconds{10, 100, 99}}).exposed, 0);
  EXPECT_EQ(halo_cost(std::array{StepSeconds{10, 100, 99}}).hidden_share(), 1);
  const HaloCost worse = halo_cost(std::array{StepSeconds{10, 100, 130}});
  EXPECT_EQ(worse.exposed, 30);
  EXPECT_EQ(worse.hidden_share(), 0);
}

TEST(Hiding, AnExchangeThatTakesNoTimeHasNoShare) {
  EXPECT_EQ(halo_cost(std::array{StepSeconds{0, 1, 1}}).hidden_share(), std::nullopt);
}

}  // namespace
}  // namespace isotherm
