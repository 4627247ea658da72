// Threads, vectors, blocks in cache, streaming stores.
//
// Algebra: one sweep, stencil_update() on vectors of x. Threads share the box by partition.hpp, the split by
// which FaceCopy::fill touched the memory first. A thread walks its share in blocks of rows: x fastest, then
// y within the block, then z through the whole share, so that a plane of the block is read from memory once
// and found in L2 for the two sweeps over z that follow. Rows are never cut while a block holds enough of
// them: long runs of memory are worth more than a smaller block. Neighbours along x come out of registers.
// The row that memory has to deliver next is asked for a few rows ahead: with three streams to follow, the
// processor's own prefetchers give up. Traffic a cell: one read and, past the last-level cache, one streaming
// write that reads nothing; the rows beside a block are read twice. Walls across x are applied here: as
// ghosts they would cost two more cache lines a row.
#include <omp.h>

#include "kernels/host/partition.hpp"
#include "kernels/host/rows.hpp"
#include "kernels/host/vector.hpp"

namespace isotherm::host {
namespace {

struct Policy {
  static constexpr Index block_bytes = 512 << 10;  // three planes of a block; half an L2
  static constexpr Index row_bytes = 16 << 10;     // of one row of a block, so that a block has rows enough
  static constexpr Index ahead_bytes = 16 << 10;   // from the row at work to the one that is prefetched
};

enum class Source { none, field };

// One run of `cells` along x; pointers at its first cell.
template <class T>
struct Run {
  const T* in;
  Index pitch_y, pitch_z;
  const T* source;
  T* out;
  const T* prefetch;  // the run that will be new to the caches some rows later
  Index cells;
  T x_lo, x_hi;  // the cells before and behind the run
};

// Cells [from, to) of a run in whole vectors; returns where they end. A function of its own, and its operands
// in locals: inlined into the walk, the compiler runs out of registers and reloads pointers and coefficients
// for every vector.
template <class Isa, Source source, Store store, class T>
[[gnu::noinline]] Index sweep_vectors(const Coefficients<Vector<Isa, T>>& coefficients, const Run<T>& r,
                                      Index from, Index to) {
  using V = Vector<Isa, T>;
  if (from + V::lanes > to) return from;
  const Coefficients<V> c = coefficients;
  const T* const in = r.in;
  const T *const y_lo = in - r.pitch_y, *const y_hi = in + r.pitch_y;
  const T *const z_lo = in - r.pitch_z, *const z_hi = in + r.pitch_z;
  const T *const s = r.source, *const prefetch = r.prefetch;
  T* const out = r.out;
  const Index last = r.cells - V::lanes;
  V before = from == 0 ? V::broadcast(r.x_lo) : V::load(in + from - V::lanes), centre = V::load(in + from);
  Index x = from;
  for (; x + V::lanes <= to; x += V::lanes) {
    __builtin_prefetch(prefetch + x);
    const V after = x == last ? V::broadcast(r.x_hi) : V::load(in + x + V::lanes);
    const V value = stencil_update(c, centre, V::one_before(before, centre), V::one_after(centre, after),
                                   V::load(y_lo + x), V::load(y_hi + x), V::load(z_lo + x), V::load(z_hi + x),
                                   source == Source::field ? V::load(s + x) : V{});
    store == Store::streaming ? V::store_streaming(out + x, value) : V::store(out + x, value);
    before = centre;
    centre = after;
  }
  return x;
}

// Cells [from, to) through the caches: vectors, then one by one.
template <class Isa, Source source, class T>
ISOTHERM_INLINE void sweep_cached(const Coefficients<T>& c, const Coefficients<Vector<Isa, T>>& cv,
                                  const Run<T>& r, Index from, Index to) {
  for (Index x = sweep_vectors<Isa, source, Store::cached>(cv, r, from, to); x < to; ++x) {
    const T* p = r.in + x;
    r.out[x] = stencil_update(c, p[0], x == 0 ? r.x_lo : p[-1], x + 1 == r.cells ? r.x_hi : p[1],
                              p[-r.pitch_y], p[r.pitch_y], p[-r.pitch_z], p[r.pitch_z],
                              source == Source::field ? r.source[x] : T(0));
  }
}

// Only whole cache lines stream: one that is written half by each kind of store costs more than it saves.
template <class Isa, Source source, Store store, class T>
ISOTHERM_INLINE void sweep_run(const Coefficients<T>& c, const Coefficients<Vector<Isa, T>>& cv,
                               const Run<T>& r) {
  Index done = 0;
  if constexpr (store == Store::streaming) {
    constexpr Index line = 64 / static_cast<Index>(sizeof(T));
    const Index cell = static_cast<Index>(reinterpret_cast<std::uintptr_t>(r.out) / sizeof(T));
    const Index first = (line - cell % line) % line;
    const Index end = r.cells - (cell + r.cells) % line;
    if (first < end) {
      sweep_cached<Isa, source>(c, cv, r, 0, first);
      done = sweep_vectors<Isa, source, Store::streaming>(cv, r, first, end);
    }
  }
  sweep_cached<Isa, source>(c, cv, r, done, r.cells);
}

ISOTHERM_INLINE Index smaller(Index a, Index b) {
  return a < b ? a : b;
}
ISOTHERM_INLINE Index larger(Index a, Index b) {
  return a < b ? b : a;
}

// What stands beyond cell (x, y, z) towards an x face: the wall rule's value, where the cell is at a wall.
template <class T>
ISOTHERM_INLINE T beyond(const SweepArgs<T>& args, Face f, Index x, Index y, Index z) {
  const Wall<T>& wall = args.walls.faces[static_cast<int>(f)];
  const bool at_face = is_max(f) ? x == args.in.extent.x - 1 : x == 0;
  if (wall.is_wall && at_face) return wall_ghost(wall.a, wall.b_at(y, z), args.in(x, y, z));
  return args.in(is_max(f) ? x + 1 : x - 1, y, z);
}

// `block`: some rows and all planes of a share, walked plane by plane.
template <class Isa, Source source, Store store, class T>
void sweep_block(const SweepArgs<T>& args, const Coefficients<Vector<Isa, T>>& cv, Box block) {
  const Int3 n = block.extent();
  const Index rows_ahead = larger(1, Policy::ahead_bytes / (n.x * static_cast<Index>(sizeof(T))));
  const Index planes_ahead = 1 + rows_ahead / n.y;
  const FieldView<const T> in = args.in;
  for (Index z = block.lo.z; z < block.hi.z; ++z) {
    for (Index y = block.lo.y; y < block.hi.y; ++y) {
      // In the order of this walk: rows_ahead rows on, in the plane above that one.
      const Index y_ahead = y + rows_ahead % n.y;
      const bool turns = y_ahead >= block.hi.y;
      const Index z_ahead = smaller(z + planes_ahead + (turns ? 1 : 0), block.hi.z);
      const Run<T> run = {&in(block.lo.x, y, z),
                          in.pitch_y,
                          in.pitch_z,
                          source == Source::field ? &args.source(block.lo.x, y, z) : nullptr,
                          &args.out(block.lo.x, y, z),
                          &in(block.lo.x, turns ? y_ahead - n.y : y_ahead, z_ahead),
                          n.x,
                          beyond(args, Face::x_min, block.lo.x, y, z),
                          beyond(args, Face::x_max, block.hi.x - 1, y, z)};
      sweep_run<Isa, source, store>(args.c, cv, run);
    }
  }
}

// Blocks of about equal size: no thin one at the end.
template <class Isa, Source source, Store store, class T>
void sweep_share(const SweepArgs<T>& args, Box mine) {
  using V = Vector<Isa, T>;
  const Coefficients<V> cv = {V::broadcast(args.c.c0), V::broadcast(args.c.cx), V::broadcast(args.c.cy),
                              V::broadcast(args.c.cz)};
  const Int3 n = mine.extent();
  const Index row_bytes = n.x * static_cast<Index>(sizeof(T));
  const Index parts_x = 1 + (row_bytes - 1) / Policy::row_bytes;
  const Index parts_y = smaller(n.y, 1 + (3 * n.y * row_bytes / parts_x - 1) / Policy::block_bytes);
  for (Index j = 0; j < parts_y; ++j) {
    const Range y = part_of({mine.lo.y, mine.hi.y}, j, parts_y);
    for (Index i = 0; i < parts_x; ++i) {
      const Range x = part_of({mine.lo.x, mine.hi.x}, i, parts_x);
      sweep_block<Isa, source, store>(args, cv, {{x.lo, y.lo, mine.lo.z}, {x.hi, y.hi, mine.hi.z}});
    }
  }
  if (store == Store::streaming) stream_fence();
}

// Streaming stores pay where the next sweep would not find the output in cache anyhow.
Store choose_store(std::size_t bytes_of_output) {
  return 2 * bytes_of_output > last_level_cache_bytes() ? Store::streaming : Store::cached;
}

template <class Isa, Source source, Store store, class T>
void sweep_all(const SweepArgs<T>& args) {
#pragma omp parallel if (args.region.cells() >= cells_worth_threads)
  {
    const Box mine = share(args.region, omp_get_thread_num(), omp_get_num_threads());
    if (!mine.empty()) sweep_share<Isa, source, store>(args, mine);
  }
}

}  // namespace

template <class Isa, class T>
void StencilOpenmp<Isa, T>::sweep(const SweepArgs<T>& args, Store store) {
  const bool streaming = store == Store::streaming;
  if (args.source.empty()) {
    streaming ? sweep_all<Isa, Source::none, Store::streaming>(args)
              : sweep_all<Isa, Source::none, Store::cached>(args);
  } else {
    streaming ? sweep_all<Isa, Source::field, Store::streaming>(args)
              : sweep_all<Isa, Source::field, Store::cached>(args);
  }
}

template <class Isa, class T>
void StencilOpenmp<Isa, T>::launch(const SweepArgs<T>& args, int, Stream) {
  if (args.region.empty()) return;
  sweep(args, choose_store(static_cast<std::size_t>(args.region.cells()) * sizeof(T)));
}

template struct StencilOpenmp<ISOTHERM_ISA, float>;
template struct StencilOpenmp<ISOTHERM_ISA, double>;

}  // namespace isotherm::host
