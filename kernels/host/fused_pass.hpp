// One pass of fused sweeps: a level's cells of some rows in two planes above each other. What it reads and
// writes lies anywhere, in a field or in a queue of rows.
#pragma once

#include "kernels/host/partition.hpp"
#include "kernels/host/streaming.hpp"
#include "kernels/host/update_norm.hpp"
#include "kernels/host/vector.hpp"

namespace isotherm::host::fused {

inline constexpr int most_rows = 2, planes = 2;  // of a pass

ISOTHERM_INLINE constexpr Index line_elements(std::size_t element_bytes) {
  return 64 / static_cast<Index>(element_bytes);
}
ISOTHERM_INLINE Index rounded_down(Index i, Index unit) {
  return (i >= 0 ? i : i - unit + 1) / unit * unit;
}

// The registers: those that suit the processor, or its widest.
enum class Way { preferred, wide };

// body(i) for each i below `count`, a constant: what is indexed by it stays in registers.
template <int count, class Body>
ISOTHERM_INLINE void each(const Body& body) {
  [&]<int... i>(std::integer_sequence<int, i...>) ISOTHERM_INLINE_LAMBDA {
    (body(std::integral_constant<int, i>{}), ...);
  }
  (std::make_integer_sequence<int, count>{});
}
// body(i, p) for each plane p of each row i.
template <int rows, class Body>
ISOTHERM_INLINE void each_run(const Body& body) {
  each<rows>([&](auto i) ISOTHERM_INLINE_LAMBDA {
    each<planes>([&](auto p) ISOTHERM_INLINE_LAMBDA { body(i, p); });
  });
}

// What stands beyond the first or the last cells of rows: the boundary, or what lies there in memory.
template <class T>
struct RowEnd {
  bool is_boundary;
  T a, b[most_rows][planes];

  ISOTHERM_INLINE_MEMBER T beyond(int i, int p, T cell, const T* next) const {
    return is_boundary ? boundary_ghost(a, b[i][p], cell) : *next;
  }
};

// Rows y, y + 1, ... of planes z and z + 1, `cells` along x; pointers at their first cells.
template <class T>
struct Pass {
  const T* in[planes + 2];  // row y of planes z - 1 to z + 2; the others beside it, each row of z and z + 1
  Index in_pitch;           // has a row on either side
  T* out[most_rows][planes];
  const T* source[most_rows][planes];
  const T* ahead[3];  // rows that memory has to deliver soon, or null
  Index cells;
  RowEnd<T> ends[2];
  double* norm[most_rows][planes];  // where those of the rows go

  ISOTHERM_INLINE_MEMBER const T* row(int i, int p) const { return in[1 + p] + i * in_pitch; }
  ISOTHERM_INLINE_MEMBER T x_lo(int i, int p) const {
    return ends[0].beyond(i, p, row(i, p)[0], row(i, p) - 1);
  }
  ISOTHERM_INLINE_MEMBER T x_hi(int i, int p) const {
    return ends[1].beyond(i, p, row(i, p)[cells - 1], row(i, p) + cells);
  }
};

// The lanes of the norms of its rows.
template <class T>
struct Lanes {  // no bare array, whose bound in the name of a function nm cannot read
  double of[most_rows][planes][norm_lanes<T>];
};

// Cells [from, to) in whole vectors; returns where they end. Operands in locals, as in stencil_openmp.cpp.
template <class Isa, Source source, Store store, Update update, Way way, int rows, class T>
[[gnu::noinline]] Index sweep_vectors(const Coefficients<T>& coefficients, const Pass<T>& pass,
                                      Lanes<T>& lanes, Index from, Index to) {
  using V = Vector<Isa, T, way == Way::wide ? widest<Isa> : preferred<Isa>>;
  if (from + V::lanes > to) return from;
  const Coefficients<V> c{V::broadcast(coefficients.c0), V::broadcast(coefficients.cx),
                          V::broadcast(coefficients.cy), V::broadcast(coefficients.cz)};
  const Index pitch = pass.in_pitch;
  const T *const below = pass.in[0], *const lower = pass.in[1], *const upper = pass.in[2],
                 *const above = pass.in[3], *const ahead = pass.ahead[0], *const further = pass.ahead[1],
                 *const again = pass.ahead[2];
  const T* s[rows][planes];
  T* out[rows][planes];
  V before[rows][planes], centre[rows][planes], after[rows][planes];
  LaneNorm<update, Isa, T> norm[rows][planes];
  const auto row = [&](int i, int p) ISOTHERM_INLINE_LAMBDA { return (p == 0 ? lower : upper) + i * pitch; };
  each_run<rows>([&](auto i, auto p) ISOTHERM_INLINE_LAMBDA {
    s[i][p] = pass.source[i][p];
    out[i][p] = pass.out[i][p];
    before[i][p] = from == 0 ? V::broadcast(pass.x_lo(i, p)) : V::load(row(i, p) + from - V::lanes);
    centre[i][p] = V::load(row(i, p) + from);
    if constexpr (update != Update::none) norm[i][p].load(lanes.of[i][p], from);
  });
  const auto sweep = [&](Index x) ISOTHERM_INLINE_LAMBDA {
    if (ahead) __builtin_prefetch(ahead + x);
    if (further) __builtin_prefetch(further + x);
    if (again) __builtin_prefetch(again + x);
    each_run<rows>([&](auto i, auto p) ISOTHERM_INLINE_LAMBDA {
      const V y_lo = i == 0 ? V::load(row(-1, p) + x) : centre[i > 0 ? i - 1 : 0][p],
              y_hi = i == rows - 1 ? V::load(row(rows, p) + x) : centre[i < rows - 1 ? i + 1 : 0][p],
              z_lo = p == 0 ? V::load(below + i * pitch + x) : centre[i][0],
              z_hi = p == 0 ? centre[i][1] : V::load(above + i * pitch + x);
      const V value = stencil_update(c, centre[i][p], V::one_before(before[i][p], centre[i][p]),
                                     V::one_after(centre[i][p], after[i][p]), y_lo, y_hi, z_lo, z_hi,
                                     source == Source::field ? V::load(s[i][p] + x) : V{});
      store == Store::streaming ? V::store_streaming(out[i][p] + x, value) : V::store(out[i][p] + x, value);
      norm[i][p].add(value, centre[i][p]);
    });
    each_run<rows>([&](auto i, auto p) ISOTHERM_INLINE_LAMBDA {
      before[i][p] = centre[i][p];
      centre[i][p] = after[i][p];
    });
  };
  // Behind the last vector of the run stands one cell.
  Index x = from;
  for (const Index inner = smaller(to, pass.cells - 1); x + V::lanes <= inner; x += V::lanes) {
    each_run<rows>([&](auto i, auto p)
                       ISOTHERM_INLINE_LAMBDA { after[i][p] = V::load(row(i, p) + x + V::lanes); });
    sweep(x);
  }
  if (x + V::lanes <= to) {
    each_run<rows>([&](auto i, auto p)
                       ISOTHERM_INLINE_LAMBDA { after[i][p] = V::broadcast(pass.x_hi(i, p)); });
    sweep(x);
    x += V::lanes;
  }
  if constexpr (update != Update::none) {
    each_run<rows>([&](auto i, auto p) ISOTHERM_INLINE_LAMBDA { norm[i][p].store(lanes.of[i][p], x); });
  }
  return x;
}

// ... and one by one.
template <class Isa, Source source, Update update, int rows, class T>
void sweep_cells(const Coefficients<T>& c, const Pass<T>& pass, Lanes<T>& lanes, Index from, Index to) {
  for (int i = 0; i < rows; ++i) {
    for (int p = 0; p < planes; ++p) {
      const T *const in = pass.row(i, p), *const z_lo = pass.in[p] + i * pass.in_pitch,
                     *const z_hi = pass.in[p + 2] + i * pass.in_pitch;
      for (Index x = from; x < to; ++x) {
        const T value = stencil_update(c, in[x], x == 0 ? pass.x_lo(i, p) : in[x - 1],
                                       x + 1 == pass.cells ? pass.x_hi(i, p) : in[x + 1],
                                       in[x - pass.in_pitch], in[x + pass.in_pitch], z_lo[x], z_hi[x],
                                       source == Source::field ? pass.source[i][p][x] : T(0));
        pass.out[i][p][x] = value;
        if constexpr (update != Update::none) add_to_lane<update>(lanes.of[i][p], x, value, in[x]);
      }
    }
  }
}

// All cells. Vectors start at a cache line of the output, of which only whole ones stream.
template <class Isa, Source source, Store store, Update update, Way way, int rows, class T>
void sweep_pass(const Coefficients<T>& c, const Pass<T>& pass) {
  constexpr Index line = line_elements(sizeof(T));
  const Index cell = static_cast<Index>(reinterpret_cast<std::uintptr_t>(pass.out[0][0]) / sizeof(T));
  const Index first = smaller(pass.cells, (line - cell % line) % line);
  Lanes<T> lanes = {};
  if (first > 0) sweep_cells<Isa, source, update, rows>(c, pass, lanes, 0, first);
  Index x = first;
  if constexpr (store == Store::streaming) {
    const Index end = pass.cells - (cell + pass.cells) % line;
    x = sweep_vectors<Isa, source, Store::streaming, update, way, rows>(c, pass, lanes, x, end);
  }
  x = sweep_vectors<Isa, source, Store::cached, update, way, rows>(c, pass, lanes, x, pass.cells);
  if (x < pass.cells) sweep_cells<Isa, source, update, rows>(c, pass, lanes, x, pass.cells);
  if constexpr (update != Update::none) {
    each_run<rows>([&](auto i, auto p)
                       ISOTHERM_INLINE_LAMBDA { *pass.norm[i][p] = join_lanes<update, T>(lanes.of[i][p]); });
  }
}

template <class T>
using SweepPass = void (*)(const Coefficients<T>&, const Pass<T>&);

template <class Isa, Update update, Way way, int rows, class T>
SweepPass<T> pick_by_store(Source source, Store store) {
  if (source == Source::none)
    return store == Store::cached ? &sweep_pass<Isa, Source::none, Store::cached, update, way, rows, T>
                                  : &sweep_pass<Isa, Source::none, Store::streaming, update, way, rows, T>;
  return store == Store::cached ? &sweep_pass<Isa, Source::field, Store::cached, update, way, rows, T>
                                : &sweep_pass<Isa, Source::field, Store::streaming, update, way, rows, T>;
}

// That of the last level; those of the others have no norm and stay in the caches.
template <class Isa, Way way, int rows, class T>
SweepPass<T> pick(const SweepArgs<T>& args, Store store, bool last) {
  const Source source = args.source.empty() ? Source::none : Source::field;
  if (!last) return pick_by_store<Isa, Update::none, way, rows, T>(source, Store::cached);
  SweepPass<T> picked = nullptr;
  with_update(args.norm,
              [&]<Update update>() { picked = pick_by_store<Isa, update, way, rows, T>(source, store); });
  return picked;
}

}  // namespace isotherm::host::fused
