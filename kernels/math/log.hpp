// Logarithms, powers and the cube root: only + - * / and fma, no tables, no branches, so that the compiler
// can vectorise a loop that calls them. The polynomials are minimax (Remez's algorithm in 90 digits,
// coefficients rounded to double). Errors, measured with MPFR (tests/kernels/test_math.cpp), are in ulp:
// units in the last place of the exact result.
#pragma once

#include <limits>

#include "kernels/math/exp.hpp"
#include "kernels/math/pair.hpp"

namespace isotherm::math {

// Arithmetic of Pairs with a relative error of about 2^-102 (Dekker 1971). The sum needs |a| >= |b|.
ISOTHERM_HOST_DEVICE Pair pair_sum(Pair a, Pair b) {
  const Pair sum = ordered_sum(a.high, b.high);
  return ordered_sum(sum.high, sum.low + (a.low + b.low));
}
ISOTHERM_HOST_DEVICE Pair pair_product(Pair a, Pair b) {
  const Pair product = exact_product(a.high, b.high);
  return {product.high, product.low + fma(a.high, b.low, a.low * b.high)};
}

// The bits of x > 0, times 2^54 if x is subnormal, that is, if its bits minus those of 2^-1022 are negative.
// The test is in integers: for a comparison of x GCC makes a jump around the product, and cannot vectorise.
struct NormalBits {
  std::uint64_t bits, subnormal;  // subnormal: 1 or 0
};
ISOTHERM_HOST_DEVICE NormalBits normal_bits(double x) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x), subnormal = (bits - 0x10000000000000) >> 63;
  const double factor = std::bit_cast<double>((1023 + 54 * subnormal) << 52);
  return {std::bit_cast<std::uint64_t>(x * factor), subnormal};
}

// An integer, |integer| < 2^51 (negative: modulo 2^64), as a double. AVX2 has no conversion from 64 bits, but
// the last place of numbers near 1.5 * 2^52 is 1.
ISOTHERM_HOST_DEVICE double small_integer(std::uint64_t integer) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(0x1.8p52) + integer) - 0x1.8p52;
}

// The argument x > 0 of a logarithm, split as x = 2^exponent m with sqrt(1/2) <= m < sqrt(2), so that x near
// 1 has the exponent 0 and loses no digits. ratio = (m - 1) / ((m + 1) / 2), |ratio| <= 0.3432, to 100 bits.
struct LogArgument {
  double exponent;
  Pair ratio;
};
ISOTHERM_HOST_DEVICE LogArgument log_argument(double x) {
  const auto [bits, subnormal] = normal_bits(x);

  // The difference of the bits of 1 and sqrt(1/2), added, carries into the exponent where m must be halved.
  constexpr std::uint64_t one = 0x3ff0000000000000, sqrt_half = 0x3fe6a09e667f3bcd;
  const std::uint64_t shifted = bits + (one - sqrt_half);
  const double m = std::bit_cast<double>((shifted & 0xfffffffffffff) + sqrt_half);
  const double exponent = small_integer((shifted >> 52) - 1023 - 54 * subnormal);

  const double difference = m - 1.0;            // exact (Sterbenz)
  const Pair mean = ordered_sum(0.5, 0.5 * m);  // exact: |m/2| is below 1/2 or has the same exponent
  // The quotient by the high part of the mean; then the remainder is divided too (long division).
  const double inverse = 1.0 / mean.high, quotient = difference * inverse;
  const double remainder = fma(-quotient, mean.low, fma(-quotient, mean.high, difference));
  return {exponent, {quotient, remainder * inverse}};
}

// With s the ratio above, log m = 2 artanh(s/2) = s + s z/12 + s z^2/80 + s z^3 q(z), z = s^2, |z| < 0.1178.
// q by Remez's algorithm, weighted with z^3: its part of log m is within 2^-72.
ISOTHERM_HOST_DEVICE double log_series(double z) {
  return polynomial(z, 0x1.24924924927ccp-9, 0x1.c71c71c65a44ep-12, 0x1.745d17d73f5f4p-14,
                    0x1.3b13783f5742dp-16, 0x1.111dcc8a1dfc2p-18, 0x1.de9ed7a8c2a63p-21,
                    0x1.e7dcf5514219bp-23);
}

// log m = high + low within 2^-58 of it: s, and the rest in one double, as it is below s / 100.
ISOTHERM_HOST_DEVICE Pair log_of_ratio(Pair s) {
  const double z = s.high * s.high;
  const double rest = fma(z, fma(z, log_series(z), 0x1.999999999999ap-7), 0x1.5555555555555p-4);
  return {s.high, fma(s.high * z, rest, s.low)};
}

// ln 2: 42 bits, so that the product with an exponent is exact, and the next 53.
constexpr Pair ln2 = {0x1.62e42fefa3800p-1, 0x1.ef35793c76730p-45};

// The formulas below give some finite number for any x. This value, 0 for positive finite x, is added to get
// the result that the C standard demands. (A choice among results would make GCC jump around the formulas,
// see `select`.)
ISOTHERM_HOST_DEVICE double log_special(double x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double large = x < infinity ? 0.0 : x;  // infinity and NaN
  const double zero = x == 0.0 ? -infinity : large;
  return x < 0.0 ? std::numeric_limits<double>::quiet_NaN() : zero;
}

// The natural logarithm. 0.56 ulp.
ISOTHERM_HOST_DEVICE double log(double x) {
  const LogArgument argument = log_argument(x);
  const Pair log_m = log_of_ratio(argument.ratio);
  // Ordered, because |exponent ln 2| is at least twice |log m| unless the exponent is 0.
  const Pair sum = ordered_sum(argument.exponent * ln2.high, log_m.high);
  return sum.high + (sum.low + fma(argument.exponent, ln2.low, log_m.low)) + log_special(x);
}

// The logarithm in another base, exponent log 2 + (ln m) (log e), where log 2 and log e are in that base. The
// high part of log 2 has at most 42 bits, as ln 2 above.
ISOTHERM_HOST_DEVICE double log_in_base(double x, Pair log_2, Pair log_e) {
  const LogArgument argument = log_argument(x);
  const Pair log_m = pair_product(log_of_ratio(argument.ratio), log_e);
  const Pair sum = ordered_sum(argument.exponent * log_2.high, log_m.high);
  return sum.high + (sum.low + fma(argument.exponent, log_2.low, log_m.low)) + log_special(x);
}
// 0.59 ulp, integers exact.
ISOTHERM_HOST_DEVICE double log2(double x) {
  return log_in_base(x, {1.0, 0.0}, {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56});
}
// 0.56 ulp, integers exact.
ISOTHERM_HOST_DEVICE double log10(double x) {
  return log_in_base(x, {0x1.34413509f7800p-2, 0x1.fef311f12b358p-46},
                     {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57});
}

// ln x for positive finite x, relative error below 2^-70: the terms up to s z^2/80 as Pairs. For 0 and
// infinity it is ln of 2^-1077 and 2^1024, which their bits represent; for NaN some number.
ISOTHERM_HOST_DEVICE Pair log_pair(double x) {
  const LogArgument argument = log_argument(x);
  const Pair s = argument.ratio, z = pair_product(s, s);
  constexpr Pair twelfth = {0x1.5555555555555p-4, 0x1.5555555555555p-58};
  constexpr Pair eightieth = {0x1.999999999999ap-7, -0x1.999999999999ap-61};
  const Pair inner = pair_sum(eightieth, pair_product(z, {log_series(z.high), 0.0}));
  const Pair outer = pair_sum(twelfth, pair_product(z, inner));
  const Pair log_m = pair_sum(s, pair_product(s, pair_product(z, outer)));
  return pair_sum({argument.exponent * ln2.high, argument.exponent * ln2.low}, log_m);
}

// Whether x >= 0 is an integer. All numbers from 2^52 on are; a smaller one plus 2^52 is rounded to one.
ISOTHERM_HOST_DEVICE bool is_integer(double x) { return ((x + 0x1p52) - 0x1p52 == x) | (x >= 0x1p52); }

// x^y = e^(y ln x). The relative error of x^y is the absolute one of y ln x, below 745 * 2^-70 where the
// result is finite. Thus it is within 0.02 ulp before it is rounded, and exact if a double is (the square of
// an integer, the root of a square ...). 0.53 ulp; subnormal results, which are rounded twice, 0.78 ulp.
ISOTHERM_HOST_DEVICE double pow(double x, double y) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // With an exponent of 2^65 every base but 1 gives 0 or infinity; a larger one might overflow the product.
  // It also replaces any exponent but 0 of 0 and infinity, which log_pair treats as 2^-1077 and 2^1024.
  const double magnitude = ::fabs(y), base = ::fabs(x);
  const bool limitless = ((base == 0.0) | (base == infinity)) & (y != 0.0);
  const double exponent = ::copysign(select((magnitude < 0x1p65) & !limitless, magnitude, 0x1p65), y);

  const Pair log_base = log_pair(base), product = exact_product(exponent, log_base.high);
  const Pair power_log = ordered_sum(product.high, fma(exponent, log_base.low, product.low));
  const double power = exp_of_sum(power_log.high, power_log.low);

  // The sign and the NaNs of the C standard (Annex F).
  const bool integer = is_integer(magnitude), odd = integer & !is_integer(0.5 * magnitude);
  const bool negative = (x < 0.0) & (x > -infinity);
  const bool undefined = ((x != x) | (y != y) | (negative & !integer)) & (x != 1.0) & (y != 0.0);
  const double signed_power = ::copysign(power, select(odd, x, 1.0));
  return select(undefined, std::numeric_limits<double>::quiet_NaN(), signed_power);
}

// The cube root. 0.5001 ulp. |x| = 2^(3 third + remainder) m with 1 <= m < 2, and cbrt |x| = 2^third cbrt a
// with a = 2^remainder m.
ISOTHERM_HOST_DEVICE double cbrt(double x) {
  const double magnitude = ::fabs(x);
  const auto [bits, subnormal] = normal_bits(magnitude);
  const std::uint64_t m_bits = (bits & 0xfffffffffffff) | 0x3ff0000000000000, exponent = bits >> 52;

  // exponent is that of |x| plus 1023. A third of it, rounded down, is a third of exponent - 1, rounded to
  // the nearest integer, by the sum with 1.5 * 2^52.
  const double shifted = fma(small_integer(exponent - 1), 0x1.5555555555555p-2, 0x1.8p52);
  const std::uint64_t third = std::bit_cast<std::uint64_t>(shifted) - std::bit_cast<std::uint64_t>(0x1.8p52);
  const std::uint64_t remainder = exponent - 3 * third;
  const double m = std::bit_cast<double>(m_bits), a = std::bit_cast<double>(m_bits + (remainder << 52));

  // a^(-1/3) is, within 2^-14.6, a polynomial in m times the parabola through the points (remainder,
  // 2^(-remainder/3)). Exactly it is guess (1 - h)^(-1/3) with h = 1 - a guess^3, a binomial series of which
  // h^4 is below 2^-54.
  const double guess = polynomial(m, 1.67000715, -1.172881343, 0.6954837788, -0.2212383609, 0.02859110816) *
                       polynomial(small_integer(remainder), 1.0, -0.2275792105866, 0.0212797365707);
  const double h = fma(-a * guess, guess * guess, 1.0);
  const double y = fma(guess * h, polynomial(h, 1.0 / 3.0, 2.0 / 9.0, 14.0 / 81.0), guess);

  // root = a y^2 is within some ulp. A step of Newton's method, with a - root^3 in twice the precision.
  const double root = a * y * y;
  const Pair square = exact_product(root, root);
  const double defect = fma(-square.low, root, fma(-square.high, root, a));
  const double result = fma(defect, y * y * (1.0 / 3.0), root);

  // 2^third: exponent is too large by 1023, a third of which is 341, and by 54 = 3 * 18 more if |x| is
  // subnormal. 0, infinity and NaN are factors themselves.
  const double power = std::bit_cast<double>((third + 1023 - 341 - 18 * subnormal) << 52);
  const bool usual = (magnitude > 0.0) & (magnitude < std::numeric_limits<double>::infinity());
  return ::copysign(result, x) * select(usual, power, magnitude);
}

}  // namespace isotherm::math
