// Sums of doubles that no order of addition changes: integers carry them. This file alone says how.
//
// Every summand is multiplied by one power of two, such that the largest magnitude of all is below 2^22, and
// cut into three digits to the base 2^22, which are added up as integers (the idea of Kulisch's long
// accumulator, as short as a field of one physical quantity needs it: Kulisch, Computer Arithmetic and
// Validity, de Gruyter 2008, chapter 8). What lies more than 2^-66 below the largest magnitude is rounded; a
// double within a factor of 2^13 of it enters whole. Right for up to 2^40 summands over all ranks.
#pragma once

#include <cstdint>

#include "core/host_device.hpp"

namespace isotherm {

struct ExactSum {
  static constexpr int digit_bits = 22;
  std::int64_t digit[3];  // the first is the highest; each has room for the sum of 2^40

  ISOTHERM_HOST_DEVICE static ExactSum none() { return {{0, 0, 0}}; }
  // |scaled| <= 2^22: the summand times exact_scale() of all summands.
  ISOTHERM_HOST_DEVICE void add(double scaled) {
    constexpr double to_integer = 6755399441055744.0;  // 1.5 2^52: a sum with it has no place for a fraction
    constexpr double base = 4194304.0;                 // 2^22
    for (int i = 0; i < 3; ++i) {
      const double whole = (scaled + to_integer) - to_integer;
      digit[i] += static_cast<std::int64_t>(whole);
      scaled = (scaled - whole) * base;  // exact
    }
  }
  ISOTHERM_HOST_DEVICE void join(const ExactSum& other) {
    for (int i = 0; i < 3; ++i) digit[i] += other.digit[i];
  }
};

// The power of two by which summands up to this magnitude (finite, over all ranks) are multiplied.
double exact_scale(double largest_magnitude);
// The sum, or a difference of two sums of one scale, rounded to a double once.
double exact_value(const ExactSum& sum, double scale);
ExactSum exact_difference(ExactSum a, const ExactSum& b);

}  // namespace isotherm
