// Division by multiplication against the division of the language.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "kernels/cuda/fast_divide.hpp"

namespace isotherm::cuda {
namespace {

constexpr Index largest = std::numeric_limits<Index>::max();

// At n and its neighbours: the quotient steps beside every multiple.
void check_near(Index n, Index d) {
  const FastDivide divide(d);
  for (const Index near : {std::max<Index>(n, 1) - 1, n, std::min(n, largest - 1) + 1}) {
    ASSERT_EQ(divide(near), near / d) << near << " / " << d;
  }
}

TEST(FastDivide, SmallNumbers) {
  for (Index d = 1; d <= 130; ++d) {
    const FastDivide divide(d);
    for (Index n = 0; n <= 1000; ++n) ASSERT_EQ(divide(n), n / d) << n << " / " << d;
  }
}

TEST(FastDivide, EndsOfTheRange) {
  for (int log2 = 0; log2 < 63; ++log2) {
    const Index power = Index{1} << log2;
    for (const Index d : {power - 1, power, power + 1}) {
      if (d < 1) continue;
      check_near(largest, d);
      check_near(largest / d * d, d);
      check_near(d, d);
    }
  }
  check_near(largest, largest);
}

TEST(FastDivide, RandomNumbers) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200000; ++i) {
    const Index d = static_cast<Index>(random() >> (1 + random() % 62)) | 1;
    const Index n = static_cast<Index>(random() >> (1 + random() % 62));
    check_near(n, d);
    check_near(n / d * d, d);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace isotherm::cuda
