// A tile of fused sweeps: some rows, all planes of a thread's share, walked once while a wavefront of levels
// goes along.
//
// A step of the walk sweeps two planes of every level, level l one plane behind level l - 1. In it the levels
// go through the rows side by side, level l one row behind level l - 1: what level l reads of this step's
// planes has just been computed, and lies in L1; the two planes below are those of the step before, from L2.
// These are all that a level keeps, its queue: two planes of rows, each row left until nobody reads it any
// more and then overwritten where it lies, in L1 still. So that rows need no room twice, the walk turns: up
// through the rows in one step, down in the next, and what an upward step writes lies `slack` rows below what
// a downward one wrote. (With a ring of planes, as in most wavefront codes, four planes of each level are
// read from L2 for two that are written to other lines.)
//
// A tile stands alone: it sweeps its neighbours' cells too, depth - l of them on each side at level l
// (overlapped tiling), but none beyond a boundary. Along x whole cache lines are swept; of their cells that
// do not count, and of rows and planes that a pass sweeps beside the last that counts, nothing reaches a cell
// that does.
//
// Boundaries: across x the boundary rule makes the cell beyond the end of a row where that is read. Across y
// and z a level puts rows of ghosts into its queue, behind the row at the boundary; level 1, which reads the
// field, takes a copy of the few rows at a boundary, with ghosts.
#pragma once

#include "kernels/host/fused_pass.hpp"

namespace isotherm::host::fused {

// How a launch is cut; the same on all threads.
struct Cut {
  int depth;
  Index columns;    // of a tile, whole lines
  Index most_rows;  // of a tile
};

inline constexpr int most_depth = 8;

inline constexpr int slack = most_rows + 3;  // rows between what steps up and down write
inline constexpr int spare = 2;              // rows before and behind those of a queue

// Elements from one row of a queue to that of its other plane. An odd number of lines: rows in other sets of
// L1.
template <class T>
ISOTHERM_INLINE Index queue_pitch(const Cut& cut) {
  constexpr Index line = line_elements(sizeof(T));
  const Index lines = cut.columns / line + 2 * ((cut.depth + line - 1) / line) + 2;
  return (lines | 1) * line;
}
ISOTHERM_INLINE Index queue_rows(const Cut& cut, Index rows, int level) {
  return rows + 2 * (cut.depth - level) + slack + 2 * spare;
}
inline constexpr int copied_rows = (planes + 2) * (most_rows + 2);
// What a tile of so many rows needs.
template <class T>
ISOTHERM_INLINE Index tile_elements(const Cut& cut, Index rows) {
  Index all = copied_rows + 1;
  for (int level = 1; level < cut.depth; ++level) all += planes * queue_rows(cut, rows, level);
  return all * queue_pitch<T>(cut) + line_elements(sizeof(T));
}

// part: of the columns, whose norms are summed apart in `parts` for each row of args.region.
template <class Isa, Way way, int rows, class T>
class Tile {
 public:
  Tile(const SweepArgs<T>& args, const Cut& cut, Store store, Box box, Index part, Index parts, T* scratch)
      : args_(args),
        depth_(cut.depth),
        box_(box),
        field_(widened(box, cut.depth)),
        part_(part),
        parts_(parts),
        pitch_(queue_pitch<T>(cut)),
        inner_(pick<Isa, way, rows>(args, store, false)),
        last_(pick<Isa, way, rows>(args, store, true)),
        copy_(scratch + line),
        nowhere_(copy_ + copied_rows * pitch_) {
    T* memory = nowhere_ + pitch_;
    for (int level = 1; level <= depth_; ++level) {
      Level& l = levels_[level];
      l.box = widened(box, depth_ - level);
      l.queue = memory + spare * planes * pitch_;
      if (level < depth_) memory += planes * pitch_ * queue_rows(cut, box.extent().y, level);
    }
    const Index n_x = args_.in.extent.x;
    lo_ = rounded_down(levels_[1].box.lo.x, line);
    const Index hi = levels_[1].box.hi.x;
    hi_ = at_boundary(Face::x_max) && hi == n_x ? n_x : rounded_down(hi + line - 1, line);
  }

  void sweep() {
    for (Index step = 0;; ++step) {
      const Index z = levels_[1].box.lo.z + planes * step;
      if (z - (depth_ - 1) >= box_.hi.z) return;
      sweep_step(z, step % 2 == 0);
    }
  }

 private:
  static constexpr Index line = line_elements(sizeof(T));
  struct Level {
    Box box;   // along y and z the cells that count
    T* queue;  // the row box.lo.y of the lower plane after a step up; none of the last level
  };

  bool at_boundary(Face f) const { return args_.boundaries.faces[static_cast<int>(f)].is_boundary; }

  // So many cells more on each side, but none beyond a boundary.
  Box widened(Box box, Index by) const {
    for (int axis = 0; axis < 3; ++axis) {
      box.lo[axis] -= by;
      box.hi[axis] += by;
      if (at_boundary(face(axis, false))) box.lo[axis] = larger(box.lo[axis], 0);
      if (at_boundary(face(axis, true))) box.hi[axis] = smaller(box.hi[axis], args_.in.extent[axis]);
    }
    return box;
  }

  // z: of level 1.
  void sweep_step(Index z, bool up) {
    const Box first = levels_[1].box;
    const Index waves = (first.extent().y + depth_) / rows + 1;
    up_ = up;
    asked_ = 0;
    for (Index wave = 0; wave < waves; ++wave) {
      for (int level = 1; level <= depth_; ++level) {
        const Index behind = wave * rows - (level - 1);
        const Index y = up ? first.lo.y + behind : first.hi.y - rows - behind, at = z - (level - 1);
        const Box& box = levels_[level].box;
        if (y + rows <= box.lo.y || y >= box.hi.y) continue;
        if (at + planes > box.lo.z && at < box.hi.z)
          sweep_level(level, y, at, z + planes + 1, ask_again(level, wave + 1, z + 1));
        if (level < depth_) add_ghosts(level, y, at);
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

  // Level `level` of rows y... and planes z, z + 1. `ahead`: a plane that level 1 will read in the next step;
  // `again`: a row that it will read soon.
  void sweep_level(int level, Index y, Index z, Index ahead, const T* again) {
    const bool last = level == depth_;
    const Index x = last ? box_.lo.x : lo_;
    Pass<T> pass;
    pass.cells = (last ? box_.hi.x : hi_) - x;
    level == 1 ? read_field(pass, x, y, z) : read_queue(pass, level, x, y);
    for (const bool max : {false, true}) put_boundary(pass, max, level, max ? x + pass.cells : x, y, z);
    for (int i = 0; i < rows; ++i) {
      for (int p = 0; p < planes; ++p) write(pass, i, p, level, x, {0, y + i, z + p});
    }
    // Few at a time, as a processor drops what it is asked while it waits for much: one row a pass, and two
    // where that would not bring all in a step.
    for (int k = 0; k < 2; ++k) pass.ahead[k] = level == 1 || k == 0 || depth_ < 4 ? ask(ahead) : nullptr;
    pass.ahead[2] = again;
    (last ? last_ : inner_)(args_.c, pass);
  }

  static Index place_in_line(const T* cell) {
    return static_cast<Index>(reinterpret_cast<std::uintptr_t>(cell) / sizeof(T)) % line;
  }
  void write(Pass<T>& pass, int i, int p, int level, Index x, Int3 at) {
    const Box& box = levels_[level].box;
    const Index y = within(at.y, box, 1), z = within(at.z, box, 2);
    const bool counts = y == at.y && z == at.z;
    pass.source[i][p] = args_.source.empty() ? nullptr : &args_.source(x, y, z);
    pass.norm[i][p] = &dropped_;
    if (level < depth_) {
      pass.out[i][p] = queued(level, at.y, p);
    } else if (!counts) {
      pass.out[i][p] = nowhere_ + place_in_line(&args_.out(x, y, z));
    } else {
      pass.out[i][p] = &args_.out(x, y, z);
      if (args_.norm.result) pass.norm[i][p] = partial_norm(y, z);
    }
  }

  // The boundary at which the rows end, if they do; x: of their end.
  void put_boundary(Pass<T>& pass, bool max, int level, Index x, Index y, Index z) const {
    const Boundary<T>& boundary = args_.boundaries.faces[static_cast<int>(face(0, max))];
    RowEnd<T>& end = pass.ends[max];
    end.is_boundary = boundary.is_boundary && x == (max ? args_.in.extent.x : 0);
    if (!end.is_boundary) return;
    end.a = boundary.a;
    for (int i = 0; i < rows; ++i) {
      for (int p = 0; p < planes; ++p)
        end.b[i][p] =
            boundary.b_at(within(y + i, levels_[level].box, 1), within(z + p, levels_[level].box, 2));
    }
  }

  // The queue of the level before.
  void read_queue(Pass<T>& pass, int level, Index x, Index y) const {
    for (int p = 0; p < planes; ++p) {
      pass.in[p] = queued_before(level - 1, y, p) + (x - lo_);
      pass.in[planes + p] = queued(level - 1, y, p) + (x - lo_);
    }
    pass.in_pitch = planes * pitch_;
  }

  // The field as level 1 reads it: a copy where some of the rows or planes are not the field's, but beyond
  // boundaries, or beside the last that counts.
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
  // A row of the field that starts at cell `at`, or of ghosts.
  void copy_row(T* to, Index cells, Int3 at) const {
    const Index y = within(at.y, field_, 1), z = within(at.z, field_, 2);
    const T* const from = &args_.in(at.x, y, z);
    for (int axis = 1; axis < 3; ++axis) {
      for (const bool max : {false, true}) {
        const bool beyond_face = at[axis] == (max ? args_.in.extent[axis] : -1);
        if (beyond_face && at_boundary(face(axis, max)))
          return make_ghosts(face(axis, max), to, from, at.x, cells, axis == 1 ? z : y);
      }
    }
    // Beside the cells that are computed lies one more, where the field has one.
    const Index lo = at.x > field_.lo.x ? -1 : 0, hi = at.x + cells < field_.hi.x ? cells + 1 : cells;
    for (Index i = lo; i < hi; ++i) to[i] = from[i];
  }
  // Ghosts beyond a boundary across y or z, from the row at the boundary, which starts at cell x; q: the
  // other index of its b. Only where the field has cells.
  void make_ghosts(Face f, T* ghosts, const T* from, Index x, Index cells, Index q) const {
    const Boundary<T>& boundary = args_.boundaries.faces[static_cast<int>(f)];
    const Index end = smaller(cells, field_.hi.x - x);
    for (Index i = larger(0, field_.lo.x - x); i < end; ++i)
      ghosts[i] = boundary_ghost(boundary.a, boundary.b_at(x + i, q), from[i]);
  }

  // The rows of ghosts of a level that follow from its rows y... of planes z and z + 1. A ghost below the
  // upper of them is this step's, one below the lower is of the step before; above likewise.
  void add_ghosts(int level, Index y, Index z) {
    const Box& box = levels_[level].box;
    const Index n_y = args_.in.extent.y, n_z = args_.in.extent.z, cells = hi_ - lo_;
    if (y > 0 && y + rows < n_y && z > 0 && z + planes < n_z) return;
    const bool floor = at_boundary(Face::z_min) && box.lo.z == 0,
               ceiling = at_boundary(Face::z_max) && box.hi.z == n_z;
    for (Index at = larger(y, box.lo.y); at < smaller(y + rows, box.hi.y); ++at) {
      T *const lower = queued(level, at, 0), *const upper = queued(level, at, 1),
               *const before = queued_before(level, at, 1);
      if (floor && z == -1) make_ghosts(Face::z_min, lower, upper, lo_, cells, at);
      if (floor && z == 0) make_ghosts(Face::z_min, before, lower, lo_, cells, at);
      if (ceiling && z == n_z - 1) make_ghosts(Face::z_max, upper, lower, lo_, cells, at);
      if (ceiling && z == n_z) make_ghosts(Face::z_max, lower, before, lo_, cells, at);
      for (int p = 0; p < planes; ++p) {
        if (z + p < box.lo.z || z + p >= box.hi.z) continue;
        if (at == 0 && at_boundary(Face::y_min))
          make_ghosts(Face::y_min, queued(level, -1, p), queued(level, 0, p), lo_, cells, z + p);
        if (at == n_y - 1 && at_boundary(Face::y_max))
          make_ghosts(Face::y_max, queued(level, n_y, p), queued(level, at, p), lo_, cells, z + p);
      }
    }
  }

  // The next row of those two planes that level 1 reads first in the next step, in its order; null: none is
  // left.
  const T* ask(Index plane) {
    const Index row = asked_ / planes, z = plane + asked_ % planes;
    ++asked_;
    if (row >= field_.extent().y || z >= field_.hi.z) return nullptr;
    return &args_.in(lo_, up_ ? field_.hi.y - 1 - row : field_.lo.y + row, z);
  }

  // Level 1 reads `rows` new rows of two planes in each wave: the one of those that this level asks for, as a
  // tenth of what is asked for a step ahead gets lost.
  const T* ask_again(int level, Index wave, Index plane) const {
    if (level > rows * planes) return nullptr;
    const Box& box = levels_[1].box;
    const Index y =
        (up_ ? box.lo.y + 1 + wave * rows : box.hi.y - 1 - (wave + 1) * rows) + (level - 1) % rows;
    const Index z = plane + (level - 1) / rows;
    if (y < field_.lo.y || y >= field_.hi.y || z >= field_.hi.z) return nullptr;
    return &args_.in(lo_, y, z);
  }

  // Where the norm of this part of row (y, z) is summed.
  double* partial_norm(Index y, Index z) const {
    const Box& all = args_.region;
    return static_cast<double*>(args_.norm.scratch) +
           ((z - all.lo.z) * all.extent().y + (y - all.lo.y)) * parts_ + part_;
  }

  const SweepArgs<T>& args_;
  int depth_;
  Box box_, field_;  // what is swept, what of `in` is read
  Index part_, parts_, pitch_;
  SweepPass<T> inner_, last_;
  T *copy_, *nowhere_;
  Level levels_[1 + most_depth];
  Index lo_, hi_;  // cells of the levels before the last
  bool up_ = true;
  Index asked_ = 0;
  double dropped_ = 0;
};

}  // namespace isotherm::host::fused
