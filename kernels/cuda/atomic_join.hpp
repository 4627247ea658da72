// The join of many threads at one address. For .cu files only.
#pragma once

#include "kernels/cuda/reduction_operators.hpp"

namespace isotherm::cuda {

// *to joined with a cell's part. Sums: in the order of arrival. The maximum: of magnitudes, whose bits have
// the order of the numbers; the sign that a NaN may carry is taken off, so that a NaN is beyond all others.
template <ReductionOp op>
__device__ __forceinline__ void atomic_join(double* to, double part) {
  if constexpr (op == ReductionOp::max_abs) {
    static_assert(sizeof(unsigned long long) == sizeof(double));
    const auto bits = __builtin_bit_cast(unsigned long long, part) & 0x7fffffffffffffffull;
    atomicMax(reinterpret_cast<unsigned long long*>(to), bits);
  } else {
    atomicAdd(to, part);
  }
}

}  // namespace isotherm::cuda
