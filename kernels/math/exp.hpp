// The exponential function and its relatives. No tables: one polynomial on a short interval and selections
// instead of branches, so that the compiler can turn a loop over an array into vector instructions.
// The polynomials are minimax ones: Remez's algorithm in 60 digits, coefficients rounded to double.
// Errors are measured ones, with MPFR: see tests/kernels/test_math.cpp.
#pragma once

#include "kernels/math/pair.hpp"

namespace isotherm::math {

// (mantissa.high + mantissa.low) 2^(exponent - 2046). The bias is twice that of a double: see `scaled`.
struct ScaledPair {
  Pair mantissa;
  std::uint64_t exponent;
};

// value 2^(exponent - 2046) for exponents 2 ... 4092. The power of two may be beyond the range of a double,
// so it is split into two factors with about half the exponent each: the first product is exact, the second
// one overflows to infinity or is rounded to a subnormal number as it should.
ISOTHERM_HOST_DEVICE double scaled(double value, std::uint64_t exponent) {
  const std::uint64_t half = exponent >> 1;
  return value * std::bit_cast<double>(half << 52) * std::bit_cast<double>((exponent - half) << 52);
}

// e^(high + low), where |low| is at most a unit in the last place of high; relative error below 2^-58.
// Cody and Waite's method (Software Manual for the Elementary Functions, 1980): with k the integer nearest
// to high / ln 2, it is 2^k e^r for r = high + low - k ln 2, |r| < 0.3467. The mantissa is in (0.70, 1.42).
ISOTHERM_HOST_DEVICE ScaledPair scaled_exp(double high, double low) {
  // Beyond the limits e^high / 2 overflows or e^high vanishes; NaN is kept. low has no meaning (is NaN,
  // perhaps) where high is infinite.
  const double limited = select(high > 711.0, 711.0, select(high < -746.0, -746.0, high));
  low = select(limited == high, low, 0.0);

  // The last place of a number near 1.5 * 2^52 is 1: the sum is rounded to an integer, and its low bits hold
  // k + 2046.
  constexpr double shift = 0x1.8p52 + 2046.0;
  const double shifted = fma(limited, 0x1.71547652b82fep0, shift), k = shifted - shift;

  // ln 2 as a sum of two numbers. The first fma is exact: its result is a multiple of 2^-54 and below 1/2.
  const double coarse = fma(-k, 0x1.62e42fefa39efp-1, limited);
  const Pair r = ordered_sum(coarse, fma(-k, 0x1.abc9e3b39803fp-56, low));

  // e^r = 1 + r + r^2/2 + r^3/2 q(r), the first three terms without error; that of the last is below 2^-60.
  const double q =
      polynomial(r.high, 0x1.555555555555bp-2, 0x1.555555555555ap-4, 0x1.111111110ebe3p-6,
                 0x1.6c16c16c1414dp-9, 0x1.a01a01b3ad9acp-12, 0x1.a01a01b2001d9p-15, 0x1.71ddefaca1b57p-18,
                 0x1.27e4c2bc8a2b8p-21, 0x1.af6cacd18c8c3p-25, 0x1.1f99c59118f83p-28);
  const Pair square = exact_product(0.5 * r.high, r.high);
  const Pair line = ordered_sum(1.0, r.high), parabola = ordered_sum(line.high, square.high);
  const double cubic = fma(r.high * square.high, q, square.low);
  const double rest = fma(parabola.high, r.low, cubic) + (line.low + parabola.low);
  return {ordered_sum(parabola.high, rest), std::bit_cast<std::uint64_t>(shifted) & 0xfff};
}

// e^(high + low), where |low| is at most a unit in the last place of high. 0.52 ulp; subnormal results, which
// are rounded twice, 0.76 ulp.
ISOTHERM_HOST_DEVICE double exp_of_sum(double high, double low) {
  const ScaledPair result = scaled_exp(high, low);
  return scaled(result.mantissa.high, result.exponent);
}

// e^x. 0.52 ulp; subnormal results 0.76 ulp.
ISOTHERM_HOST_DEVICE double exp(double x) { return exp_of_sum(x, 0.0); }

// (e^x + sign e^-x) / 2 for x >= 0 and sign = 1 or -1.
ISOTHERM_HOST_DEVICE double half_sum_of_exp(double x, double sign) {
  // e^x = 2^k (high + low), e^-x = 2^k * 2^-2k / (high + low), which is below 2^-61 of e^x if x > 22.
  const ScaledPair growing = scaled_exp(x, 0.0);
  const auto [high, low] = growing.mantissa;
  const double reciprocal = std::bit_cast<double>((1023 + 2046 - growing.exponent) << 52);  // 2^-k
  const double power = select(x > 22.0, 0.0, reciprocal);
  const double factor = sign * power * power;
  // 1 / (high + low), its second half by a step of Newton's method.
  const double inverse = 1.0 / high, inverse_low = inverse * (fma(-inverse, high, 1.0) - inverse * low);
  const Pair sum = ordered_sum(high, factor * inverse);
  return scaled(sum.high + (sum.low + fma(factor, inverse_low, low)), growing.exponent - 1);
}

// 0.53 ulp.
ISOTHERM_HOST_DEVICE double cosh(double x) { return half_sum_of_exp(::fabs(x), 1.0); }

// Half the difference of e^x and e^-x; for small |x|, where that cancels, x + x^3 p(x^2). 0.56 ulp.
ISOTHERM_HOST_DEVICE double sinh(double x) {
  const double size = ::fabs(x), square = x * x;
  const double p = polynomial(square, 0x1.5555555555555p-3, 0x1.1111111111119p-7, 0x1.a01a01a0154a4p-13,
                              0x1.71de3a6b5a131p-19, 0x1.ae63ef6a52873p-26, 0x1.6212b26c6c7c7p-33);
  const double small = fma(size * square, p, size), large = half_sum_of_exp(size, -1.0);
  return ::copysign(select(size < 0.4, small, large), x);
}

// 1 - 2u / (1 + u) with u = e^-2|x|, or x + x^3 p(x^2) for small |x|. 0.56 ulp.
ISOTHERM_HOST_DEVICE double tanh(double x) {
  const double size = ::fabs(x), square = x * x;
  const double p = polynomial(square, -0x1.5555555555553p-2, 0x1.1111111110b89p-3, -0x1.ba1ba1b97ecd8p-5,
                              0x1.664f483e9778fp-6, -0x1.226e249603689p-7, 0x1.d6cecfea7e5bfp-9,
                              -0x1.7d2d378ea9a8ap-10, 0x1.2eb6aaa8a6390p-11, -0x1.89ba124cb73fdp-13);
  const double small = fma(size * square, p, size);

  const ScaledPair falling = scaled_exp(-2.0 * select(size > 22.0, 22.0, size), 0.0);  // tanh 22 = 1 - 2^-62
  const double power = std::bit_cast<double>((falling.exponent - 1023) << 52);
  const Pair u = {power * falling.mantissa.high, power * falling.mantissa.low};
  const Pair sum = ordered_sum(1.0, u.high);
  const double inverse = 1.0 / sum.high, quotient = 2.0 * u.high * inverse;
  const double low = 2.0 * u.low - quotient * (sum.low + u.low);
  const double remainder = fma(-quotient, sum.high, 2.0 * u.high) + low;
  const Pair result = ordered_sum(1.0, -quotient);
  const double large = result.high + (result.low - inverse * remainder);
  return ::copysign(select(size < 0.35, small, large), x);
}

// x + x p(x^2) for small |x|; 1 - e^(-x^2) q for others, where q = e^(x^2) erfc x is smooth: a polynomial of
// z = (|x| - 1) / (|x| + 3), less accurate where e^(-x^2) is smaller. The coefficients were rounded one by
// one, from the first, and the others fitted again each time. 0.81 ulp.
ISOTHERM_HOST_DEVICE double erf(double x) {
  const double size = ::fabs(x);
  const double p = polynomial(size * size, 0x1.06eba8214db69p-3, -0x1.812746b037a01p-2, 0x1.ce2f21a043a09p-4,
                              -0x1.b82ce312c0870p-6, 0x1.565bcd15efc7ep-8, -0x1.c02db534dd635p-11,
                              0x1.f9a3453e41f70p-14, -0x1.f4d41deb9915fp-17, 0x1.b9f350c46ba88p-20,
                              -0x1.5f5b37ecc95d9p-23, 0x1.f31e134edc487p-27, -0x1.0930964682958p-30);
  const double small = fma(size, p, size);

  const double limited = select(size > 6.0, 6.0, size);  // erf 6 = 1 - 2^-55
  const double z = (limited - 1.0) / (limited + 3.0);
  const double q =
      polynomial(z, 0x1.b5d8780f956b2p-2, -0x1.17c4e3f17c053p+0, 0x1.60896c86e993ap+0, -0x1.39364124cb12bp+0,
                 0x1.72a5350ca41b1p-1, -0x1.caa4a2b664edep-3, -0x1.6e88f89519e48p-6, 0x1.5d507b0680b68p-5,
                 -0x1.1d593da43813dp-9, -0x1.12bec40fe8b75p-7, 0x1.4125eb9b86967p-13, 0x1.4bbb14a3352ecp-9,
                 -0x1.5c1f593182b55p-11);
  const Pair square = exact_product(limited, limited);
  const double large = fma(-exp_of_sum(-square.high, -square.low), q, 1.0);
  return ::copysign(select(size < 0.84, small, large), x);
}

}  // namespace isotherm::math
