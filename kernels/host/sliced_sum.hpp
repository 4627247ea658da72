// Sums of one thread's values that are rounded only once, at the end. For files of one instruction set.
//
// Adding a double to an accumulator takes some twenty instructions. So a batch of values is cut into slices
// first: with a power of two M well above their sum, (M + x) - M is x rounded to a fixed grid, exactly, and x
// minus that is exact too. The upper parts are on one grid and add up without rounding, in vectors. The
// rests, 2^42 times smaller, are cut again until all are zero. Two or three slices are enough for most
// fields, with one addition to the accumulator each for 2048 values. (S. M. Rump, T. Ogita, S. Oishi, SIAM J.
// Sci. Comput. 31 (2008).)
#pragma once

#include <cstdint>

#include "kernels/host/host_kernels.hpp"
#include "kernels/host/vector.hpp"
#include "kernels/long_accumulator.hpp"
#include "kernels/reduction.hpp"

namespace isotherm::host {
namespace {

constexpr int log2_batch = 11;
constexpr Index batch = Index{1} << log2_batch;

template <ReductionOp op>
ISOTHERM_INLINE double part(double d) {
  return accumulate<op>(0.0, d);
}

// The sum of one thread's values, batch by batch, in slices.
template <class Isa, ReductionOp op, class T>
class SlicedSum {
  using V = Vector<Isa, double>;
  using Register = typename V::Register;
  using Bits [[gnu::vector_size(V::bytes)]] = std::int64_t;
  static constexpr Index chains = 4;  // additions depend on each other only within a chain
  static constexpr Index stride = chains * V::lanes;
  static constexpr Index line = 64 / static_cast<Index>(sizeof(T));
  static_assert(batch % stride == 0);

 public:
  // Adds adjacent cells; `b` is null where there is no second field.
  ISOTHERM_INLINE_MEMBER void add_row(const T* a, const T* b, Index cells) {
    for (Index x = 0; x < cells;) {
      const Index count = cells - x < batch - held_ ? cells - x : batch - held_;
      double* to = value_ + held_;
      if (b) {
        for (Index i = 0; i < count; ++i) {
          to[i] = part<op>(static_cast<double>(a[x + i]) - static_cast<double>(b[x + i]));
        }
      } else {
        for (Index i = 0; i < count; ++i) to[i] = part<op>(static_cast<double>(a[x + i]));
      }
      held_ += count;
      x += count;
      next_a_ = a + x;
      next_b_ = b ? b + x : next_a_;
      if (held_ == batch) empty_batch();
    }
  }
  ISOTHERM_INLINE_MEMBER LongAccumulator total() {
    if (held_ > 0) empty_batch();
    total_.normalise();
    return total_;
  }

 private:
  ISOTHERM_INLINE Register magnitudes(Register x) {
    return reinterpret_cast<Register>(reinterpret_cast<Bits>(x) & 0x7fffffffffffffff);
  }
  // The largest magnitude of the batch, or NaN if a value is NaN. Pads the batch with zeros. Also prefetches
  // the most likely cells of the next batch, because memory would idle while slices are cut in L1.
  ISOTHERM_INLINE_MEMBER double largest_magnitude() {
    while (held_ % stride != 0) value_[held_++] = 0;
    Register largest[chains] = {};
    for (Index i = 0; i < held_; i += stride) {
      for (Index ahead = i; ahead < i + stride; ahead += line) {
        __builtin_prefetch(next_a_ + ahead);
        __builtin_prefetch(next_b_ + ahead);
      }
      for (Index c = 0; c < chains; ++c) {
        const Register x = V::load(value_ + i + c * V::lanes).v;
        const Register m = magnitudes(x);
        largest[c] = (m > largest[c]) | (m != m) ? m : largest[c];
      }
    }
    double result = 0;
    for (Index c = 0; c < chains; ++c) {
      for (Index k = 0; k < V::lanes; ++k) result = larger(result, largest[c][k]);
    }
    return result;
  }

  // M of a slice: 1.5 2^k. (M + x) - M is x on the grid of 2^(k - 52).
  ISOTHERM_INLINE Register cutter(int k) {
    const auto bits = static_cast<std::uint64_t>(k + 1023) << 52 | std::uint64_t{1} << 51;
    return V::broadcast(__builtin_bit_cast(double, bits)).v;
  }
  ISOTHERM_INLINE double total_of(const Register (&sum)[chains]) {
    double total = 0;
    for (Index c = 0; c < chains; ++c) {
      for (Index k = 0; k < V::lanes; ++k) total += sum[c][k];
    }
    return total;
  }

  // Takes two slices from every value, and adds their sums to the total. Exact while magnitudes are below
  // 2^(k - log2_batch), or 2^(next_k - log2_batch) after the first slice: M + x has the exponent of M, and
  // sums stay below 2^53 steps of the grid. Returns whether any value has a rest left.
  ISOTHERM_INLINE_MEMBER bool cut_two_slices(int k, int next_k) {
    const Register m = cutter(k), next_m = cutter(next_k);
    Register sum[chains] = {}, next_sum[chains] = {}, rest[chains] = {};
    for (Index i = 0; i < held_; i += stride) {
      for (Index c = 0; c < chains; ++c) {
        double* at = value_ + i + c * V::lanes;
        Register x = V::load(at).v;
        Register upper = (m + x) - m;
        sum[c] += upper;
        x -= upper;
        upper = (next_m + x) - next_m;
        next_sum[c] += upper;
        x -= upper;
        rest[c] += magnitudes(x);
        V::store(at, {x});
      }
    }
    total_.add(total_of(sum));
    total_.add(total_of(next_sum));
    additions_ += 2;
    return total_of(rest) != 0;
  }

  // Adds the batch to the total.
  ISOTHERM_INLINE_MEMBER void empty_batch() {
    constexpr double most = 0x1p1000;  // 1.5 2^k must be a double
    const double largest = largest_magnitude();
    if (!(largest < most)) {  // a NaN, too
      for (Index i = 0; i < held_; ++i) total_.add(value_[i]);
      additions_ += held_;
    } else if (largest > 0) {
      const auto exponent = static_cast<int>(__builtin_bit_cast(std::uint64_t, largest) >> 52) - 1022;
      // Magnitudes are below 2^exponent, rests at most 2^(k - 53). The grid of the least k is that of the
      // subnormal numbers, so no rest remains.
      const auto next = [](int k) { return k + log2_batch - 52 > -1022 ? k + log2_batch - 52 : -1022; };
      int k = exponent + log2_batch > -1022 ? exponent + log2_batch : -1022;
      while (cut_two_slices(k, next(k))) k = next(next(k));
    }
    held_ = 0;
    if (additions_ > Index{1} << 29) {
      total_.normalise();
      additions_ = 0;
    }
  }

  alignas(64) double value_[batch];
  Index held_ = 0, additions_ = 0;
  const T *next_a_ = nullptr, *next_b_ = nullptr;
  LongAccumulator total_{};
};

}  // namespace
}  // namespace isotherm::host
