// The exact sum of fp64 values: a fixed-point number so long that every double is a whole multiple of its
// unit. Integers add in any order and in any grouping, so a sum of the same values has the same words on any
// number of threads, ranks and GPUs, and it is rounded once, at its end.
//
// U. Kulisch, "Computer Arithmetic and Validity" (de Gruyter, 2nd ed. 2013), chapter 8; as integer digits
// with room for carries: S. Collange, D. Defour, S. Graillat, R. Iakymchuk, "Numerical reproducibility for
// the parallel reduction on multi- and many-core architectures", Parallel Computing 49 (2015).
#pragma once

#include <cstdint>

#include "core/host_device.hpp"

namespace isotherm {

// word[i], 0 <= i < digits, counts units of 2^(32 i - 1074), the least subnormal at i = 0; the words after
// these count NaNs and infinities. Zero is all words zero. Words of several accumulators may be added one by
// one, as int64, in any order.
//
// Bounds: an addition changes a digit by less than 2^32, so up to 2^30 of them are allowed between two calls
// of normalise(), which puts digits into [0, 2^32) (the last has the sign and the rest): 2^30 normalised
// accumulators may be added up or subtracted. The last digit holds sums of 2^63 of the largest doubles.
struct LongAccumulator {
  static constexpr int digits = 67;
  static constexpr int nans = digits, infinities = digits + 1, negative_infinities = digits + 2;
  static constexpr int words = digits + 3;

  std::int64_t word[words];

  // The addition of one value adds by[i] to word[first + i].
  struct Addend {
    int first;
    std::int64_t by[3];
  };
  ISOTHERM_HOST_DEVICE static Addend addend_of(double value) {
    const auto bits = __builtin_bit_cast(std::uint64_t, value);
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
    const bool negative = bits >> 63 != 0;
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    if (exponent == 0x7ff) {
      if (fraction != 0) return {nans, {1, 0, 0}};
      return {nans, {0, !negative, negative}};
    }
    const std::uint64_t mantissa = exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52;
    const int shift = exponent == 0 ? 0 : exponent - 1;  // value = +-mantissa 2^(shift - 1074)
    const int within = shift % 32;
    const std::uint64_t low = mantissa << within;
    // The bits shifted out of `low`. Two shifts, because a shift by 64 is undefined.
    const std::uint64_t high = mantissa >> 1 >> (63 - within);
    const auto sign = [negative](std::uint64_t digit) {
      return negative ? -static_cast<std::int64_t>(digit) : static_cast<std::int64_t>(digit);
    };
    return {shift / 32, {sign(low & 0xffffffffu), sign(low >> 32), sign(high)}};
  }

  ISOTHERM_HOST_DEVICE void add(double value) {
    const Addend addend = addend_of(value);
    for (int i = 0; i < 3; ++i) word[addend.first + i] += addend.by[i];
  }
  ISOTHERM_HOST_DEVICE void add(const LongAccumulator& other) {
    for (int i = 0; i < words; ++i) word[i] += other.word[i];
  }

  // Subtracts exactly, as if the other's values were added with the opposite sign: infinities change sign,
  // NaNs stay.
  ISOTHERM_HOST_DEVICE void subtract(const LongAccumulator& other) {
    for (int i = 0; i < digits; ++i) word[i] -= other.word[i];
    word[nans] += other.word[nans];
    word[infinities] += other.word[negative_infinities];
    word[negative_infinities] += other.word[infinities];
  }
  // Whether all values that were added are finite. Their sum may still exceed every double.
  ISOTHERM_HOST_DEVICE bool all_finite() const {
    return word[nans] == 0 && word[infinities] == 0 && word[negative_infinities] == 0;
  }

  // Carries the excess of each digit into the next one. Equal sums then have equal words.
  ISOTHERM_HOST_DEVICE void normalise() {
    for (int i = 0; i + 1 < digits; ++i) {
      const std::int64_t carry = word[i] >> 32;  // rounds down: the digit stays positive
      word[i] &= 0xffffffff;
      word[i + 1] += carry;
    }
  }

  // Rounds to the nearest double, ties to even; infinite beyond the range of doubles. The sum of nothing, or
  // of zeros of either sign, is +0. Infinities of both signs give NaN, as does a NaN.
  ISOTHERM_HOST_DEVICE double rounded() const {
    if (word[nans] != 0 || (word[infinities] != 0 && word[negative_infinities] != 0))
      return from_bits(nan_bits);
    if (word[infinities] != 0) return from_bits(infinity_bits);
    if (word[negative_infinities] != 0) return from_bits(sign_bit | infinity_bits);
    LongAccumulator sum = *this;
    sum.normalise();
    const bool negative = sum.word[digits - 1] < 0;
    if (negative) {
      for (int i = 0; i < digits; ++i) sum.word[i] = -sum.word[i];
      sum.normalise();
    }
    return from_bits((negative ? sign_bit : 0) | sum.magnitude_bits());
  }

 private:
  static constexpr std::uint64_t sign_bit = std::uint64_t{1} << 63;
  static constexpr std::uint64_t infinity_bits = std::uint64_t{0x7ff} << 52;
  static constexpr std::uint64_t nan_bits = infinity_bits | std::uint64_t{1} << 51;

  ISOTHERM_HOST_DEVICE static double from_bits(std::uint64_t bits) {
    return __builtin_bit_cast(double, bits);
  }

  // The 64 bits from bit `first` on of a normalised sum that is not negative; bits below 0 are zeros.
  ISOTHERM_HOST_DEVICE std::uint64_t bits_from(int first) const {
    std::uint64_t bits = 0;
    for (int i = first < 0 ? 0 : first / 32; i < digits && 32 * i < first + 64; ++i) {
      const auto digit = static_cast<std::uint64_t>(word[i]);
      const int to = 32 * i - first;
      bits |= to >= 0 ? digit << to : digit >> -to;
    }
    return bits;
  }

  // The rounded bits of a normalised sum that is not negative. With the leading bit at position p, the last
  // bit of a double is p - 52, or 0 for the subnormal ones. Exponent and mantissa form one integer: rounding
  // up carries from the mantissa into the exponent.
  ISOTHERM_HOST_DEVICE std::uint64_t magnitude_bits() const {
    int top = digits - 1;
    while (top > 0 && word[top] == 0) --top;
    int leading = 0;
    while (leading < 63 && word[top] >> (leading + 1) != 0) ++leading;
    const int last = 32 * top + leading - 52;
    if (last <= 0) return bits_from(0);  // exact
    if (last >= 0x7fe) return infinity_bits;
    const std::uint64_t mantissa = bits_from(last) & ((std::uint64_t{1} << 53) - 1);
    const std::uint64_t bits = (static_cast<std::uint64_t>(last) << 52) + mantissa;
    const bool half = (bits_from(last - 1) & 1) != 0;
    if (!half) return bits;
    bool beyond_half =
        (last - 1) % 32 != 0 && (word[(last - 1) / 32] & ((std::int64_t{1} << ((last - 1) % 32)) - 1)) != 0;
    for (int i = 0; i < (last - 1) / 32; ++i) beyond_half |= word[i] != 0;
    return bits + (beyond_half || (mantissa & 1) != 0);
  }
};

static_assert(sizeof(LongAccumulator) == LongAccumulator::words * sizeof(std::int64_t));

}  // namespace isotherm
