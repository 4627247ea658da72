// A number as the sum of two doubles, the second below half a unit in the last place of the first: about 106
// bits (Dekker, Numer. Math. 18, 1971). For steps of an elementary function that need more than the precision
// of a double. Every operation is one of IEEE 754: the same bits everywhere.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/host_device.hpp"

namespace isotherm::math {

ISOTHERM_HOST_DEVICE double fma(double a, double b, double c) { return ::fma(a, b, c); }

struct Pair {
  double high, low;
};

// Exact: a + b, where |a| >= |b|; a + b; a * b.
ISOTHERM_HOST_DEVICE Pair ordered_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
ISOTHERM_HOST_DEVICE Pair exact_sum(double a, double b) {
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
ISOTHERM_HOST_DEVICE Pair exact_product(double a, double b) {
  const double product = a * b;
  return {product, fma(a, b, -product)};
}

// condition ? yes : no, by bits. For `?:` the compiler may move the computation of one of the two into a
// branch. As floating-point operations may trap, it then cannot vectorise the loop.
ISOTHERM_HOST_DEVICE double select(bool condition, double yes, double no) {
  const std::uint64_t mask = -std::uint64_t{condition};
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(yes) & mask) |
                               (std::bit_cast<std::uint64_t>(no) & ~mask));
}

// first + rest[0] x + rest[1] x^2 + ... by Horner's rule.
ISOTHERM_HOST_DEVICE double polynomial(double, double last) { return last; }
template <class... Rest>
ISOTHERM_HOST_DEVICE double polynomial(double x, double first, Rest... rest) {
  return fma(x, polynomial(x, rest...), first);
}

}  // namespace isotherm::math
