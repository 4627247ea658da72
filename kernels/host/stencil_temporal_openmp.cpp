// Temporal blocking: several sweeps in one pass over memory. The results of a tile's sweeps, its levels, stay
// in L2 while a wavefront of levels walks through it. Its lecture is lectures/cpu/04_cache_temporal.cpp.
//
// Algebra: `time_block` sweeps, each stencil_update() on vectors of x, two planes of one or two rows at once.
// Threads split the region by share(). A thread cuts its share into tiles of rows (and of columns, where rows
// are long) and walks each along z. Traffic per cell, for all sweeps of a launch: one read and, past the
// last-level cache, one streaming write; the margins of a tile are read again, mostly from L3. The norm is
// that of the last level, summed as in the kernel `openmp`.
//
// Memory: the queues of all threads are one allocation of the launching thread. It grows if a launch needs
// more, and exists until it is released or the thread ends. No launch reads data of an earlier one.

#include <omp.h>

#include <algorithm>
#include <new>

#include "kernels/host/host_kernels.hpp"
#include "kernels/host/material_rows.hpp"

namespace isotherm::host {
namespace temporal {

// One pass of sweeps of a time block: a level's cells in some rows of two adjacent planes. It reads from and
// writes to a field or a queue of rows.

inline constexpr Index run_bytes = 8 << 10;           // most in a tile's row, so that a tile has enough rows
inline constexpr int most_rows = 2, planes = 2;       // of a pass
inline constexpr int most_runs = most_rows * planes;  // run r: the cells of row r / planes, plane r % planes

ISOTHERM_INLINE constexpr Index line_elements(std::size_t element_bytes) {
  return 64 / static_cast<Index>(element_bytes);
}
ISOTHERM_INLINE Index rounded_down(Index i, Index unit) { return (i >= 0 ? i : i - unit + 1) / unit * unit; }

// Cells of a pass: a tile's row, and lines for its margins.
template <class T>
inline constexpr Index most_cells = run_bytes / static_cast<Index>(sizeof(T)) + 128;

// The registers: those preferred on the processor, or its widest.
enum class Way { preferred, wide };

// The x neighbours of the first or the last cells of rows: ghosts of a boundary, or the next cells in memory.
template <class T>
struct RowEnd {
  const Boundary<T>* boundary;  // or null
  Index y[most_rows], z[planes];
  int sweep;

  ISOTHERM_INLINE_MEMBER T beyond(int r, T cell, const T* next) const {
    return boundary ? boundary->ghost(y[r / planes], z[r % planes], cell, sweep) : *next;
  }
};

// Rows y, y + 1, ... of planes z and z + 1, `cells` along x; pointers at their first cells.
template <class T>
struct Pass {
  const T* in[planes + 2];  // row y of planes z - 1 to z + 2; other rows at multiples of in_pitch from it.
  Index in_pitch;           // Rows of z and z + 1 have a row on either side
  T* out[most_runs];
  const T* source[most_runs];
  const T* ahead[3];  // rows to prefetch, or null
  Index cells;
  RowEnd<T> ends[2];
  double* norm[most_runs];  // destinations of the runs' norms
  ReductionOp op;           // of these
  // In a domain of several materials: the range of valid cells, and the classes, from the first of these on,
  // of rows y - 1, y, ... in planes z - 1 to z + 2.
  Index counted[2];
  const std::uint8_t* classes[planes + 2][most_rows + 2];

  ISOTHERM_INLINE_MEMBER const T* run(int r) const { return in[1 + r % planes] + r / planes * in_pitch; }
  ISOTHERM_INLINE_MEMBER T x_lo(int r) const { return ends[0].beyond(r, run(r)[0], run(r) - 1); }
  ISOTHERM_INLINE_MEMBER T x_hi(int r) const { return ends[1].beyond(r, run(r)[cells - 1], run(r) + cells); }
  ISOTHERM_INLINE_MEMBER CellRow<T> row(int r, double* lanes) const {
    const int p = r % planes, i = r / planes;
    const T *const lower = in[p] + i * in_pitch, *const upper = in[p + 2] + i * in_pitch;
    return {
        run(r),    {run(r) - in_pitch, run(r) + in_pitch, lower, upper},
        source[r], out[r],
        cells,     x_lo(r),
        x_hi(r),   lanes,
        op,
    };
  }
  ISOTHERM_INLINE_MEMBER MaterialRow<T> material_row(int r, double* lanes) const {
    const int p = r % planes, i = r / planes;
    return {row(r, lanes),
            classes[p + 1][i + 1],
            {classes[p + 1][i], classes[p + 1][i + 2], classes[p][i + 1], classes[p + 2][i + 1]}};
  }
};

// Is row y + i - 1 of plane z + q - 1 in a pass or adjacent to it?
template <int rows>
ISOTHERM_INLINE constexpr bool around(int q, int i) {
  return (q > 0 && q <= planes) || (i > 0 && i <= rows);
}

// The lanes of the norms of a pass's runs.
template <class T>
struct Lanes {  // not a bare array: nm cannot read its bound in the name of a function
  double of[most_runs][norm_lanes<T>];
};

// Sweeps cells [from, to) in whole vectors; returns the end of these. Operands are in locals, as in
// stencil_openmp.cpp; loops over the runs are unrolled, so that operands stay in registers.
template <class Isa, Source source, Store store, Update update, Way way, int rows, class T>
[[gnu::noinline]] Index sweep_vectors(const Coefficients<T>& coefficients, const Pass<T>& pass,
                                      Lanes<T>& lanes, Index from, Index to) {
  using V = Vector<Isa, T, way == Way::wide ? widest<Isa> : preferred<Isa>>;
  constexpr int runs = rows * planes;
  if (from + V::lanes > to) return from;
  const Coefficients<V> c = broadcast<V>(coefficients);
  const Index pitch = pass.in_pitch;
  const T *const below = pass.in[0], *const lower = pass.in[1], *const upper = pass.in[2],
                 *const above = pass.in[3], *const ahead[] = {pass.ahead[0], pass.ahead[1], pass.ahead[2]};
  const T* s[runs];
  T* out[runs];
  V before[runs], centre[runs], after[runs];
  LaneNorm<update, Isa, T> norm[runs];
  const auto run = [&](int r) ISOTHERM_INLINE_LAMBDA {
    return (r % planes == 0 ? lower : upper) + r / planes * pitch;
  };
#pragma GCC unroll 4
  for (int r = 0; r < runs; ++r) {
    s[r] = pass.source[r];
    out[r] = pass.out[r];
    before[r] = from == 0 ? V::broadcast(pass.x_lo(r)) : V::load(run(r) + from - V::lanes);
    centre[r] = V::load(run(r) + from);
    if constexpr (update != Update::none) norm[r].load(lanes.of[r], from);
  }
  const auto sweep = [&](Index x) ISOTHERM_INLINE_LAMBDA {
#pragma GCC unroll 3
    for (const T* row : ahead)
      if (row) __builtin_prefetch(row + x);
#pragma GCC unroll 4
    for (int r = 0; r < runs; ++r) {
      const bool in_lower = r % planes == 0;
      const V y_lo = r < planes ? V::load(run(r) - pitch + x) : centre[r - planes],
              y_hi = r >= runs - planes ? V::load(run(r) + pitch + x) : centre[r + planes],
              z_lo = in_lower ? V::load(below + r / planes * pitch + x) : centre[r - 1],
              z_hi = in_lower ? centre[r + 1] : V::load(above + r / planes * pitch + x);
      const V value = stencil_update(c, centre[r], V::one_before(before[r], centre[r]),
                                     V::one_after(centre[r], after[r]), y_lo, y_hi, z_lo, z_hi,
                                     source == Source::field ? scaled_source(c, V::load(s[r] + x)) : c.heat);
      store == Store::streaming ? V::store_streaming(out[r] + x, value) : V::store(out[r] + x, value);
      norm[r].add(pass.op, value, centre[r]);
    }
    std::copy_n(centre, runs, before);
    std::copy_n(after, runs, centre);
  };
  // Only one cell is read after the last vector of a run.
  Index x = from;
  for (const Index inner = smaller(to, pass.cells - 1); x + V::lanes <= inner; x += V::lanes) {
#pragma GCC unroll 4
    for (int r = 0; r < runs; ++r) after[r] = V::load(run(r) + x + V::lanes);
    sweep(x);
  }
  if (x + V::lanes <= to) {
    for (int r = 0; r < runs; ++r) after[r] = V::broadcast(pass.x_hi(r));
    sweep(x);
    x += V::lanes;
  }
#pragma GCC unroll 4
  for (int r = 0; r < runs && update != Update::none; ++r) norm[r].store(lanes.of[r], x);
  return x;
}

// Sweeps a few cells, by cached stores.
template <class Isa, Source source, Update update, int rows, class T>
void sweep_cached(const Coefficients<T>& c, const Pass<T>& pass, Lanes<T>& lanes, Index from, Index to) {
  for (int r = 0; r < rows * planes; ++r)
    sweep_cells<Isa, source, update>(c, pass.row(r, lanes.of[r]), from, to);
}

template <class Isa, Update update, int rows, class T>
ISOTHERM_INLINE void put_norms(const Pass<T>& pass, const Lanes<T>& lanes) {
  if constexpr (update != Update::none)
    for (int r = 0; r < rows * planes; ++r) *pass.norm[r] = combined(pass.op, 0, lanes.of[r], norm_lanes<T>);
}

// All cells, of one class. Vectors start at a cache line of the output; only whole lines are streamed.
template <class Isa, Source source, Store store, Update update, Way way, int rows, class T>
void sweep_alike(const Coefficients<T>& c, const Pass<T>& pass) {
  constexpr Index line = line_elements(sizeof(T));
  const Index cell = static_cast<Index>(reinterpret_cast<std::uintptr_t>(pass.out[0]) / sizeof(T));
  const Index first = smaller(pass.cells, (line - cell % line) % line);
  Lanes<T> lanes = {};
  if (first > 0) sweep_cached<Isa, source, update, rows>(c, pass, lanes, 0, first);
  Index x = first;
  if constexpr (store == Store::streaming) {
    const Index end = pass.cells - (cell + pass.cells) % line;
    x = sweep_vectors<Isa, source, Store::streaming, update, way, rows>(c, pass, lanes, x, end);
  }
  x = sweep_vectors<Isa, source, Store::cached, update, way, rows>(c, pass, lanes, x, pass.cells);
  if (x < pass.cells) sweep_cached<Isa, source, update, rows>(c, pass, lanes, x, pass.cells);
  put_norms<Isa, update, rows>(pass, lanes);
}

// In a domain of several materials: sweeps rows together where they and the rows around have one class. If
// all cells have one class, it sweeps none and returns the coefficients of the class, otherwise null.
template <class Isa, Source source, Update update, Way way, int rows, class T>
const Coefficients<T>* sweep_materials(const Materials<T>& m, int sweep, const Pass<T>& pass) {
  const Index lo = pass.counted[0], hi = pass.counted[1];
  ClassCuts<most_cells<T>> cuts(pass.cells);
  for (int q = 0; q < planes + 2; ++q)
    for (int i = 0; i < rows + 2; ++i)
      if (around<rows>(q, i)) cuts.add(pass.classes[q][i], lo, hi);
  Lanes<T> lanes = {};
  for (Index from = 0, to; from < pass.cells; from = to) {
    to = cuts.end_of(from);
    const Index at = smaller(larger(from, lo), hi - 1) - lo;
    const int own = pass.classes[1][1][at];
    bool is_one = to > from + 1;
    for (int q = 0; q < planes + 2; ++q)
      for (int i = 0; i < rows + 2; ++i)
        is_one = is_one && (!around<rows>(q, i) || pass.classes[q][i][at] == own);
    if (is_one) {
      const Coefficients<T>& c = m.coefficients[sweep][own];
      if (from == 0 && to == pass.cells) return &c;
      const Index x = sweep_vectors<Isa, source, Store::cached, update, way, rows>(c, pass, lanes, from, to);
      sweep_cached<Isa, source, update, rows>(c, pass, lanes, x, to);
    } else {
      for (int r = 0; r < rows * planes; ++r)
        sweep_between_cuts<Isa, source, update>(m, sweep, pass.material_row(r, lanes.of[r]), from, to, at);
    }
  }
  put_norms<Isa, update, rows>(pass, lanes);
  return nullptr;
}

template <class Isa, Source source, Store store, Update update, Way way, int rows, class T>
void sweep_pass(const SweepArgs<T>& args, int sweep, const Pass<T>& pass) {
  const Coefficients<T>* const alike =
      args.materials.empty() ? &args.c[sweep]
                             : sweep_materials<Isa, source, update, way, rows>(args.materials, sweep, pass);
  if (alike) sweep_alike<Isa, source, store, update, way, rows>(*alike, pass);
}

template <class T>
using SweepPass = void (*)(const SweepArgs<T>&, int sweep, const Pass<T>&);

// The functions of the last level and of those before it, which have no norm and use cached stores.
template <class T>
struct Passes {
  SweepPass<T> inner, last;
};
template <class Isa, Way way, int rows, class T>
Passes<T> pick(const SweepArgs<T>& args, Store store) {
  Passes<T> picked;
  with_source(args.source, [&]<Source source>() {
    picked.inner = sweep_pass<Isa, source, Store::cached, Update::none, way, rows, T>;
    with_update(args.norm, [&]<Update update>() {
      picked.last = store == Store::cached ? sweep_pass<Isa, source, Store::cached, update, way, rows, T>
                                           : sweep_pass<Isa, source, Store::streaming, update, way, rows, T>;
    });
  });
  return picked;
}

// A tile has some rows and all planes of a thread's share. A wavefront of levels walks it once along z. A
// step of the walk sweeps two planes of every level; level l is one plane and one row behind level l - 1. Its
// inputs in this step's planes have just been computed and are in L1; the two planes below are those of the
// previous step and are read from L2. A level stores only two planes of rows, its queue: a row is overwritten
// in place once it is no longer read. So that a queue needs no second copy of the rows, the walk alternates:
// up through the rows in one step, down in the next. An upward step writes `slack` rows below the rows that a
// downward step wrote. (Most wavefront codes have a circular buffer of planes. They read four planes of each
// level from L2 for two that are written to other lines.)
//
// Tiles are independent: a tile also sweeps cells of its neighbours, time_block - l of them on each side at
// level l (overlapped tiling), but none beyond a boundary. Along x whole cache lines are swept; the invalid
// cells in them do not affect valid cells.
//
// Boundaries: across x the ghost beyond the end of a row is computed when it is read. Across y and z a level
// adds rows of ghosts to its queue, next to the row at the boundary. Level 1 reads the field; it copies the
// few rows at a boundary, with ghosts, and reads the copy.

// How a launch is cut into tiles; the same on all threads.
struct Cut {
  int time_block;
  Index columns;    // of a tile, whole lines
  Index most_rows;  // of a tile
};

inline constexpr int max_time_block = most_sweeps_per_launch;

inline constexpr int slack = most_rows + 3;  // rows between those that steps up and down write
inline constexpr int spare = 2;              // rows before and after those of a queue

// Elements from a row of a queue to the same row of its other plane. An odd number of lines, so that rows map
// to different sets of L1.
template <class T>
ISOTHERM_INLINE Index queue_pitch(const Cut& cut) {
  constexpr Index line = line_elements(sizeof(T));
  const Index lines = cut.columns / line + 2 * ((cut.time_block + line - 1) / line) + 2;
  return (lines | 1) * line;
}
ISOTHERM_INLINE Index queue_rows(const Cut& cut, Index rows, int level) {
  return rows + 2 * (cut.time_block - level) + slack + 2 * spare;
}
inline constexpr int copied_rows = (planes + 2) * (most_rows + 2);
// Elements of memory for a tile of `rows` rows.
template <class T>
ISOTHERM_INLINE Index tile_elements(const Cut& cut, Index rows) {
  Index all = copied_rows + 1;
  for (int level = 1; level < cut.time_block; ++level) all += planes * queue_rows(cut, rows, level);
  return all * queue_pitch<T>(cut) + line_elements(sizeof(T));
}

// `part`: the number of the tile's columns, of which each row has a norm in `norms`.
template <class Isa, int rows, class T>
class Tile {
 public:
  Tile(const SweepArgs<T>& args, const Passes<T>& passes, const Cut& cut, Box box, Index part,
       const PartialNorms& norms, T* scratch)
      : args_(args),
        passes_(passes),
        time_block_(cut.time_block),
        box_(box),
        field_(args.boundaries.widened(box, cut.time_block, args.in.extent)),
        part_(part),
        pitch_(queue_pitch<T>(cut)),
        norms_(norms),
        copy_(scratch + line),
        nowhere_(copy_ + copied_rows * pitch_) {
    T* memory = nowhere_ + pitch_;
    for (int level = 1; level <= time_block_; ++level) {
      Level& l = levels_[level];
      l.box = args.boundaries.widened(box, time_block_ - level, args.in.extent);
      l.queue = memory + spare * planes * pitch_;
      if (level < time_block_) memory += planes * pitch_ * queue_rows(cut, box.extent().y, level);
    }
    const Index n_x = args_.in.extent.x;
    lo_ = rounded_down(levels_[1].box.lo.x, line);
    const Index hi = levels_[1].box.hi.x;
    hi_ = at_boundary(Face::x_max) && hi == n_x ? n_x : rounded_down(hi + line - 1, line);
  }

  void sweep() {
    for (Index step = 0;; ++step) {
      const Index z = levels_[1].box.lo.z + planes * step;
      if (z - (time_block_ - 1) >= box_.hi.z) return;
      sweep_step(z, step % 2 == 0);
    }
  }

 private:
  static constexpr Index line = line_elements(sizeof(T));
  struct Level {
    Box box;   // along y and z the valid cells
    T* queue;  // the row box.lo.y of the lower plane after a step up; the last level has none
  };

  bool at_boundary(Face f) const { return args_.boundaries.faces[static_cast<int>(f)].is_boundary; }

  // z: the lower plane of level 1.
  void sweep_step(Index z, bool up) {
    const Box first = levels_[1].box;
    const Index waves = (first.extent().y + time_block_) / rows + 1;
    up_ = up;
    asked_ = 0;
    for (Index wave = 0; wave < waves; ++wave) {
      for (int level = 1; level <= time_block_; ++level) {
        const Index offset = wave * rows - (level - 1);
        const Index y = up ? first.lo.y + offset : first.hi.y - rows - offset, at = z - (level - 1);
        const Box& box = levels_[level].box;
        if (y + rows <= box.lo.y || y >= box.hi.y) continue;
        if (at + planes > box.lo.z && at < box.hi.z)
          sweep_level(level, y, at, z + planes + 1, ask_again(level, wave + 1, z + 1));
        if (level < time_block_) add_ghosts(level, y, at);
      }
    }
  }

  // Cell lo_ of row y of a level's queue; plane 0 or 1 of this step, or of the step before.
  T* queued(int level, Index y, int plane) const { return queued(level, y, plane, !up_); }
  T* queued_before(int level, Index y, int plane) const { return queued(level, y, plane, up_); }
  T* queued(int level, Index y, int plane, bool above) const {
    const Level& l = levels_[level];
    return l.queue + (planes * (y - l.box.lo.y + (above ? slack : 0)) + plane) * pitch_;
  }

  // Sweeps level `level` of rows y... and planes z, z + 1. `ahead`: a plane that level 1 will read in the
  // next step; `again`: a row that it will read soon.
  void sweep_level(int level, Index y, Index z, Index ahead, const T* again) {
    const bool last = level == time_block_;
    const Index x = last ? box_.lo.x : lo_;
    Pass<T> pass;
    pass.cells = (last ? box_.hi.x : hi_) - x;
    level == 1 ? read_field(pass, x, y, z) : read_queue(pass, level, x, y);
    for (const bool max : {false, true}) put_boundary(pass, max, level, max ? x + pass.cells : x, y, z);
    for (int r = 0; r < rows * planes; ++r) write(pass, r, level, x, {0, y + r / planes, z + r % planes});
    // Few prefetches at a time: a processor drops requests while many are outstanding.
    for (int k = 0; k < 2; ++k)
      pass.ahead[k] = level == 1 || k == 0 || time_block_ < 4 ? ask(ahead) : nullptr;
    pass.ahead[2] = again;
    pass.op = args_.norm.op;
    if (!args_.materials.empty()) put_classes(pass, level, x, y, z);
    (last ? passes_.last : passes_.inner)(args_, level - 1, pass);
  }

  static Index place_in_line(const T* cell) {
    return static_cast<Index>(reinterpret_cast<std::uintptr_t>(cell) / sizeof(T)) % line;
  }
  void write(Pass<T>& pass, int r, int level, Index x, Int3 at) {
    const Box& box = levels_[level].box;
    const Index y = within(at.y, box, 1), z = within(at.z, box, 2);
    const bool counts = y == at.y && z == at.z;
    pass.source[r] = args_.source.empty() ? nullptr : &args_.source(x, y, z);
    pass.norm[r] = &dropped_;
    if (level < time_block_) {
      pass.out[r] = queued(level, at.y, r % planes);
    } else if (!counts) {
      pass.out[r] = nowhere_ + place_in_line(&args_.out(x, y, z));
    } else {
      pass.out[r] = &args_.out(x, y, z);
      if (args_.norm.result) pass.norm[r] = norms_.at(args_.norm, part_, y, z);
    }
  }

  // Sets the boundary at which the rows end, if any; x: of that end.
  void put_boundary(Pass<T>& pass, bool max, int level, Index x, Index y, Index z) const {
    const Boundary<T>& boundary = args_.boundaries.faces[static_cast<int>(face(0, max))];
    RowEnd<T>& end = pass.ends[max];
    end.boundary = boundary.is_boundary && x == (max ? args_.in.extent.x : 0) ? &boundary : nullptr;
    end.sweep = level - 1;
    for (int i = 0; i < rows; ++i) end.y[i] = within(y + i, levels_[level].box, 1);
    for (int p = 0; p < planes; ++p) end.z[p] = within(z + p, levels_[level].box, 2);
  }

  // Sets the classes of valid rows and planes, and of their neighbours.
  void put_classes(Pass<T>& pass, int level, Index x, Index y, Index z) const {
    const Box& box = levels_[level].box;
    const Box known{{larger(box.lo.x, x), box.lo.y - 1, box.lo.z - 1},
                    {box.hi.x, box.hi.y + 1, box.hi.z + 1}};
    pass.counted[0] = known.lo.x - x;
    pass.counted[1] = smaller(box.hi.x - x, pass.cells);
    for (int q = 0; q < planes + 2; ++q)
      for (int i = 0; i < rows + 2; ++i)
        pass.classes[q][i] =
            &args_.materials.classes(known.lo.x, within(y + i - 1, known, 1), within(z + q - 1, known, 2));
  }

  // Level `level` reads the queue of the previous level.
  void read_queue(Pass<T>& pass, int level, Index x, Index y) const {
    for (int p = 0; p < planes; ++p) {
      pass.in[p] = queued_before(level - 1, y, p) + (x - lo_);
      pass.in[planes + p] = queued(level - 1, y, p) + (x - lo_);
    }
    pass.in_pitch = planes * pitch_;
  }

  // Level 1 reads the field, or a copy where some of the rows or planes are beyond a boundary or outside the
  // valid cells.
  void read_field(Pass<T>& pass, Index x, Index y, Index z) const {
    const FieldView<const T>& in = args_.in;
    const bool all = y > field_.lo.y && y + rows < field_.hi.y && z > field_.lo.z && z + planes < field_.hi.z;
    pass.in_pitch = all ? in.pitch_y : pitch_;
    for (int q = 0; q < planes + 2; ++q) {
      T* const copied = copy_ + (q * (rows + 2) + 1) * pitch_;
      pass.in[q] = all ? &in(x, y, z + q - 1) : copied;
      for (int i = -1; i <= rows && !all; ++i)
        copy_row(copied + i * pitch_, pass.cells, {x, y + i, z + q - 1});
    }
  }
  static Index within(Index i, const Box& box, int axis) {
    return smaller(larger(i, box.lo[axis]), box.hi[axis] - 1);
  }
  // Copies the row of the field that starts at cell `at`, or makes a row of ghosts.
  void copy_row(T* to, Index cells, Int3 at) const {
    const Index y = within(at.y, field_, 1), z = within(at.z, field_, 2);
    const T* const from = &args_.in(at.x, y, z);
    for (int axis = 1; axis < 3; ++axis) {
      for (const bool max : {false, true}) {
        const bool beyond_face = at[axis] == (max ? args_.in.extent[axis] : -1);
        if (beyond_face && at_boundary(face(axis, max)))
          return make_ghosts(face(axis, max), 0, to, from, at.x, cells, axis == 1 ? z : y);
      }
    }
    // One more cell at either end, where the field has one.
    const Index lo = at.x > field_.lo.x ? -1 : 0, hi = at.x + cells < field_.hi.x ? cells + 1 : cells;
    for (Index i = lo; i < hi; ++i) to[i] = from[i];
  }
  // Makes ghosts for sweep `sweep` beyond a boundary across y or z, from the row at the boundary, which
  // starts at cell x; q: the other index of its b. Only where the field has cells.
  [[gnu::noinline]] void make_ghosts(Face f, int sweep, T* ghosts, const T* from, Index x, Index cells,
                                     Index q) const {
    const Boundary<T>& boundary = args_.boundaries.faces[static_cast<int>(f)];
    const Index end = smaller(cells, field_.hi.x - x);
    for (Index i = larger(0, field_.lo.x - x); i < end; ++i)
      ghosts[i] = boundary.ghost(x + i, q, from[i], sweep);
  }

  // Adds the rows of ghosts that depend on a level's rows y... of planes z and z + 1. A ghost below the upper
  // plane is in a plane of this step, one below the lower plane in one of the step before; above likewise.
  void add_ghosts(int level, Index y, Index z) {
    const Box& box = levels_[level].box;
    const Index n_y = args_.in.extent.y, n_z = args_.in.extent.z, cells = hi_ - lo_;
    if (y > 0 && y + rows < n_y && z > 0 && z + planes < n_z) return;
    const bool floor = at_boundary(Face::z_min) && box.lo.z == 0,
               ceiling = at_boundary(Face::z_max) && box.hi.z == n_z;
    for (Index at = larger(y, box.lo.y); at < smaller(y + rows, box.hi.y); ++at) {
      T *const lower = queued(level, at, 0), *const upper = queued(level, at, 1),
               *const before = queued_before(level, at, 1);
      if (floor && z == -1) make_ghosts(Face::z_min, level, lower, upper, lo_, cells, at);
      if (floor && z == 0) make_ghosts(Face::z_min, level, before, lower, lo_, cells, at);
      if (ceiling && z == n_z - 1) make_ghosts(Face::z_max, level, upper, lower, lo_, cells, at);
      if (ceiling && z == n_z) make_ghosts(Face::z_max, level, lower, before, lo_, cells, at);
      for (int p = 0; p < planes; ++p) {
        if (z + p < box.lo.z || z + p >= box.hi.z) continue;
        if (at == 0 && at_boundary(Face::y_min))
          make_ghosts(Face::y_min, level, queued(level, -1, p), queued(level, 0, p), lo_, cells, z + p);
        if (at == n_y - 1 && at_boundary(Face::y_max))
          make_ghosts(Face::y_max, level, queued(level, n_y, p), queued(level, at, p), lo_, cells, z + p);
      }
    }
  }

  // The next row to prefetch, of the two planes that level 1 reads first in the next step and in their order.
  // Null: none is left.
  const T* ask(Index plane) {
    const Index row = asked_ / planes, z = plane + asked_ % planes;
    ++asked_;
    if (row >= field_.extent().y || z >= field_.hi.z) return nullptr;
    return &args_.in(lo_, up_ ? field_.hi.y - 1 - row : field_.lo.y + row, z);
  }

  // Level 1 reads some new rows in each wave. Returns the one that this level prefetches again, because the
  // processor drops a tenth of the requests.
  const T* ask_again(int level, Index wave, Index plane) const {
    if (level > rows * planes) return nullptr;
    const Box& box = levels_[1].box;
    const Index y =
        (up_ ? box.lo.y + 1 + wave * rows : box.hi.y - 1 - (wave + 1) * rows) + (level - 1) % rows;
    const Index z = plane + (level - 1) / rows;
    if (y < field_.lo.y || y >= field_.hi.y || z >= field_.hi.z) return nullptr;
    return &args_.in(lo_, y, z);
  }

  const SweepArgs<T>& args_;
  Passes<T> passes_;
  int time_block_;
  Box box_, field_;  // cells that are swept; cells of `in` that are read
  Index part_, pitch_;
  PartialNorms norms_;
  T *copy_, *nowhere_;
  Level levels_[1 + max_time_block];
  Index lo_, hi_;  // along x, of the levels before the last
  bool up_ = true;
  Index asked_ = 0;
  double dropped_ = 0;
};

}  // namespace temporal

namespace {

using namespace temporal;

constexpr std::array<std::string_view, 3> tiles = {"2rows", "1row", "2rows_wide"};
// A tile and its input may fill seven eighths of an L2 or, where that is more, the thread's share of the
// last-level cache, at most a twelfth of that cache.
constexpr std::size_t cache_eighths = 7, far_part = 12;
constexpr Index least_rows = 8;  // of a tile: with fewer, its margins cost more than L3 does

template <class T>
ISOTHERM_INLINE Index parts_of(Box region) {
  return 1 + (region.extent().x * static_cast<Index>(sizeof(T)) - 1) / run_bytes;
}
template <class T>
ISOTHERM_INLINE PartialNorms partial_norms(Box region) {
  return {region, parts_of<T>(region)};
}
// Columns begin at cache lines.
template <class T>
ISOTHERM_INLINE Range columns_of(Box region, Index part) {
  constexpr Index line = line_elements(sizeof(T));
  const Index parts = parts_of<T>(region);
  const Range x = part_of({region.lo.x, region.hi.x}, part, parts);
  return {part == 0 ? x.lo : rounded_down(x.lo, line), part == parts - 1 ? x.hi : rounded_down(x.hi, line)};
}

int threads_of(Box region, int time_block) {
  return region.cells() * time_block < cells_worth_threads ? 1 : omp_get_max_threads();
}

std::size_t tile_bytes_here(int threads) {
  const auto sharers = static_cast<std::size_t>(sharers_of_last_level_cache(threads));
  const std::size_t bytes = second_level_cache_bytes() / 8 * cache_eighths,
                    far = last_level_cache_bytes() / (sharers > far_part ? sharers : far_part);
  return bytes < far ? far : bytes;
}

// The most rows for which a tile's queues, and the planes of `in` that it reads, fit in the cache.
template <class T>
Cut cut_of(Box region, int time_block, int threads, std::size_t tile_bytes) {
  constexpr Index line = line_elements(sizeof(T));
  Cut cut{time_block, (region.extent().x / parts_of<T>(region) / line + 2) * line, 0};
  const Index cache = static_cast<Index>(tile_bytes / sizeof(T)) / queue_pitch<T>(cut);
  const Index margins =
      planes * (time_block - 1) * (time_block + slack + 2 * spare) + (planes + 2) * 2 * time_block;
  cut.most_rows = larger(least_rows, (cache - margins) / (planes * (time_block - 1) + planes + 2));
  cut.most_rows = rounded_down(cut.most_rows, most_rows);
  cut.most_rows = smaller(cut.most_rows, share(region, 0, threads, time_block - 1).extent().y + 1);
  return cut;
}
// Elements of the queues of one thread, in whole pages.
template <class T>
Index queue_elements(const Cut& cut) {
  return (tile_elements<T>(cut, cut.most_rows) + 4096) / 4096 * 4096;
}

// The queues of all threads; see the top of this file.
struct Scratch {
  void* memory = nullptr;
  std::size_t bytes = 0;

  void* of(std::size_t wanted) {
    if (wanted > bytes) {
      release();
      memory = ::operator new (wanted, std::align_val_t{4096});
      bytes = wanted;
    }
    return memory;
  }
  void release() {
    ::operator delete (memory, std::align_val_t{4096});
    memory = nullptr;
    bytes = 0;
  }
  ~Scratch() { release(); }
};
thread_local Scratch queues;

template <class Isa, int rows, class T>
void sweep_share(const SweepArgs<T>& args, const Passes<T>& passes, const Cut& cut, Box mine, T* scratch) {
  // Tiles of equal size, in whole passes: for an odd row, level 1 would have to copy its input.
  const Index n_y = mine.extent().y, tiles_y = (n_y + cut.most_rows - 1) / cut.most_rows;
  const Index tile_rows =
      smaller(cut.most_rows, rounded_down((n_y + tiles_y - 1) / tiles_y + rows - 1, rows));
  const PartialNorms norms = partial_norms<T>(args.region);
  for (Index lo = mine.lo.y; lo < mine.hi.y; lo += tile_rows) {
    const Range y{lo, smaller(lo + tile_rows, mine.hi.y)};
    for (Index i = 0; i < norms.parts; ++i) {
      const Range x = columns_of<T>(args.region, i);
      const Box tile{{x.lo, y.lo, mine.lo.z}, {x.hi, y.hi, mine.hi.z}};
      Tile<Isa, rows, T>(args, passes, cut, tile, i, norms, scratch).sweep();
    }
  }
  stream_fence();
}

template <class Isa, Way way, int rows, class T>
void sweep_all(const SweepArgs<T>& args, int time_block, Store store, std::size_t tile_bytes) {
  const Passes<T> passes = pick<Isa, way, rows>(args, store);
  const int most_threads = threads_of(args.region, time_block);
  const Cut cut = cut_of<T>(args.region, time_block, most_threads, tile_bytes);
  const Index each = queue_elements<T>(cut);
  T* const scratch = static_cast<T*>(queues.of(static_cast<std::size_t>(each * most_threads) * sizeof(T)));
#pragma omp parallel num_threads(most_threads) if (most_threads > 1)
  {
    const int thread = omp_get_thread_num();
    const Box mine = share(args.region, thread, omp_get_num_threads(), time_block - 1);
    if (!mine.empty()) sweep_share<Isa, rows>(args, passes, cut, mine, scratch + thread * each);
  }
}

template <class Isa, class T>
void launch(const SweepArgs<T>& args, SweepPlan plan, Stream) {
  sweep_temporal_openmp<Isa>(args, plan,
                             choose_store(static_cast<std::size_t>(args.region.cells()) * sizeof(T)),
                             tile_bytes_here(threads_of(args.region, plan.time_block)));
}

template <class T>
std::size_t queue_bytes(Box region, SweepPlan plan) {
  if (region.empty()) return 0;
  const int threads = threads_of(region, plan.time_block);
  const Cut cut = cut_of<T>(region, plan.time_block, threads, tile_bytes_here(threads));
  return static_cast<std::size_t>(queue_elements<T>(cut) * threads) * sizeof(T);
}
template <class T>
constexpr LaunchMemory launch_memory{&queue_bytes<T>, [] { return queues.bytes; }, [] { queues.release(); }};

}  // namespace

template <class Isa, class T>
void sweep_temporal_openmp(const SweepArgs<T>& args, SweepPlan plan, Store store, std::size_t tile_bytes) {
  if (!args.region.empty()) {
    // Where the widest registers are the preferred ones, do not compile their code twice.
    constexpr Way wide = widest<Isa> == preferred<Isa> ? Way::preferred : Way::wide;
    const auto sweep = plan.tile == 0   ? sweep_all<Isa, Way::preferred, 2, T>
                       : plan.tile == 1 ? sweep_all<Isa, Way::preferred, 1, T>
                                        : sweep_all<Isa, wide, 2, T>;
    sweep(args, plan.time_block, store, tile_bytes);
  }
  partial_norms<T>(args.region).finish(args.norm);
}

template <class Isa, class T>
void stencil_temporal_openmp(StencilKernel<T>& kernel) {
  kernel.launch = launch<Isa, T>;
  kernel.max_time_block = max_time_block;
  kernel.own_boundaries = {true, true, true};
  kernel.tiles = tiles;
  kernel.norm_scratch_bytes = [](Box region, int) { return partial_norms<T>(region).bytes(); };
  kernel.memory = &launch_memory<T>;
  kernel.sweeps_materials = true;
}

ISOTHERM_INSTANTIATE(stencil_temporal_openmp, StencilKernel);
template void sweep_temporal_openmp<ISOTHERM_ISA>(const SweepArgs<float>&, SweepPlan, Store, std::size_t);
template void sweep_temporal_openmp<ISOTHERM_ISA>(const SweepArgs<double>&, SweepPlan, Store, std::size_t);

}  // namespace isotherm::host
