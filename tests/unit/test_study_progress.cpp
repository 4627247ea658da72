#include "study/study_progress.hpp"

#include <gtest/gtest.h>

namespace isotherm {
namespace {

// Of ten cases of 100 and a large one of 1000: 2 s beside the sweeps, and 10 of the work a second.
class StudyLeft : public testing::Test {
 protected:
  void SetUp() override { testing::internal::CaptureStdout(); }
  void TearDown() override { testing::internal::GetCapturedStdout(); }

  static constexpr double work = 10 * 100 + 1000;
};

TEST_F(StudyLeft, IsWorkAtTheRateOfWhatHasEnded) {
  StudyProgress alone(work, 11, 1);
  EXPECT_FALSE(alone.seconds_left({{"a", 100, 11}}));
  alone.ended("a", {"a", 100, 12}, 10, {});
  EXPECT_DOUBLE_EQ(*alone.seconds_left({}), 9 * 12 + 102);
  EXPECT_DOUBLE_EQ(*alone.seconds_left({{"b", 100, 5}}), 7 + 8 * 12 + 102);
  EXPECT_DOUBLE_EQ(*alone.seconds_left({{"b", 100, 60}}), 0 + 8 * 12 + 102);  // longer than expected
  StudyProgress two(200, 2, 1);
  two.ended("a", {"a", 100, 12}, 10, {});
  EXPECT_FALSE(two.seconds_left({{"b", 100, 13}}));
}

TEST_F(StudyLeft, OfSeveralAtOnceIsTheirShareOrTheLongest) {
  StudyProgress four(work, 11, 4);
  four.ended("a", {"a", 100, 12}, 10, {});
  EXPECT_DOUBLE_EQ(*four.seconds_left({{"b", 100, 0}, {"c", 100, 0}}), (9 * 12 + 102) / 4.0);
  EXPECT_DOUBLE_EQ(*four.seconds_left({{"large", 1000, 2}, {"b", 100, 12}}), 100);
}

TEST_F(StudyLeft, IsUnknownWhereNothingSweptAndNothingAtTheEnd) {
  StudyProgress progress(300, 3, 1);
  progress.ended("failed at once", {"a", 100, 0.1}, 0, {});
  EXPECT_FALSE(progress.seconds_left({}));
  progress.skipped("b", 100);
  progress.ended("c", {"c", 100, 12}, 10, {});
  EXPECT_FALSE(progress.seconds_left({}));
}

}  // namespace
}  // namespace isotherm
