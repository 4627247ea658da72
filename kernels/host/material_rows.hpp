// Sweeps of cells of one row that have the same coefficients. In a domain of several materials rows are cut
// where the classes of the cells or of their neighbours change.
#pragma once

#include "kernels/host/update_norm.hpp"
#include "kernels/host/vector.hpp"

namespace isotherm::host {

// All pointers at the first cell; near: the rows y - 1, y + 1, z - 1, z + 1.
template <class T>
struct CellRow {
  const T *in, *near[4], *source;
  T* out;
  Index cells;
  T x_lo, x_hi;   // the cells before and after the row
  double* lanes;  // of the norm
  ReductionOp op;
};
template <class T>
struct MaterialRow : CellRow<T> {
  const std::uint8_t *classes, *classes_near[4];
};

// The positions at which the class changes in any of several adjacent rows, of up to `most` cells.
template <Index most>
class ClassCuts {
 public:
  ISOTHERM_INLINE_MEMBER explicit ClassCuts(Index cells) : cells_(cells) {
    __builtin_memset(changes_, 0, static_cast<std::size_t>(cells + 1));
  }
  // Adds the changes in cells [lo, hi), and to the cells before and after; `row` points at the class of lo.
  ISOTHERM_INLINE_MEMBER void add(const std::uint8_t* __restrict row, Index lo, Index hi) {
    std::uint8_t* const changes = changes_ + lo;
    for (Index i = 0; i <= hi - lo; ++i)
      changes[i] = static_cast<std::uint8_t>(changes[i] | (row[i] != row[i - 1] ? 1 : 0));
  }
  // The end of the cells from `from` on that have the same classes as it, their neighbours included.
  ISOTHERM_INLINE_MEMBER Index end_of(Index from) const {
    if (changes_[from]) return from + 1;
    const void* const found =
        __builtin_memchr(changes_ + from + 1, 1, static_cast<std::size_t>(cells_ - from));
    return found ? larger(from + 1, static_cast<const std::uint8_t*>(found) - changes_ - 1) : cells_;
  }

 private:
  Index cells_;
  std::uint8_t changes_[most + 1];  // from the previous cell to this one
};

template <class V, class T>
ISOTHERM_INLINE InterfaceCoefficients<V> broadcast(const InterfaceCoefficients<T>& c) {
  InterfaceCoefficients<V> all;
  for (int f = 0; f < 6; ++f) all.face[f] = V::broadcast(c.face[f]);
  all.source = V::broadcast(c.source);
  return all;
}

template <Source source, class T, class... Near>
ISOTHERM_INLINE T updated(const Coefficients<T>& c, T s, T centre, Near... near) {
  return stencil_update(c, centre, near..., source == Source::field ? scaled_source(c, s) : c.heat);
}
template <Source, class T, class... Near>
ISOTHERM_INLINE T updated(const InterfaceCoefficients<T>& c, T s, T centre, Near... near) {
  return interface_update(c, centre, near..., s);
}

// Sweeps cells [from, to) with the coefficients `c`, by cached stores.
template <class Isa, Source source, Update update, template <class> class Any, class T>
void sweep_cells(const Any<T>& c, const CellRow<T>& r, Index from, Index to) {
  using V = Vector<Isa, T>;
  const T *const in = r.in, *const y_lo = r.near[0], *const y_hi = r.near[1], *const z_lo = r.near[2],
                 *const z_hi = r.near[3], *const s = r.source;
  T* const out = r.out;
  const auto sweep_cell = [&](Index x) ISOTHERM_INLINE_LAMBDA {
    const T value =
        updated<source>(c, source == Source::field ? s[x] : T(0), in[x], x == 0 ? r.x_lo : in[x - 1],
                        x + 1 == r.cells ? r.x_hi : in[x + 1], y_lo[x], y_hi[x], z_lo[x], z_hi[x]);
    if constexpr (update != Update::none) add_to_lane(r.op, r.lanes, x, value, in[x]);
    out[x] = value;
  };
  Index x = from;
  if (x == 0) sweep_cell(x++);
  const Index inner = smaller(to, r.cells - 1);
  if (x + V::lanes <= inner) {
    const auto all = broadcast<V>(c);
    LaneNorm<update, Isa, T> norm;
    if constexpr (update != Update::none) norm.load(r.lanes, x);
    for (; x + V::lanes <= inner; x += V::lanes) {
      const V centre = V::load(in + x);
      const V value = updated<source>(all, source == Source::field ? V::load(s + x) : V{}, centre,
                                      V::load(in + x - 1), V::load(in + x + 1), V::load(y_lo + x),
                                      V::load(y_hi + x), V::load(z_lo + x), V::load(z_hi + x));
      norm.add(r.op, value, centre);
      V::store(out + x, value);
    }
    if constexpr (update != Update::none) norm.store(r.lanes, x);
  }
  for (; x < to; ++x) sweep_cell(x);
}

// Sweeps cells [from, to). Their classes and those of their neighbours are those at index `at` of the row.
template <class Isa, Source source, Update update, class T>
void sweep_between_cuts(const Materials<T>& m, int sweep, const MaterialRow<T>& r, Index from, Index to,
                        Index at) {
  const std::uint8_t* const c = r.classes + at;
  int own = c[0], near[6] = {c[-1], c[1]};
  for (int k = 0; k < 4; ++k) near[2 + k] = r.classes_near[k][at];
  bool is_among_own = true;
  for (const int other : near) is_among_own = is_among_own && other == own;
  if (is_among_own) return sweep_cells<Isa, source, update>(m.coefficients[sweep][own], r, from, to);
  sweep_cells<Isa, source, update>(interface_coefficients(m, own, near, sweep), r, from, to);
}

}  // namespace isotherm::host
