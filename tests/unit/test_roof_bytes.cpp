// How much memory the measurement of the copy bandwidth takes.
#include <gtest/gtest.h>

#include "app/plan.hpp"

namespace isotherm {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr double long_run = 1e12;  // bytes that its sweeps move

TEST(RoofBytes, OfOneRankAreBeyondTheCachesAndBounded) {
  EXPECT_EQ(roof_bytes(1, long_run, Backend::host, 1), 64 * mebibyte);
  EXPECT_EQ(roof_bytes(100 * mebibyte, long_run, Backend::host, 1), 100 * mebibyte);
  EXPECT_EQ(roof_bytes(8000 * mebibyte, long_run, Backend::host, 1), 256 * mebibyte);
  EXPECT_EQ(roof_bytes(1, long_run, Backend::cuda, 1), 256 * mebibyte);
  EXPECT_EQ(roof_bytes(8000 * mebibyte, long_run, Backend::cuda, 1), 1024 * mebibyte);
}

TEST(RoofBytes, AreSharedByThoseWhoCopyAtTheSameTime) {
  EXPECT_EQ(roof_bytes(1, long_run, Backend::host, 4), 16 * mebibyte);
  EXPECT_EQ(roof_bytes(1, long_run, Backend::host, 8), 8 * mebibyte);
  EXPECT_EQ(roof_bytes(1, long_run, Backend::host, 128), 8 * mebibyte);
  EXPECT_EQ(roof_bytes(100 * mebibyte, long_run, Backend::host, 8), 100 * mebibyte);
  EXPECT_EQ(roof_bytes(1, long_run, Backend::cuda, 2), 128 * mebibyte);
}

TEST(RoofBytes, OfARunOfMillisecondsAreNoMoreThanItMoves) {
  EXPECT_EQ(roof_bytes(1, 0, Backend::host, 1), 8 * mebibyte);
  EXPECT_EQ(roof_bytes(1, 40.0 * mebibyte, Backend::host, 1), 20 * mebibyte);
  EXPECT_EQ(roof_bytes(1, 128.0 * mebibyte, Backend::host, 1), 64 * mebibyte);
  EXPECT_EQ(roof_bytes(1, 40.0 * mebibyte, Backend::host, 2), 10 * mebibyte);
  EXPECT_EQ(roof_bytes(30 * mebibyte, 0, Backend::host, 1), 30 * mebibyte);
  EXPECT_EQ(roof_bytes(8000 * mebibyte, 0, Backend::host, 1), 256 * mebibyte);
  EXPECT_EQ(roof_bytes(1, 0, Backend::cuda, 1), 256 * mebibyte);
}

}  // namespace
}  // namespace isotherm
