// What the reduction rows on the GPU share: a cell's part of the result, and how two parts become one. Both
// in fp64. All four operations start from 0.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "kernels/reduction.hpp"

namespace isotherm::cuda {

// d of one cell; `b` null where there is no second field.
template <class T>
__device__ __forceinline__ double difference(const T* a, const T* b) {
  return b ? static_cast<double>(*a) - static_cast<double>(*b) : static_cast<double>(*a);
}

template <ReductionOp op>
__device__ __forceinline__ double part(double d) {
  if constexpr (op == ReductionOp::sum) return d;
  if constexpr (op == ReductionOp::sum_squares) return d * d;
  return fabs(d);  // sum_abs, max_abs
}

template <ReductionOp op>
struct Join {
  __device__ __forceinline__ double operator()(double a, double b) const {
    if constexpr (op == ReductionOp::max_abs) {
      return a > b || a != a ? a : b;  // a NaN on either side wins, which fmax would lose
    } else {
      return a + b;
    }
  }
};

// Calls body.operator()<op>(): from the argument's value to a kernel's template parameter.
template <class Body>
void with_operation(ReductionOp op, Body body) {
  switch (op) {
    case ReductionOp::sum:
      return body.template operator()<ReductionOp::sum>();
    case ReductionOp::max_abs:
      return body.template operator()<ReductionOp::max_abs>();
    case ReductionOp::sum_abs:
      return body.template operator()<ReductionOp::sum_abs>();
    case ReductionOp::sum_squares:
      return body.template operator()<ReductionOp::sum_squares>();
  }
}

}  // namespace isotherm::cuda
