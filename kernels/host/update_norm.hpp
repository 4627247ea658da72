// The norm of an update while its values are in registers: what a fused sweep adds to its loop. Differences
// and sums are in fp64; registers of floats are widened by halves.
#pragma once

#include "kernels/host/reduction_step.hpp"
#include "kernels/host/vector.hpp"

namespace isotherm::host {

// What the sweep accumulates; `none` compiles to nothing.
enum class Update { none, sum, max_abs, sum_abs, sum_squares };

template <Update update>
inline constexpr ReductionOp operation_of = update == Update::max_abs       ? ReductionOp::max_abs
                                            : update == Update::sum_abs     ? ReductionOp::sum_abs
                                            : update == Update::sum_squares ? ReductionOp::sum_squares
                                                                            : ReductionOp::sum;

// Running results, one a lane, of the updates of one row of cells.
template <Update update, class Isa, class T>
class LaneNorm {
  using V = Vector<Isa, T>;
  using D = Vector<Isa, double>;
  static constexpr Index parts = V::lanes / D::lanes;  // registers of doubles for one of T

 public:
  ISOTHERM_INLINE_MEMBER void add(V value, V centre) {
    if constexpr (update != Update::none) {
      for (Index i = 0; i < parts; ++i) {
        const typename D::Register d = widen(value, i) - widen(centre, i);
        lane_[i] = accumulate_lanes(lane_[i], d);
      }
    }
  }
  // A wider register is added part by part: as many lanes, and so the same bits.
  template <Index width>
  ISOTHERM_INLINE_MEMBER void add(Vector<Isa, T, width> value, Vector<Isa, T, width> centre) {
    for (Index i = 0; i < width / V::bytes; ++i) add(part_of(value, i), part_of(centre, i));
  }
  // Of all lanes and `with`, in a fixed order.
  ISOTHERM_INLINE_MEMBER double join(double with) const {
    if constexpr (update != Update::none) {
      for (Index i = 0; i < parts; ++i) {
        for (Index k = 0; k < D::lanes; ++k) with = combine<operation_of<update>>(with, lane_[i][k]);
      }
    }
    return with;
  }

 private:
  template <Index width>
  ISOTHERM_INLINE V part_of(Vector<Isa, T, width> wide, Index i) {
    V part;
    __builtin_memcpy(&part.v, reinterpret_cast<const char*>(&wide.v) + i * V::bytes, V::bytes);
    return part;
  }
  ISOTHERM_INLINE typename D::Register widen(V v, Index part) {
    if constexpr (parts == 1) {
      return v.v;
    } else {
      typename D::Register wide;
      for (Index k = 0; k < D::lanes; ++k) wide[k] = static_cast<double>(v.v[part * D::lanes + k]);
      return wide;
    }
  }
  ISOTHERM_INLINE typename D::Register accumulate_lanes(typename D::Register total, typename D::Register d) {
    if constexpr (update == Update::sum) return total + d;
    if constexpr (update == Update::sum_squares) return total + d * d;
    const typename D::Register magnitude = d < 0 ? -d : d;
    if constexpr (update == Update::sum_abs) return total + magnitude;
    return (magnitude > total) | (magnitude != magnitude) ? magnitude : total;  // a NaN stays
  }

  typename D::Register lane_[update == Update::none ? 1 : parts] = {};
};

// The same for one cell.
template <Update update, class T>
ISOTHERM_INLINE double add_update(double total, T value, T centre) {
  if constexpr (update == Update::none) return total;
  return accumulate<operation_of<update>>(total, static_cast<double>(value) - static_cast<double>(centre));
}

// Calls body.template operator()<update>().
template <class Body>
ISOTHERM_INLINE void with_update(const UpdateNorm& norm, const Body& body) {
  if (!norm.result) return body.template operator()<Update::none>();
  switch (norm.op) {
    case ReductionOp::sum:
      return body.template operator()<Update::sum>();
    case ReductionOp::max_abs:
      return body.template operator()<Update::max_abs>();
    case ReductionOp::sum_abs:
      return body.template operator()<Update::sum_abs>();
    case ReductionOp::sum_squares:
      return body.template operator()<Update::sum_squares>();
  }
}

// Joins `count` partial results in order into the norm's result.
static inline void finish_norm(const UpdateNorm& norm, const double* partials, Index count) {
  const double total = for_op(norm.op, [&](auto op) {
    double joined = norm.accumulate ? *norm.result : 0.0;
    for (Index i = 0; i < count; ++i) joined = combine<op.value>(joined, partials[i]);
    return joined;
  });
  *norm.result = total;
}

}  // namespace isotherm::host
