// The norm of an update while its values are in registers: a sweep with a fused norm calls this in its loop.
// Differences and sums are in fp64; registers of floats are widened by halves.
#pragma once

#include "kernels/host/host_kernels.hpp"
#include "kernels/host/vector.hpp"

namespace isotherm::host {

// What the sweep accumulates; `none` compiles to nothing.
enum class Update { none, max_abs, sum_abs, sum_squares };

template <Update update>
inline constexpr ReductionOp operation_of = update == Update::max_abs   ? ReductionOp::max_abs
                                            : update == Update::sum_abs ? ReductionOp::sum_abs
                                                                        : ReductionOp::sum_squares;

// A row of cells is summed in so many lanes, cell x in lane x % norm_lanes and each lane in the order of x.
// So the bits do not depend on the instruction set, the register width, or the cell at which vectors start.
template <class T>
inline constexpr Index norm_lanes = 32 / static_cast<Index>(sizeof(T));

// The lanes in registers, while vectors of consecutive cells are added.
template <Update update, class Isa, class T>
class LaneNorm {
  using V = Vector<Isa, T>;
  using D = Vector<Isa, double>;
  static constexpr Index turns = norm_lanes<T> / V::lanes;  // vectors from a lane to the same one
  static constexpr Index parts = V::lanes / D::lanes;       // registers of doubles for one of T
  static_assert(turns * V::lanes == norm_lanes<T>);
  using Register = typename D::Register;
  static constexpr bool any_lane = update == Update::max_abs;  // the maximum is the same in any order

 public:
  // x: of the first cell that is added, or of the cell after the last.
  ISOTHERM_INLINE_MEMBER void load(const double* lanes, Index x) {
    if (any_lane)
      return each_register([](Register& lane, Index) ISOTHERM_INLINE_LAMBDA { lane = Register{}; });
    double from_x[norm_lanes<T>];
    const double* first = lanes;
    if (x % norm_lanes<T> != 0) {
      for (Index k = 0; k < norm_lanes<T>; ++k) from_x[k] = lanes[(x + k) % norm_lanes<T>];
      first = from_x;
    }
    each_register([&](Register& lane, Index k) ISOTHERM_INLINE_LAMBDA { lane = D::load(first + k).v; });
  }
  ISOTHERM_INLINE_MEMBER void store(double* lanes, Index x) {
    double from_x[norm_lanes<T>];
    const bool in_place = x % norm_lanes<T> == 0 && !any_lane;
    double* const first = in_place ? lanes : from_x;
    each_register([&](Register& lane, Index k) ISOTHERM_INLINE_LAMBDA { D::store(first + k, D{lane}); });
    if (in_place) return;
    for (Index k = 0; k < norm_lanes<T>; ++k) {
      double& lane = lanes[any_lane ? k : (x + k) % norm_lanes<T>];
      lane = any_lane ? combine<operation_of<update>>(lane, from_x[k]) : from_x[k];
    }
  }
  ISOTHERM_INLINE_MEMBER void add(V value, V centre) {
    if constexpr (update != Update::none) {
      Register sum[parts];
      for (Index i = 0; i < parts; ++i)
        sum[i] = accumulate_lanes(lane_[0][i], widen(value, i) - widen(centre, i));
      for (Index t = 0; t + 1 < turns; ++t) {
        for (Index i = 0; i < parts; ++i) lane_[t][i] = lane_[t + 1][i];
      }
      for (Index i = 0; i < parts; ++i) lane_[turns - 1][i] = sum[i];
    }
  }
  // A wider register is added part by part.
  template <Index width>
  ISOTHERM_INLINE_MEMBER void add(Vector<Isa, T, width> value, Vector<Isa, T, width> centre) {
    for (Index i = 0; i < width / V::bytes; ++i) add(part_of(value, i), part_of(centre, i));
  }

 private:
  // body(register, its first lane from the first of all) for each register.
  template <class Body>
  ISOTHERM_INLINE_MEMBER void each_register(const Body& body) {
    for (Index t = 0; t < turns; ++t) {
      for (Index i = 0; i < parts; ++i) body(lane_[t][i], t * V::lanes + i * D::lanes);
    }
  }
  template <Index width>
  ISOTHERM_INLINE V part_of(Vector<Isa, T, width> wide, Index i) {
    V part;
    __builtin_memcpy(&part.v, reinterpret_cast<const char*>(&wide.v) + i * V::bytes, V::bytes);
    return part;
  }
  ISOTHERM_INLINE Register widen(V v, Index part) {
    if constexpr (parts == 1) {
      return v.v;
    } else {
      Register wide;
      for (Index k = 0; k < D::lanes; ++k) wide[k] = static_cast<double>(v.v[part * D::lanes + k]);
      return wide;
    }
  }
  ISOTHERM_INLINE Register accumulate_lanes(Register total, Register d) {
    if constexpr (update == Update::sum_squares) return total + d * d;
    const Register magnitude = d < 0 ? -d : d;
    if constexpr (update == Update::sum_abs) return total + magnitude;
    return (magnitude > total) | (magnitude != magnitude) ? magnitude : total;  // a NaN stays
  }

  Register lane_[turns][parts];  // the first turn takes the next vector
};

// The same for one cell.
template <Update update, class T>
ISOTHERM_INLINE double add_update(double total, T value, T centre) {
  if constexpr (update == Update::none) return total;
  return accumulate<operation_of<update>>(total, static_cast<double>(value) - static_cast<double>(centre));
}
template <Update update, class T>
ISOTHERM_INLINE void add_to_lane(double* lanes, Index x, T value, T centre) {
  double& lane = lanes[x % norm_lanes<T>];
  lane = add_update<update>(lane, value, centre);
}
// Combines all lanes of a row, in order.
template <Update update, class T>
ISOTHERM_INLINE double combine_lanes(const double* lanes) {
  double total = 0;
  for (Index i = 0; i < norm_lanes<T>; ++i) total = combine<operation_of<update>>(total, lanes[i]);
  return total;
}

// Calls body.template operator()<update>().
template <class Body>
ISOTHERM_INLINE void with_update(const UpdateNorm& norm, const Body& body) {
  if (!norm.result) return body.template operator()<Update::none>();
  if (norm.op == ReductionOp::max_abs) return body.template operator()<Update::max_abs>();
  if (norm.op == ReductionOp::sum_abs) return body.template operator()<Update::sum_abs>();
  body.template operator()<Update::sum_squares>();
}

// Combines `count` partial results in order into the norm's result.
static inline void finish_norm(const UpdateNorm& norm, const double* partials, Index count) {
  const double total = for_op(norm.op, [&]<ReductionOp op>() {
    double combined = norm.accumulate ? *norm.result : 0.0;
    for (Index i = 0; i < count; ++i) combined = combine<op>(combined, partials[i]);
    return combined;
  });
  *norm.result = total;
}

}  // namespace isotherm::host
