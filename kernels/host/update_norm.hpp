// The norm of an update while its values are in registers: a sweep with a fused norm calls this in its loop.
// Differences and sums are in fp64; registers of floats are widened by halves.
#pragma once

#include "kernels/host/host_kernels.hpp"
#include "kernels/host/vector.hpp"

namespace isotherm::host {

// The accumulator of a sweep: none (then none of this code is compiled), or the norm of its update. The kind
// of norm is a branch at each register, always taken in the same direction: a kernel for each kind would
// double the number of kernels.
enum class Update { none, norm };

// The lanes in which a row is summed: cell x is in lane x % norm_lanes, and each lane adds in the order of x.
// So the bits do not depend on the instruction set, the register width, or the cell at which vectors start.
template <class T>
inline constexpr Index norm_lanes = 32 / static_cast<Index>(sizeof(T));

// The lanes in registers, while vectors of consecutive cells are added.
template <Update update, class Isa, class T>
class LaneNorm {
  using V = Vector<Isa, T>;
  using D = Vector<Isa, double>;
  static constexpr Index turns = norm_lanes<T> / V::lanes;  // vectors after which lanes repeat
  static constexpr Index parts = V::lanes / D::lanes;       // registers of doubles per register of T
  static_assert(turns * V::lanes == norm_lanes<T>);
  using Register = typename D::Register;

 public:
  // x: the first cell that is added (load), or the cell after the last one (store).
  ISOTHERM_INLINE_MEMBER void load(const double* lanes, Index x) {
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
    const bool in_place = x % norm_lanes<T> == 0;
    double* const first = in_place ? lanes : from_x;
    each_register([&](Register& lane, Index k) ISOTHERM_INLINE_LAMBDA { D::store(first + k, D{lane}); });
    for (Index k = 0; k < norm_lanes<T> && !in_place; ++k) lanes[(x + k) % norm_lanes<T>] = from_x[k];
  }
  ISOTHERM_INLINE_MEMBER void add(ReductionOp op, V value, V centre) {
    if constexpr (update != Update::none) {
      Register sum[parts];
      for (Index i = 0; i < parts; ++i)
        sum[i] = accumulate_lanes(op, lane_[0][i], widen(value, i) - widen(centre, i));
      for (Index t = 0; t + 1 < turns; ++t) {
        for (Index i = 0; i < parts; ++i) lane_[t][i] = lane_[t + 1][i];
      }
      for (Index i = 0; i < parts; ++i) lane_[turns - 1][i] = sum[i];
    }
  }
  // A wider register is added part by part.
  template <Index width>
  ISOTHERM_INLINE_MEMBER void add(ReductionOp op, Vector<Isa, T, width> value, Vector<Isa, T, width> centre) {
    for (Index i = 0; i < width / V::bytes; ++i) add(op, part_of(value, i), part_of(centre, i));
  }

 private:
  // Calls body(register, the index of its first lane) for each register.
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
  ISOTHERM_INLINE Register accumulate_lanes(ReductionOp op, Register total, Register d) {
    if (op == ReductionOp::sum_squares) [[likely]]
      return total + d * d;
    const Register magnitude = d < 0 ? -d : d;
    if (op == ReductionOp::sum_abs) return total + magnitude;
    return (magnitude > total) | (magnitude != magnitude) ? magnitude : total;  // a NaN stays
  }

  Register lane_[turns][parts];  // lane_[0] is for the next vector
};

// The same for one cell.
template <class T>
ISOTHERM_INLINE double add_update(ReductionOp op, double total, T value, T centre) {
  const double d = static_cast<double>(value) - static_cast<double>(centre);
  return with_norm_operation(op, [&]<ReductionOp each>() { return accumulate<each>(total, d); });
}
template <class T>
ISOTHERM_INLINE void add_to_lane(ReductionOp op, double* lanes, Index x, T value, T centre) {
  double& lane = lanes[x % norm_lanes<T>];
  lane = add_update(op, lane, value, centre);
}
// Combines a total with `count` values, in order.
static inline double combined(ReductionOp op, double total, const double* values, Index count) {
  return with_norm_operation(op, [&]<ReductionOp each>() {
    double sum = total;
    for (Index i = 0; i < count; ++i) sum = combine<each>(sum, values[i]);
    return sum;
  });
}

// Calls body.template operator()<update>().
template <class Body>
ISOTHERM_INLINE void with_update(const UpdateNorm& norm, const Body& body) {
  norm.result ? body.template operator()<Update::norm>() : body.template operator()<Update::none>();
}

// Combines `count` partial results into the norm's result.
static inline void finish_norm(const UpdateNorm& norm, const double* partials, Index count) {
  *norm.result = combined(norm.op, norm.accumulate ? *norm.result : 0.0, partials, count);
}

// The partial norms of the rows of a region, in the norm's scratch. Each row has `parts`.
struct PartialNorms {
  Box region;
  Index parts;

  ISOTHERM_INLINE_MEMBER Index count() const {
    return region.empty() ? 0 : parts * region.extent().y * region.extent().z;
  }
  ISOTHERM_INLINE_MEMBER std::size_t bytes() const {
    return static_cast<std::size_t>(count()) * sizeof(double);
  }
  ISOTHERM_INLINE_MEMBER double* at(const UpdateNorm& norm, Index part, Index y, Index z) const {
    const Index row = (z - region.lo.z) * region.extent().y + (y - region.lo.y);
    return static_cast<double*>(norm.scratch) + row * parts + part;
  }
  ISOTHERM_INLINE_MEMBER void finish(const UpdateNorm& norm) const {
    if (norm.result) finish_norm(norm, static_cast<const double*>(norm.scratch), count());
  }
};

}  // namespace isotherm::host
