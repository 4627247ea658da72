// How much memory the measurement of the copy bandwidth takes.
#include <gtest/gtest.h>

#include "app/plan.hpp"

namespace isotherm {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

TEST(RoofBytes, OfOneRankAreBeyondTheCachesAndBounded) {
  EXPECT_EQ(roof_bytes(1, Backend::host, 1), 64 * mebibyte);
  EXPECT_EQ(roof_bytes(100 * mebibyte, Backend::host, 1), 100 * mebibyte);
  EXPECT_EQ(roof_bytes(8000 * mebibyte, Backend::host, 1), 256 * mebibyte);
  EXPECT_EQ(roof_bytes(1, Backend::cuda, 1), 256 * mebibyte);
  EXPECT_EQ(roof_bytes(8000 * mebibyte, Backend::cuda, 1), 1024 * mebibyte);
}

TEST(RoofBytes, AreSharedByThoseWhoCopyAtTheSameTime) {
  EXPECT_EQ(roof_bytes(1, Backend::host, 4), 16 * mebibyte);
  EXPECT_EQ(roof_bytes(1, Backend::host, 8), 8 * mebibyte);
  EXPECT_EQ(roof_bytes(1, Backend::host, 128), 8 * mebibyte);
  EXPECT_EQ(roof_bytes(100 * mebibyte, Backend::host, 8), 100 * mebibyte);
  EXPECT_EQ(roof_bytes(1, Backend::cuda, 2), 128 * mebibyte);
}

}  // namespace
}  // namespace isotherm
