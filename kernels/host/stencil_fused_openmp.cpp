// Several sweeps in one pass over memory: tiles that stay in L2 while a wavefront of sweeps walks through.
//
// Algebra: `depth` sweeps, each stencil_update() on vectors of x. Threads share the region by partition.hpp;
// a thread cuts its share into tiles of rows (and of columns, where rows are long) and walks each along z.
// Level l of the walk, the l-th sweep, lags one plane behind level l - 1, of which it reads three planes in
// one: so all but the first and the last level live in rings of some planes, small enough for L2. To stand
// alone a tile computes its neighbours' cells too, depth - l of them on each side at level l (overlapped
// tiling), but none beyond a wall. Level 0 is `in`, the last is `out`. Traffic a cell, for `depth` sweeps:
// one read and, past the last-level cache, one streaming write; the margins of a tile are read again, mostly
// from L3.
//
// Walls: what stands beyond a wall is made by the wall rule where a level reads it, from that level's own
// cell at the wall: across x a value at each end of a run, across y and z a row in L1. All levels and all
// three axes go through the same lines. The norm is that of the last level, summed as the row `openmp` does.
//
// Memory: the rings of all threads are one allocation of the thread that launches, made at its first launch,
// grown where a launch needs more, and kept until it ends: for each thread what a tile may fill. It holds
// nothing from one launch to the next.
#include <omp.h>

#include <new>

#include "kernels/host/fused_runs.hpp"
#include "kernels/host/partition.hpp"
#include "kernels/host/rows.hpp"
#include "kernels/host/streaming.hpp"

namespace isotherm::host {
namespace {

using namespace fused;

constexpr Index run_bytes = 8 << 10;  // of a tile's row, so that a tile has rows enough
// What a tile and what it reads may fill: so many eighths of an L2, or where that is more such a part of the
// last level, which is nearly as fast where it is shared by few: margins are work, too.
constexpr std::size_t cache_eighths = 7, far_part = 16;
constexpr Index least_rows = 8;  // of a tile: with fewer, its margins cost more than L3 does
// How a launch is cut; the same on all threads.
struct Cut {
  int depth, planes;
  Index parts_x;    // columns of tiles
  Index most_rows;  // of a tile
};

// The room of one level: planes of a ring, rows of a tile with margins on both sides.
struct Room {
  Index pitch, rows, slots;
  Index elements() const { return pitch * rows * slots; }
};
template <class T>
Room room_of(const Cut& cut, Index columns, Index rows, int level) {
  constexpr Index line = line_elements(sizeof(T));
  const Index lines = (columns + 2 * cut.depth + line - 1) / line + 1;
  return {(lines | 1) * line, rows + 2 * (cut.depth - level),
          cut.planes + 2};  // odd: rows in other sets of L1
}
template <class T>
Index scratch_elements(const Cut& cut, Index columns) {
  Index total = (2 * cut.planes + 2) * room_of<T>(cut, columns, 1, 1).pitch;  // rows beyond walls
  for (int level = 1; level < cut.depth; ++level)
    total += room_of<T>(cut, columns, cut.most_rows, level).elements();
  return total;
}
ISOTHERM_INLINE Index columns_of(Box region, const Cut& cut) {
  return (region.extent().x + cut.parts_x - 1) / cut.parts_x;
}

// As many rows as leave a tile's rings, and the planes of `in` that it reads, in the cache.
template <class T>
Cut cut_of(Box region, int depth, int planes) {
  Cut cut{depth, planes, 1 + (region.extent().x * static_cast<Index>(sizeof(T)) - 1) / run_bytes, 0};
  const Index pitch = room_of<T>(cut, columns_of(region, cut), 0, depth).pitch;
  const std::size_t bytes = second_level_cache_bytes() / 8 * cache_eighths,
                    far = last_level_cache_bytes() / far_part;
  const Index cache = static_cast<Index>((bytes < far ? far : bytes) / sizeof(T));
  const Index margins = depth * (depth - 1) + 2 * depth;
  cut.most_rows = larger(least_rows, (cache / (pitch * (planes + 2)) - margins) / depth);
  cut.most_rows = smaller(cut.most_rows, region.extent().y);
  return cut;
}

// One tile: part `part` of the region's columns, some rows, all planes of a share.
template <class Isa, Way way, int planes, class T>
class Tile {
 public:
  Tile(const SweepArgs<T>& args, const Cut& cut, Store store, Box box, Index part, T* scratch)
      : args_(args), depth_(cut.depth), part_(part) {
    pitch_ = room_of<T>(cut, columns_of(args.region, cut), 1, 1).pitch;
    beyond_walls_ = scratch;
    scratch += (2 * planes + 2) * pitch_;
    for (int level = 1; level <= depth_; ++level) {
      Level& l = levels_[level];
      l.box = widened(box, depth_ - level);
      l.next = l.box.lo.z;
      l.memory = scratch;
      l.plane = pitch_ * l.box.extent().y;
      if (level < depth_) scratch += l.plane * (planes + 2);
    }
    first_column_ = rounded_down(levels_[1].box.lo.x, line_elements(sizeof(T)));
    inner_ = {pick<Isa, way, 1>(args, store, false), pick<Isa, way, planes>(args, store, false)};
    last_ = {pick<Isa, way, 1>(args, store, true), pick<Isa, way, planes>(args, store, true)};
  }

  void sweep() { advance(1); }

 private:
  struct Level {
    Box box;
    Index next;   // the plane that is computed next
    T* memory;    // a ring of planes + 2 planes; none of the last level
    Index plane;  // elements
  };
  struct Ways {
    SweepRuns<T> one, many;
  };

  bool is_wall(Face f) const { return args_.walls.faces[static_cast<int>(f)].is_wall; }

  // So many cells more on each side, but none beyond a wall.
  Box widened(Box box, Index by) const {
    for (int axis = 0; axis < 3; ++axis) {
      box.lo[axis] -= by;
      box.hi[axis] += by;
      if (is_wall(face(axis, false))) box.lo[axis] = larger(box.lo[axis], 0);
      if (is_wall(face(axis, true))) box.hi[axis] = smaller(box.hi[axis], args_.in.extent[axis]);
    }
    return box;
  }

  // Computes the planes of a level that the one below has made possible, and what follows from them.
  [[gnu::noinline]] void advance(int level) {
    Level& l = levels_[level];
    const auto ready = [&] {
      if (level == 1) return l.box.hi.z;
      const Level& below = levels_[level - 1];
      return below.next == below.box.hi.z ? l.box.hi.z : below.next - 1;
    };
    while (l.next < ready()) {
      const bool many = l.next + planes <= ready();
      many ? sweep_planes<planes>(level) : sweep_planes<1>(level);
      l.next += many ? planes : 1;
      if (level < depth_) advance(level + 1);
    }
  }

  // Cell (0, y, z) of a level before the last; level 0 is the field.
  const T* row(int level, Index y, Index z) const {
    return level == 0 ? args_.in.origin + args_.in.offset(0, y, z) : ring_row(level, y, z);
  }
  T* ring_row(int level, Index y, Index z) const {
    const Level& l = levels_[level];
    const Index slot = (z - l.box.lo.z) % (planes + 2);
    return l.memory + slot * l.plane + (y - l.box.lo.y) * pitch_ - first_column_;
  }

  // What stands beyond cell x, the one at `cell`, towards an x face.
  T beyond(Face f, const T* cell, Index x, Index y, Index z) const {
    const Wall<T>& wall = args_.walls.faces[static_cast<int>(f)];
    const bool at_face = is_max(f) ? x == args_.in.extent.x - 1 : x == 0;
    if (wall.is_wall && at_face) return wall_ghost(wall.a, wall.b_at(y, z), *cell);
    return cell[is_max(f) ? 1 : -1];
  }
  // The run of ghosts beyond a wall across y or z, made from the run at the wall, which starts at cell x; q:
  // the other index of its b. `place`: one of 2 planes + 2.
  const T* ghosts(Face f, const T* at_wall, Index x, Index cells, Index q, int place) const {
    const Wall<T>& wall = args_.walls.faces[static_cast<int>(f)];
    T* const made = beyond_walls_ + place * pitch_;
    for (Index i = 0; i < cells; ++i) made[i] = wall_ghost(wall.a, wall.b_at(x + i, q), at_wall[i]);
    return made;
  }

  // Level 1 alone reads memory, and would wait for it, while the other levels leave memory idle. So each of
  // the first levels asks, row by row, for one of the planes that level 1 is the next to read. The others:
  // nullptr.
  const T* plane_ahead(int level, int count) const {
    const Level& first = levels_[1];
    const Index z = first.next + (level == 1 ? count : 0) + level;
    return level <= planes && z <= first.box.hi.z ? args_.in.origin + args_.in.offset(0, 0, z) : nullptr;
  }

  template <int count>
  void sweep_planes(int level) const {
    const Box box = levels_[level].box;
    const Index z = levels_[level].next, x = box.lo.x, n_y = args_.in.extent.y, n_z = args_.in.extent.z;
    const bool last = level == depth_, floor = z == 0 && is_wall(Face::z_min);
    const bool ceiling = z + count == n_z && is_wall(Face::z_max), has_norm = last && args_.norm.result;
    const SweepRuns<T> sweep_row =
        count == planes ? (last ? last_.many : inner_.many) : (last ? last_.one : inner_.one);
    const Index pitch = level == 1 ? args_.in.pitch_y : pitch_, out_pitch = last ? args_.out.pitch_y : pitch_;
    Runs<T> runs;
    runs.cells = box.hi.x - x;
    const T *below = floor ? nullptr : row(level - 1, box.lo.y, z - 1) + x,
            *above = ceiling ? nullptr : row(level - 1, box.lo.y, z + count) + x;
    for (int p = 0; p < count; ++p) {
      runs.centre[p] = row(level - 1, box.lo.y, z + p) + x;
      runs.source[p] = args_.source.empty() ? nullptr : &args_.source(x, box.lo.y, z + p);
      runs.out[p] = last ? &args_.out(x, box.lo.y, z + p) : ring_row(level, box.lo.y, z + p) + x;
    }
    const T* const ahead = plane_ahead(level, count);
    for (Index y = box.lo.y; y < box.hi.y; ++y) {
      const bool at_lower = y == 0 && is_wall(Face::y_min), at_upper = y == n_y - 1 && is_wall(Face::y_max);
      for (int p = 0; p < count; ++p) {
        const T* const here = runs.centre[p];
        runs.y_lo[p] = at_lower ? ghosts(Face::y_min, here, x, runs.cells, z + p, p) : here - pitch;
        runs.y_hi[p] = at_upper ? ghosts(Face::y_max, here, x, runs.cells, z + p, count + p) : here + pitch;
        runs.x_lo[p] = beyond(Face::x_min, here, x, y, z + p);
        runs.x_hi[p] = beyond(Face::x_max, here + runs.cells - 1, box.hi.x - 1, y, z + p);
        if (has_norm) *(runs.norm[p] = partial_norm(y, z + p)) = 0;
      }
      const T* const top = runs.centre[count - 1];
      runs.z_lo = floor ? ghosts(Face::z_min, runs.centre[0], x, runs.cells, y, 2 * count) : below;
      runs.z_hi = ceiling ? ghosts(Face::z_max, top, x, runs.cells, y, 2 * count + 1) : above;
      runs.ahead = ahead ? ahead + args_.in.offset(x, y, 0) : runs.centre[0];
      sweep_row(args_.c, runs);
      if (!floor) below += pitch;
      if (!ceiling) above += pitch;
      for (int p = 0; p < count; ++p) {
        runs.centre[p] += pitch;
        runs.out[p] += out_pitch;
        if (runs.source[p]) runs.source[p] += args_.source.pitch_y;
      }
    }
  }

  // Where the norm of this part of row (y, z) is summed.
  double* partial_norm(Index y, Index z) const {
    const Int3 n = args_.region.extent();
    const Index parts = 1 + (n.x * static_cast<Index>(sizeof(T)) - 1) / run_bytes;
    return static_cast<double*>(args_.norm.scratch) +
           ((z - args_.region.lo.z) * n.y + (y - args_.region.lo.y)) * parts + part_;
  }

  const SweepArgs<T>& args_;
  int depth_;
  Index part_;
  Index pitch_, first_column_;
  T* beyond_walls_;
  Level levels_[1 + fused_openmp_depth];
  Ways inner_, last_;
};

// The rings of all threads; see the top of this file.
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
thread_local Scratch rings;

template <class Isa, Way way, int planes, class T>
void sweep_share(const SweepArgs<T>& args, const Cut& cut, Store store, Box mine, T* scratch) {
  const Index n_y = mine.extent().y, parts_y = (n_y + cut.most_rows - 1) / cut.most_rows;
  for (Index j = 0; j < parts_y; ++j) {
    const Range y = part_of({mine.lo.y, mine.hi.y}, j, parts_y);
    for (Index i = 0; i < cut.parts_x; ++i) {
      const Range x = part_of({mine.lo.x, mine.hi.x}, i, cut.parts_x);
      Tile<Isa, way, planes, T>(args, cut, store, {{x.lo, y.lo, mine.lo.z}, {x.hi, y.hi, mine.hi.z}}, i,
                                scratch)
          .sweep();
    }
  }
  if (store == Store::streaming) stream_fence();
}

template <class Isa, Way way, int planes, class T>
void sweep_all(const SweepArgs<T>& args, int depth, Store store) {
  const Cut cut = cut_of<T>(args.region, depth, planes);
  const Index each = (scratch_elements<T>(cut, columns_of(args.region, cut)) + 4096) / 4096 * 4096;
  const bool alone = args.region.cells() * depth < cells_worth_threads;
  const int most_threads = alone ? 1 : omp_get_max_threads();
  T* const scratch = static_cast<T*>(rings.of(static_cast<std::size_t>(each * most_threads) * sizeof(T)));
#pragma omp parallel num_threads(most_threads) if (!alone)
  {
    const int thread = omp_get_thread_num();
    const Box mine = share(args.region, thread, omp_get_num_threads(), depth - 1);
    if (!mine.empty()) sweep_share<Isa, way, planes>(args, cut, store, mine, scratch + thread * each);
  }
}

}  // namespace

template <class Isa, class T>
void StencilFusedOpenmp<Isa, T>::sweep(const SweepArgs<T>& args, SweepPlan plan, Store store) {
  if (args.region.empty()) return;
  switch (plan.policy) {
    case 0:
      sweep_all<Isa, Way::preferred, 2>(args, plan.depth, store);
      break;
    case 1:
      sweep_all<Isa, Way::preferred, 3>(args, plan.depth, store);
      break;
    default:
      sweep_all<Isa, Way::wide, 2>(args, plan.depth, store);
  }
}

template <class Isa, class T>
void StencilFusedOpenmp<Isa, T>::launch(const SweepArgs<T>& args, SweepPlan plan, Stream) {
  sweep(args, plan, choose_store(static_cast<std::size_t>(args.region.cells()) * sizeof(T)));
  if (!args.norm.result) return;
  finish_norm(args.norm, static_cast<const double*>(args.norm.scratch),
              static_cast<Index>(norm_scratch_bytes(args.region, plan.policy) / sizeof(double)));
}

template <class Isa, class T>
std::size_t StencilFusedOpenmp<Isa, T>::norm_scratch_bytes(Box region, int) {
  const Int3 n = region.extent();
  const Index parts = 1 + (n.x * static_cast<Index>(sizeof(T)) - 1) / run_bytes;
  return region.empty() ? 0 : static_cast<std::size_t>(parts * n.y * n.z) * sizeof(double);
}

template struct StencilFusedOpenmp<ISOTHERM_ISA, float>;
template struct StencilFusedOpenmp<ISOTHERM_ISA, double>;

}  // namespace isotherm::host
