// Division of a 64-bit index by a number that is known before the launch: a multiplication and a shift, where
// a GPU has no instruction for a 64-bit division and takes some seventy.
#pragma once

#include <bit>
#include <cstdint>

#include "core/box.hpp"

namespace isotherm::cuda {

// With l = ceil(log2 d) and m = ceil(2^(63+l) / d), floor(n / d) = floor(m n / 2^(63+l)) for all 0 <= n <
// 2^63 (Granlund and Montgomery, Division by Invariant Integers using Multiplication, PLDI 1994,
// theorem 4.2).
class FastDivide {
 public:
  explicit FastDivide(Index divisor) {  // >= 1
    const auto d = static_cast<std::uint64_t>(divisor);
    if (d == 1) return;
    const int log2 = std::bit_width(d - 1);
    multiplier_ =
        static_cast<std::uint64_t>(((static_cast<unsigned __int128>(1) << (63 + log2)) + d - 1) / d);
    shift_ = log2 - 1;
  }

  ISOTHERM_HOST_DEVICE Index operator()(Index n) const {
    if (multiplier_ == 0) return n;
    const auto product = static_cast<unsigned __int128>(multiplier_) * static_cast<std::uint64_t>(n);
    return static_cast<Index>(static_cast<std::uint64_t>(product >> 64) >> shift_);
  }

 private:
  std::uint64_t multiplier_ = 0;  // 0: divide by one
  int shift_ = 0;
};

}  // namespace isotherm::cuda
