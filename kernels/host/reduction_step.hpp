// One step of a reduction: how a value joins a total, and how two totals join. Both start from 0.
#pragma once

#include "kernels/reduction.hpp"

namespace isotherm::host {

template <ReductionOp op>
struct OpTag {
  static constexpr ReductionOp value = op;
};

template <class Body>
static inline double for_op(ReductionOp op, const Body& body) {
  switch (op) {
    case ReductionOp::max_abs:
      return body(OpTag<ReductionOp::max_abs>{});
    case ReductionOp::sum_abs:
      return body(OpTag<ReductionOp::sum_abs>{});
    case ReductionOp::sum_squares:
      return body(OpTag<ReductionOp::sum_squares>{});
    case ReductionOp::sum:
      break;
  }
  return body(OpTag<ReductionOp::sum>{});
}

static inline __attribute__((always_inline)) double magnitude(double d) {
  return __builtin_fabs(d);
}

// The larger of two magnitudes; NaN once either is.
static inline __attribute__((always_inline)) double larger(double total, double d) {
  return d > total || d != d ? d : total;
}

template <ReductionOp op>
static inline __attribute__((always_inline)) double accumulate(double total, double d) {
  if constexpr (op == ReductionOp::max_abs) return larger(total, magnitude(d));
  if constexpr (op == ReductionOp::sum_abs) return total + magnitude(d);
  if constexpr (op == ReductionOp::sum_squares) return total + d * d;
  return total + d;
}

template <ReductionOp op>
static inline __attribute__((always_inline)) double combine(double a, double b) {
  if constexpr (op == ReductionOp::max_abs) return larger(a, b);
  return a + b;
}

}  // namespace isotherm::host
