// Trigonometric functions and their inverses, every result within 0.83 ulp (measured). No tables and no
// branches, so that a loop over a vector of numbers becomes vector instructions. The polynomials are minimax
// fits by Remez's algorithm (Muller, Elementary Functions, chapter 3) for the relative error of the whole
// function; that error is stated with each.
#pragma once

#include "kernels/math/pair.hpp"

namespace isotherm::math {

// x = quarter_turns pi/2 + angle, |angle| < pi/4 + 2^-22. Only the low bits of quarter_turns count.
struct ReducedAngle {
  Pair angle;
  std::uint64_t quarter_turns;
};

// Sine and cosine of one angle.
struct SineCosine {
  Pair sine, cosine;
};

// |x| <= 2^30. Subtracts k pi/2, where pi/2 is the sum of three doubles (Cody & Waite, Software Manual for
// the Elementary Functions, 1980; with fma: Boldo, Daumas & Li, IEEE Trans. Comput. 58, 2009). The three
// parts have an error of 2^-162, that is 2^-132 after k < 2^30, where no double comes closer to a multiple
// of pi/2 than 2^-62 (Muller, chapter 11): even then the relative error of the angle is about 2^-70.
ISOTHERM_HOST_DEVICE ReducedAngle reduced_angle(double x) {
  // Numbers near 1.5 * 2^52 have the last place 1: the sum is rounded to an integer, which its low bits hold.
  constexpr double shift = 0x1.8p52, two_over_pi = 0x1.45f306dc9c883p-1;
  const double shifted = fma(x, two_over_pi, shift), k = shifted - shift;

  // Exact: either k = 0, or |x| > 1/2 and x and the result, which is below 1, are both multiples of 2^-53.
  const double coarse = fma(-k, 0x1.921fb54442d18p+0, x);
  const Pair second = exact_product(k, 0x1.1a62633145c07p-54), difference = exact_sum(coarse, -second.high);
  const double low = fma(-k, -0x1.f1976b7ed8fbcp-110, difference.low - second.low);
  return {{difference.high, low}, std::bit_cast<std::uint64_t>(shifted)};
}

// Sine and cosine of x for |x| <= 2^30, relative error of each pair below 2^-54 (measured, by way of tan).
ISOTHERM_HOST_DEVICE SineCosine sine_cosine(double x) {
  const ReducedAngle reduced = reduced_angle(x);
  const double a = reduced.angle.high, low = reduced.angle.low;
  const Pair square = exact_product(a, a);
  const double half = 0.5 * square.high;

  // sin(a + low) = a + a^3 (-1/6 + ...) + low cos a, where cos a is close enough to 1 - a^2/2. Fit: 2^-63.
  const double cubic = polynomial(square.high, -0x1.5555555555555p-3, 0x1.1111111111068p-7,
                                  -0x1.a01a019ffe07ep-13, 0x1.71de3a332a4d4p-19, -0x1.ae642b9620127p-26,
                                  0x1.610937e1582c5p-33, -0x1.9fb5570dbf2dfp-41);
  const Pair sine = ordered_sum(a, fma(a * square.high, cubic, fma(-half, low, low)));

  // cos(a + low) = 1 - a^2/2 + a^4 (1/24 - ...) - low sin a, the first two terms exactly. Fit: 2^-59.
  const double quartic =
      polynomial(square.high, 0x1.555555555554bp-5, -0x1.6c16c16c14f91p-10, 0x1.a01a019c84452p-16,
                 -0x1.27e4f7eabb64ap-22, 0x1.1ee9d7ad94efep-29, -0x1.8fa495e9ef8c3p-37);
  const Pair parabola = ordered_sum(1.0, -half);
  const double small = fma(-a, low, fma(-0.5, square.low, parabola.low));
  const Pair cosine = ordered_sum(parabola.high, fma(square.high * square.high, quartic, small));

  // Each quarter turn replaces the sine by the cosine, and the cosine by minus the sine.
  const std::uint64_t k = reduced.quarter_turns;
  const bool odd = (k & 1) != 0;
  const auto with_sign_of = [](double value, std::uint64_t quarter_turns) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ (quarter_turns & 2) << 62);
  };
  return {{with_sign_of(select(odd, cosine.high, sine.high), k),
           with_sign_of(select(odd, cosine.low, sine.low), k)},
          {with_sign_of(select(odd, sine.high, cosine.high), k + 1),
           with_sign_of(select(odd, sine.low, cosine.low), k + 1)}};
}

// value where |x| <= 2^30, otherwise NaN.
ISOTHERM_HOST_DEVICE double within_range(double x, double value) {
  return select(::fabs(x) <= 0x1p30, value, std::bit_cast<double>(std::uint64_t{0x7ff8} << 48));
}

// sin x, cos x and tan x for |x| <= 2^30; NaN beyond, unlike the C library: k in reduced_angle() would need
// more bits. The reduction loses the sign of x = -0, so x = 0 is returned as it is.
ISOTHERM_HOST_DEVICE double sin(double x) {
  return within_range(x, select(x == 0.0, x, sine_cosine(x).sine.high));
}

ISOTHERM_HOST_DEVICE double cos(double x) { return within_range(x, sine_cosine(x).cosine.high); }

ISOTHERM_HOST_DEVICE double tan(double x) {
  const SineCosine of = sine_cosine(x);
  const double inverse = 1.0 / of.cosine.high, quotient = of.sine.high * inverse;
  // The remainder of the sine is divided in turn (long division).
  const double rest =
      fma(-quotient, of.cosine.high, of.sine.high) + fma(-quotient, of.cosine.low, of.sine.low);
  return within_range(x, select(x == 0.0, x, fma(rest, inverse, quotient)));
}

// The result of arc_sine(): the angle high + low, high >= 0.
struct ArcSine {
  bool direct;
  double high, low;
};

// asin|x| (direct) for |x| <= 1/2, otherwise asin(sqrt((1 - |x|)/2)), which is half of acos|x| (half-angle
// formula); NaN for |x| > 1 by the square root. GCC makes vector instructions of the root only with
// -fno-math-errno, which changes no result.
ISOTHERM_HOST_DEVICE ArcSine arc_sine(double x) {
  const double magnitude = ::fabs(x);
  const bool direct = magnitude <= 0.5;
  const double half_angle = 0.5 - 0.5 * magnitude;  // exact for |x| >= 1/2
  const double square = select(direct, x * x, half_angle), root = ::sqrt(half_angle);
  // The rounding error of the root, by a step of Newton's iteration; 2^-1000 only avoids 0 / 0.
  const double rest = fma(-root, root, half_angle) / fma(2.0, root, 0x1p-1000);
  const double sine = select(direct, magnitude, root);
  // asin s = s + s^3 (1/6 + ...), 0 <= s <= 1/2. Fit: 2^-59.
  const double cubic =
      polynomial(square, 0x1.5555555555577p-3, 0x1.333333332e103p-4, 0x1.6db6db72141dbp-5,
                 0x1.f1c71a9469487p-6, 0x1.6e8bdeed58505p-6, 0x1.1c49ef8d58e22p-6, 0x1.ca1f9ed7ddfcdp-7,
                 0x1.7585089d504ccp-7, 0x1.613f22129463fp-7, 0x1.e5d187a38cda3p-9, 0x1.63a69bf2a61d1p-6,
                 -0x1.580ae9ab2793bp-6, 0x1.0b4aae508b28bp-5);
  return {direct, sine, fma(sine * square, cubic, select(direct, 0.0, rest))};
}

constexpr double half_of_pi_high = 0x1.921fb54442d18p+0, half_of_pi_low = 0x1.1a62633145c07p-54;

// base + (high + low), where base.high = 0 or |base.high| >= |high|.
ISOTHERM_HOST_DEVICE double base_plus(Pair base, double high, double low) {
  const Pair sum = ordered_sum(base.high, high);
  return sum.high + (sum.low + (base.low + low));
}

ISOTHERM_HOST_DEVICE double asin(double x) {
  const ArcSine arc = arc_sine(x);
  const double base = select(arc.direct, 0.0, 1.0), factor = select(arc.direct, 1.0, -2.0);
  const Pair right_angle{base * half_of_pi_high, base * half_of_pi_low};
  return ::copysign(base_plus(right_angle, factor * arc.high, factor * arc.low), x);
}

// |x| <= 1/2: pi/2 - asin x; x > 1/2: twice the arc; x < -1/2: pi minus twice the arc.
ISOTHERM_HOST_DEVICE double acos(double x) {
  const ArcSine arc = arc_sine(x);
  const double right_angles = select(arc.direct, 1.0, select(x > 0.0, 0.0, 2.0));
  const double factor = select(arc.direct, ::copysign(1.0, -x), ::copysign(2.0, x));
  const Pair base{right_angles * half_of_pi_high, right_angles * half_of_pi_low};
  return base_plus(base, factor * arc.high, factor * arc.low);
}

// The angle in [0, pi] of the point (adjacent, opposite), or of (-adjacent, opposite) if `reflected`. Neither
// number is negative, the larger one is between 2^-500 and 2^700.
ISOTHERM_HOST_DEVICE double angle_of(double opposite, double adjacent, bool reflected) {
  // atan t = pi/4 + atan((t - 1)/(t + 1)) = pi/2 - atan(1/t), with t = opposite / adjacent: the remaining
  // quotient is at most 1/2. In the middle range the difference is exact (Sterbenz), the sum is not.
  const bool flat = opposite < 0.5 * adjacent;
  const bool steep = opposite > 2.0 * adjacent;
  const Pair sum = exact_sum(opposite, adjacent);
  const double numerator = select(flat, opposite, select(steep, -adjacent, opposite - adjacent));
  const double denominator = select(flat, adjacent, select(steep, opposite, sum.high));
  const double denominator_low = select(flat | steep, 0.0, sum.low);

  // The quotient to twice the precision of a double: the rest is divided in turn (long division).
  const double inverse = 1.0 / denominator, q = numerator * inverse, square = q * q;
  const double rest = fma(-q, denominator, numerator) - q * denominator_low;
  const double low = rest * inverse;

  // atan(q + low) = q + q^3 (-1/3 + ...) + low / (1 + q^2), |q| <= 1/2. Fit: 2^-57.
  const double cubic = polynomial(square, -0x1.5555555555516p-2, 0x1.999999999114fp-3, -0x1.249249215e1f2p-3,
                                  0x1.c71c7090fa35ep-4, -0x1.745cf4ccb2147p-4, 0x1.3b113dd58aef7p-4,
                                  -0x1.10f31fd492fdep-4, 0x1.dfe980657a1a1p-5, -0x1.a398874bf4dccp-5,
                                  0x1.56f6176f3b0fcp-5, -0x1.c180b5df733d3p-6, 0x1.4b85243d69a9bp-7);
  const double tail = fma(q * square, cubic, fma(fma(square, square, -square), low, low));

  // The angles to start from: 0, pi/4, pi/2, and reflected 3 pi/4 and pi.
  const double flat_high = select(reflected, 2.0 * half_of_pi_high, 0.0);
  const double middle_high = select(reflected, 0x1.2d97c7f3321d2p+1, 0.5 * half_of_pi_high);
  const double flat_low = select(reflected, 2.0 * half_of_pi_low, 0.0);
  const double middle_low = select(reflected, 0x1.a79394c9e8a0ap-54, 0.5 * half_of_pi_low);
  const Pair base{select(flat, flat_high, select(steep, half_of_pi_high, middle_high)),
                  select(flat, flat_low, select(steep, half_of_pi_low, middle_low))};
  return base_plus(base, select(reflected, -q, q), select(reflected, -tail, tail));
}

ISOTHERM_HOST_DEVICE double atan(double x) {
  // Limited, as infinity / infinity is not a number; atan 2^60 rounds to pi/2 already.
  const double magnitude = ::fabs(x);
  return ::copysign(angle_of(select(magnitude > 0x1p60, 0x1p60, magnitude), 1.0, false), x);
}

// The angle of the point (x, y) in [-pi, pi], with the special cases of C: the signs of zeros count, an
// infinite coordinate is one far larger than all finite ones, and two infinite ones are equal.
ISOTHERM_HOST_DEVICE double atan2(double y, double x) {
  const double width = ::fabs(x), height = ::fabs(y), larger = select(width > height, width, height);
  const double scale = select(larger > 0x1p500, 0x1p-600, select(larger < 0x1p-500, 0x1p600, 1.0));
  const double wide = width * scale, high = height * scale;
  // Both zero: (1, 0) has the angle of (0, 0).
  const double adjacent =
      select((width == 0.0) & (height == 0.0), 1.0, select(wide > 0x1p700, 0x1p700, wide));
  const double opposite = select(high > 0x1p700, 0x1p700, high);
  const bool reflected = (std::bit_cast<std::uint64_t>(x) >> 63) != 0;
  const double angle = angle_of(opposite, adjacent, reflected);
  // Small quotients are their own arc tangents; rounded once only, even if subnormal.
  const double quotient = height / width;
  return ::copysign(select(!reflected & (quotient < 0x1p-30), quotient, angle), y);
}

}  // namespace isotherm::math
