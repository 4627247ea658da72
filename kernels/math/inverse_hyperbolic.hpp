// asinh, acosh and atanh by logarithms, to 3 units in the last place.
#pragma once

#include "kernels/math/log.hpp"

namespace isotherm::math {

// log(1 + u), u > -1, corrected for the rounding error of 1 + u.
ISOTHERM_HOST_DEVICE double log_of_one_and(double u) {
  const double sum = 1 + u, lost = u - (sum - 1);
  const double value = log(sum) + (u < 1e300 ? lost / sum : 0);
  return sum == 1 ? u : value;
}

inline constexpr double far_out = 0x1p500;  // from here on x^2 + 1 rounds to x^2, which soon overflows

ISOTHERM_HOST_DEVICE double asinh(double x) {
  const double a = ::fabs(x);
  const double near = log_of_one_and(a + a * a / (1 + ::sqrt(a * a + 1))),
               far = log(a) + 0x1.62e42fefa39efp-1;
  return ::copysign(a < far_out ? near : far, x);
}

ISOTHERM_HOST_DEVICE double acosh(double x) {
  const double above = x - 1;
  const double near = log_of_one_and(above + ::sqrt(above * (x + 1))), far = log(x) + 0x1.62e42fefa39efp-1;
  return x < far_out ? near : far;
}

ISOTHERM_HOST_DEVICE double atanh(double x) {
  const double a = ::fabs(x);
  return ::copysign(0.5 * log_of_one_and(2 * a / (1 - a)), x);
}

}  // namespace isotherm::math
