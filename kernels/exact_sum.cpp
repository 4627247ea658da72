#include "kernels/exact_sum.hpp"

#include <algorithm>
#include <cmath>

namespace isotherm {
namespace {

// GCC and Clang have it on every 64-bit system; -Wpedantic only wants it named as an extension.
__extension__ using Wide = __int128;

constexpr int largest_exponent = 1023;  // of a double

}  // namespace

double exact_scale(double largest_magnitude) {
  if (!(largest_magnitude > 0)) return 1;
  int exponent = 0;  // the magnitude is below 2^exponent
  std::frexp(largest_magnitude, &exponent);
  return std::ldexp(1.0, std::min(ExactSum::digit_bits - exponent, largest_exponent));
}

double exact_value(const ExactSum& sum, double scale) {
  constexpr Wide base = Wide{1} << ExactSum::digit_bits;
  const Wide units = (sum.digit[0] * base + sum.digit[1]) * base + sum.digit[2];
  return std::ldexp(static_cast<double>(units), -2 * ExactSum::digit_bits) / scale;
}

ExactSum exact_difference(ExactSum a, const ExactSum& b) {
  for (int i = 0; i < 3; ++i) a.digit[i] -= b.digit[i];
  return a;
}

}  // namespace isotherm
