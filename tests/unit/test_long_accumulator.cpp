// The exact sum: against sums in plain wide integers, made another way.
#include "kernels/long_accumulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/repeat.hpp"

namespace isotherm {
namespace {

constexpr double least = std::numeric_limits<double>::denorm_min();
constexpr double largest = std::numeric_limits<double>::max();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

LongAccumulator total(const std::vector<double>& values) {
  LongAccumulator sum{};
  for (const double value : values) sum.add(value);
  sum.normalise();
  return sum;
}
double sum_of(const std::vector<double>& values) {
  return total(values).rounded();
}
bool same_words(const LongAccumulator& a, const LongAccumulator& b) {
  return std::equal(a.word, a.word + LongAccumulator::words, b.word);
}
bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// A whole number of units of 2^-1074, as one bit a byte in two's complement: slow, and nothing like the
// digits of the accumulator.
class BitSum {
 public:
  void add(double value) {
    int exponent = 0;
    auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(std::fabs(value), &exponent), 53));
    exponent -= 53;                                       // value = mantissa 2^exponent
    for (; exponent < -1074; ++exponent) mantissa >>= 1;  // only zeros leave
    const bool subtract = value < 0;
    int carry = 0;
    for (std::size_t i = static_cast<std::size_t>(exponent + 1074); i < bits_.size(); ++i) {
      const int bit = static_cast<int>(mantissa & 1);
      mantissa >>= 1;
      const int digit = bits_[i] + (subtract ? -bit : bit) + carry;
      bits_[i] = static_cast<signed char>(digit & 1);
      carry = digit >> 1;
      if (mantissa == 0 && carry == 0) break;
    }
  }
  // By the definition of round to nearest, even: the candidate below, the rest against one half.
  double rounded() const {
    std::vector<signed char> bits = bits_;
    const bool negative = bits.back() != 0;
    if (negative) {
      int carry = 1;
      for (signed char& bit : bits) {
        const int digit = (1 - bit) + carry;
        bit = static_cast<signed char>(digit & 1);
        carry = digit >> 1;
      }
    }
    std::size_t top = bits.size();
    while (top > 0 && bits[top - 1] == 0) --top;
    const std::size_t kept = top > 53 ? top - 53 : 0;  // the position of the last bit that stays
    double value = 0;
    for (std::size_t i = top; i > kept; --i) value = 2 * value + bits[i - 1];
    if (kept > 0 && bits[kept - 1] != 0) {
      const bool more = std::find(bits.begin(), bits.begin() + static_cast<std::ptrdiff_t>(kept) - 1, 1) !=
                        bits.begin() + static_cast<std::ptrdiff_t>(kept) - 1;
      if (more || bits[kept] != 0) value += 1;
    }
    value = std::ldexp(value, static_cast<int>(kept) - 1074);
    return negative ? -value : value;
  }

 private:
  std::vector<signed char> bits_ = std::vector<signed char>(2300, 0);
};

TEST(LongAccumulator, KeepsEveryDouble) {
  Random random;
  std::vector<double> values{0.0,   least,   3 * least, 1.0,       -1.0,
                             0.1,   largest, -largest,  0x1p-1022, 0x1.fffffffffffffp-1023,
                             1e300, 1e-300};
  while (values.size() < 20000) {
    const double value = std::bit_cast<double>(random());
    if (std::isfinite(value)) values.push_back(value);
  }
  for (const double value : values) {
    ASSERT_TRUE(same_bits(sum_of({value}), value)) << value;
    ASSERT_TRUE(same_bits(sum_of({value, -value}), 0.0)) << value;
  }
}

TEST(LongAccumulator, LosesNothingToCancellation) {
  EXPECT_EQ(sum_of({1e308, 1, -1e308}), 1);
  EXPECT_EQ(sum_of({1e308, least, -1e308}), least);
  EXPECT_EQ(sum_of({largest, largest, -largest, -largest, -1e-300}), -1e-300);
  EXPECT_EQ(sum_of({1, 0x1p-200, -1}), 0x1p-200);
  EXPECT_EQ(sum_of({-1, 0x1p-60}), -1);                                // rounds back
  EXPECT_EQ(sum_of({-1, 0x1p-54, least}), std::nextafter(-1.0, 0.0));  // just over half an ulp below 1
  EXPECT_EQ(sum_of(std::vector<double>(1000, 0.1)), 100.0);            // 1000 times the double nearest to 0.1
}

TEST(LongAccumulator, RoundsTiesToEven) {
  const double ulp = 0x1p-52;
  EXPECT_EQ(sum_of({1, ulp / 2}), 1);
  EXPECT_EQ(sum_of({1 + ulp, ulp / 2}), 1 + 2 * ulp);
  EXPECT_EQ(sum_of({1, ulp / 2, least}), 1 + ulp);
  EXPECT_EQ(sum_of({1, ulp / 2, -least}), 1);
  EXPECT_EQ(sum_of({-1, -ulp / 2}), -1);
  EXPECT_EQ(sum_of({-1 - ulp, -ulp / 2}), -1 - 2 * ulp);
  EXPECT_EQ(sum_of({2 - ulp, ulp / 2}), 2);                   // the mantissa overflows into the exponent
  EXPECT_EQ(sum_of({0x1p-1022, -least}), 0x1p-1022 - least);  // into the subnormal numbers, exactly
}

TEST(LongAccumulator, OverflowsWhereTheSumIsBeyondEveryDouble) {
  EXPECT_EQ(sum_of({largest, largest}), infinity);
  EXPECT_EQ(sum_of({-largest, -largest}), -infinity);
  EXPECT_EQ(sum_of({largest, 0x1p969}), largest);   // a quarter of an ulp
  EXPECT_EQ(sum_of({largest, 0x1p970}), infinity);  // half: the even one is out of range
  EXPECT_EQ(sum_of(std::vector<double>(100000, largest)), infinity);
}

TEST(LongAccumulator, RemembersWhatIsNoNumber) {
  EXPECT_TRUE(std::isnan(sum_of({1, not_a_number, 2})));
  EXPECT_TRUE(std::isnan(sum_of({-not_a_number, infinity})));
  EXPECT_TRUE(std::isnan(sum_of({infinity, 1, -infinity})));
  EXPECT_EQ(sum_of({infinity, -largest, infinity}), infinity);
  EXPECT_EQ(sum_of({-infinity, largest}), -infinity);
}

TEST(LongAccumulator, ZeroIsPositive) {
  EXPECT_TRUE(same_bits(sum_of({}), 0.0));
  EXPECT_TRUE(same_bits(sum_of({-0.0, -0.0}), 0.0));
  EXPECT_TRUE(same_bits(sum_of({-least, least}), 0.0));
}

// Values of all sizes, most of which cancel.
std::vector<double> hostile_values(Random& random) {
  const int spread = random.between(1, 2000);
  const int middle = random.between(-1060 + spread / 2, 1000 - spread / 2);
  std::vector<double> values;
  for (int i = 0; i < 60; ++i) {
    const double value =
        std::ldexp(random.between(-1.0, 1.0), random.between(middle - spread / 2, middle + spread / 2));
    values.push_back(value);
    if (i % 3 != 0) values.push_back(-value * (i % 3 == 1 ? 1 : 1 + 0x1p-50));
  }
  std::shuffle(values.begin(), values.end(), random);
  return values;
}

TEST(LongAccumulator, RoundsAsPlainBinaryAdditionDoes) {
  Random random;
  for (int trial = 0; trial < 2000; ++trial) {
    const std::vector<double> values = hostile_values(random);
    BitSum expected;
    for (const double value : values) expected.add(value);
    ASSERT_TRUE(same_bits(sum_of(values), expected.rounded()))
        << "trial " << trial << ": " << sum_of(values) << " for " << expected.rounded();
  }
}

TEST(LongAccumulator, HasTheSameWordsInAnyOrderAndGrouping) {
  Random random;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> values = hostile_values(random);
    if (trial % 4 == 0) values.push_back(trial % 8 == 0 ? infinity : not_a_number);
    const LongAccumulator once = total(values);
    std::shuffle(values.begin(), values.end(), random);
    ASSERT_TRUE(same_words(once, total(values))) << "trial " << trial;

    LongAccumulator sum{};  // ranks: parts that are normalised each, added up word by word
    for (std::size_t i = 0; i < values.size();) {
      const std::size_t end = std::min(values.size(), i + random() % 20);
      LongAccumulator part =
          total({values.begin() + std::ptrdiff_t(i), values.begin() + std::ptrdiff_t(end)});
      sum.add(part);
      i = end;
    }
    EXPECT_EQ(std::isnan(sum.rounded()), std::isnan(once.rounded()));
    if (!std::isnan(once.rounded())) {
      EXPECT_TRUE(same_bits(sum.rounded(), once.rounded())) << "trial " << trial;
    }
    sum.normalise();
    ASSERT_TRUE(same_words(once, sum)) << "trial " << trial;
  }
}

TEST(LongAccumulator, TakesASumAway) {
  Random random;
  for (int trial = 0; trial < 200; ++trial) {
    const std::vector<double> values = hostile_values(random), others = hostile_values(random);
    std::vector<double> both = values;
    for (const double other : others) both.push_back(-other);
    LongAccumulator difference = total(values);
    difference.subtract(total(others));
    EXPECT_TRUE(same_bits(difference.rounded(), sum_of(both))) << "trial " << trial;
    difference.normalise();
    ASSERT_TRUE(same_words(difference, total(both))) << "trial " << trial;
  }
  LongAccumulator small = total({1e15, 0.1});  // rounded first, 0.125
  small.subtract(total({1e15}));
  EXPECT_EQ(small.rounded(), 0.1);
}

TEST(LongAccumulator, TakesAwayWhatIsNoNumber) {
  const auto difference = [](const std::vector<double>& a, const std::vector<double>& b) {
    LongAccumulator sum = total(a);
    sum.subtract(total(b));
    EXPECT_EQ(sum.all_finite(), total(a).all_finite() && total(b).all_finite());
    return sum.rounded();
  };
  EXPECT_EQ(difference({1}, {infinity}), -infinity);
  EXPECT_EQ(difference({1}, {-infinity, 1}), infinity);
  EXPECT_EQ(difference({infinity}, {-infinity}), infinity);
  EXPECT_TRUE(std::isnan(difference({infinity}, {infinity})));  // as many on both sides
  EXPECT_TRUE(std::isnan(difference({not_a_number}, {not_a_number})));
  EXPECT_TRUE(std::isnan(difference({1}, {not_a_number})));
  EXPECT_EQ(difference({largest, largest}, {largest}), largest);
  EXPECT_EQ(difference({largest}, {-largest}), infinity);  // of finite numbers
}

// The bounds that the header states, reached by adding an accumulator to itself.
TEST(LongAccumulator, HoldsAsManyAdditionsAsItSays) {
  const auto doubled_30_times = [](LongAccumulator sum) {
    for (int i = 0; i < 30; ++i) sum.add(sum);
    return sum;
  };
  for (const double value : {0x1.fffffffffffffp0, -0x1.fffffffffffffp0, -0x1.fffffp-1030, 0x1p900}) {
    LongAccumulator sum{};
    sum.add(value);
    sum = doubled_30_times(sum);  // 2^30 additions without a carry
    EXPECT_EQ(sum.rounded(), std::ldexp(value, 30));
    sum.normalise();
    sum = doubled_30_times(sum);  // 2^30 normalised accumulators
    EXPECT_EQ(sum.rounded(), std::ldexp(value, 60));
  }
  LongAccumulator sum{}, back{};
  sum.add(largest);
  back.add(-largest);
  sum = doubled_30_times(sum);
  back = doubled_30_times(back);
  EXPECT_EQ(sum.rounded(), infinity);
  EXPECT_EQ(back.rounded(), -infinity);
  sum.normalise();
  back.normalise();
  sum.add(back);
  EXPECT_TRUE(same_bits(sum.rounded(), 0.0));
}

}  // namespace
}  // namespace isotherm
