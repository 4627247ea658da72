// Runs of cells of one level of fused sweeps: what they read lies anywhere, in a field, in a ring of planes,
// in a row of ghosts.
#pragma once

#include "kernels/host/update_norm.hpp"
#include "kernels/host/vector.hpp"

namespace isotherm::host::fused {

inline constexpr int most_planes = 3;  // of a pass

ISOTHERM_INLINE constexpr Index line_elements(std::size_t element_bytes) {
  return 64 / static_cast<Index>(element_bytes);
}
ISOTHERM_INLINE Index smaller(Index a, Index b) {
  return a < b ? a : b;
}
ISOTHERM_INLINE Index larger(Index a, Index b) {
  return a < b ? b : a;
}
ISOTHERM_INLINE Index rounded_down(Index i, Index unit) {
  return (i >= 0 ? i : i - unit + 1) / unit * unit;
}

enum class Source { none, field };

// The registers: those that suit the processor, or its widest.
enum class Way { preferred, wide };

#define ISOTHERM_INLINE_LAMBDA __attribute__((always_inline))

// body(p) for each of `planes`, p a constant: what is indexed by it stays in registers.
template <int planes, class Body>
ISOTHERM_INLINE void each_plane(const Body& body) {
  [&]<int... p>(std::integer_sequence<int, p...>) ISOTHERM_INLINE_LAMBDA {
    (body(std::integral_constant<int, p>{}), ...);
  }
  (std::make_integer_sequence<int, planes>{});
}

// Runs of `cells` along x at one (x, y) of one or more planes above each other; pointers at their first
// cells.
template <class T>
struct Runs {
  const T *centre[most_planes], *y_lo[most_planes], *y_hi[most_planes];
  const T *z_lo, *z_hi;  // below the first plane, above the last
  const T* source[most_planes];
  const T* ahead;  // a run that memory has to deliver soon, or any
  T* out[most_planes];
  Index cells;
  T x_lo[most_planes], x_hi[most_planes];  // the cells before and behind the runs
  double* norm[most_planes];               // the norms of the runs
};

// Cells [from, to) in whole vectors; returns where they end. Operands in locals, as in stencil_openmp.cpp.
template <class Isa, Source source, Store store, Update update, Way way, int planes, class T>
[[gnu::noinline]] Index sweep_vectors(const Coefficients<T>& coefficients, const Runs<T>& r, Index from,
                                      Index to) {
  using V = Vector<Isa, T, way == Way::wide ? widest<Isa> : preferred<Isa>>;
  if (from + V::lanes > to) return from;
  const Coefficients<V> c{V::broadcast(coefficients.c0), V::broadcast(coefficients.cx),
                          V::broadcast(coefficients.cy), V::broadcast(coefficients.cz)};
  const T *in[planes], *y_lo[planes], *y_hi[planes], *s[planes];
  T* out[planes];
  const T *const below = r.z_lo, *const above = r.z_hi;
  V before[planes], centre[planes], after[planes];
  LaneNorm<update, Isa, T> norm[planes];
  each_plane<planes>([&](auto p) ISOTHERM_INLINE_LAMBDA {
    in[p] = r.centre[p];
    y_lo[p] = r.y_lo[p];
    y_hi[p] = r.y_hi[p];
    s[p] = r.source[p];
    out[p] = r.out[p];
    before[p] = from == 0 ? V::broadcast(r.x_lo[p]) : V::load(in[p] + from - V::lanes);
    centre[p] = V::load(in[p] + from);
  });
  const T* const ahead = r.ahead;
  const auto sweep = [&](Index x) ISOTHERM_INLINE_LAMBDA {
    __builtin_prefetch(ahead + x, 0, 2);  // into L2
    const V z_lo = V::load(below + x), z_hi = V::load(above + x);
    each_plane<planes>([&](auto p) ISOTHERM_INLINE_LAMBDA {
      const V value = stencil_update(c, centre[p], V::one_before(before[p], centre[p]),
                                     V::one_after(centre[p], after[p]), V::load(y_lo[p] + x),
                                     V::load(y_hi[p] + x), p == 0 ? z_lo : centre[p > 0 ? p - 1 : 0],
                                     p == planes - 1 ? z_hi : centre[p < planes - 1 ? p + 1 : 0],
                                     source == Source::field ? V::load(s[p] + x) : V{});
      store == Store::streaming ? V::store_streaming(out[p] + x, value) : V::store(out[p] + x, value);
      norm[p].add(value, centre[p]);
    });
    each_plane<planes>([&](auto p) ISOTHERM_INLINE_LAMBDA {
      before[p] = centre[p];
      centre[p] = after[p];
    });
  };
  // Behind the last vector of the run stands one cell.
  Index x = from;
  for (const Index inner = smaller(to, r.cells - 1); x + V::lanes <= inner; x += V::lanes) {
    each_plane<planes>([&](auto p) ISOTHERM_INLINE_LAMBDA { after[p] = V::load(in[p] + x + V::lanes); });
    sweep(x);
  }
  if (x + V::lanes <= to) {
    each_plane<planes>([&](auto p) ISOTHERM_INLINE_LAMBDA { after[p] = V::broadcast(r.x_hi[p]); });
    sweep(x);
    x += V::lanes;
  }
  for (int p = 0; p < planes && update != Update::none; ++p) *r.norm[p] = norm[p].join(*r.norm[p]);
  return x;
}

// ... and one by one, plane p.
template <Source source, Update update, int planes, class T>
ISOTHERM_INLINE void sweep_cells(const Coefficients<T>& c, const Runs<T>& r, int p, Index from, Index to) {
  const T *const z_lo = p == 0 ? r.z_lo : r.centre[p - 1], *const z_hi =
                                                               p == planes - 1 ? r.z_hi : r.centre[p + 1];
  for (Index x = from; x < to; ++x) {
    const T* in = r.centre[p] + x;
    const T value = stencil_update(c, in[0], x == 0 ? r.x_lo[p] : in[-1],
                                   x + 1 == r.cells ? r.x_hi[p] : in[1], r.y_lo[p][x], r.y_hi[p][x], z_lo[x],
                                   z_hi[x], source == Source::field ? r.source[p][x] : T(0));
    r.out[p][x] = value;
    if constexpr (update != Update::none) *r.norm[p] = add_update<update>(*r.norm[p], value, in[0]);
  }
}

// All cells. Vectors start at a cache line of the output, of which only whole ones stream.
template <class Isa, Source source, Store store, Update update, Way way, int planes, class T>
void sweep_runs(const Coefficients<T>& c, const Runs<T>& r) {
  constexpr Index line = line_elements(sizeof(T));
  const Index cell = static_cast<Index>(reinterpret_cast<std::uintptr_t>(r.out[0]) / sizeof(T));
  const Index first = smaller(r.cells, (line - cell % line) % line);
  for (int p = 0; p < planes && first > 0; ++p) sweep_cells<source, update, planes>(c, r, p, 0, first);
  Index x = first;
  if constexpr (store == Store::streaming) {
    const Index end = r.cells - (cell + r.cells) % line;
    x = sweep_vectors<Isa, source, Store::streaming, update, way, planes>(c, r, x, end);
  }
  x = sweep_vectors<Isa, source, Store::cached, update, way, planes>(c, r, x, r.cells);
  for (int p = 0; p < planes && x < r.cells; ++p) sweep_cells<source, update, planes>(c, r, p, x, r.cells);
}

template <class T>
using SweepRuns = void (*)(const Coefficients<T>&, const Runs<T>&);

template <class Isa, Update update, Way way, int planes, class T>
SweepRuns<T> pick_by_store(Source source, Store store) {
  if (source == Source::none)
    return store == Store::cached ? &sweep_runs<Isa, Source::none, Store::cached, update, way, planes, T>
                                  : &sweep_runs<Isa, Source::none, Store::streaming, update, way, planes, T>;
  return store == Store::cached ? &sweep_runs<Isa, Source::field, Store::cached, update, way, planes, T>
                                : &sweep_runs<Isa, Source::field, Store::streaming, update, way, planes, T>;
}

// Those of the last level, of `planes` planes; the others have no norm and stay in the caches.
template <class Isa, Way way, int planes, class T>
SweepRuns<T> pick(const SweepArgs<T>& args, Store store, bool last) {
  const Source source = args.source.empty() ? Source::none : Source::field;
  if (!last) return pick_by_store<Isa, Update::none, way, planes, T>(source, Store::cached);
  SweepRuns<T> picked = nullptr;
  with_update(args.norm,
              [&]<Update update>() { picked = pick_by_store<Isa, update, way, planes, T>(source, store); });
  return picked;
}

}  // namespace isotherm::host::fused
