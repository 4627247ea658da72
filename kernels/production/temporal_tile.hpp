// The thread block of the kernel `temporal`: its pipeline of planes, the levels that follow each other in its
// registers, and the boundaries of each level. temporal.cu describes the algorithm. For .cu files only.
#pragma once

#include <algorithm>

#include "kernels/cuda/grids.hpp"
#include "kernels/cuda/hopper.hpp"
#include "kernels/production/throttle.hpp"
#include "kernels/production/tile_update.hpp"

namespace isotherm::cuda {

// The kernel's parameters, in constant memory: read by all threads at once.
template <class T>
struct TemporalArgs {
  FieldView<const T> in;
  FieldView<T> out;
  FieldView<const T> source;
  PerSweep<Coefficients<T>> c;
  Boundaries<T> boundaries;
  UpdateNorm norm;
  Box region, read;  // `read`: the cells that the region depends on
  Box counted;       // cells that a norm counts
  TileCuts x, y;
  ColumnShares shares;
  unsigned throttle;       // cycles between planes of a block; 0: none
  Materials<T> materials;  // only with several materials

  __device__ __forceinline__ const Boundary<T>& face(Face f) const {
    return boundaries.faces[static_cast<int>(f)];
  }
};

// b at (p, q) of a boundary whose b is a field. A tile may reach beyond the face and its ghosts: there
// indices are clamped, as no stored cell depends on the value.
template <class T>
__device__ __forceinline__ const T* place_of_b(const Boundary<T>& boundary, int sweep, int p, int q,
                                               Index extent_p, Index extent_q, int ghosts) {
  p = min(max(p, -ghosts), static_cast<int>(extent_p) + ghosts - 1);
  q = min(max(q, -ghosts), static_cast<int>(extent_q) + ghosts - 1);
  return boundary.b_field + p + q * boundary.pitch + sweep * boundary.sweep_pitch;
}
template <int sweep, class T>
__device__ __forceinline__ T b_of(const Boundary<T>& boundary, int p, int q, Index extent_p, Index extent_q,
                                  int ghosts) {
  if (boundary.b_field) return *place_of_b(boundary, sweep, p, q, extent_p, extent_q, ghosts);
  return boundary.b[sweep];
}

// Position of a lane's rows: in the tile, in the region, at the boundaries.
template <class T, int rows>
class TemporalLane {
  static constexpr int cells = Pack<T>::cells;

 public:
  static constexpr unsigned all_cells = (1u << cells) - 1;
  const int tile_x, tile_y, x, y;  // first cell of the tile, and of this lane

  __device__ __forceinline__ TemporalLane(const TemporalArgs<T>& a, Index tile, int lane, int warp)
      : tile_x(static_cast<int>(a.x.start(tile % a.x.count))),
        tile_y(static_cast<int>(a.y.start(tile / a.x.count))),
        x(tile_x + lane * cells),
        y(tile_y + warp * rows) {
    const Index ix = tile % a.x.count, iy = tile / a.x.count;
    const int end_x = static_cast<int>(a.in.extent.x), end_y = static_cast<int>(a.in.extent.y);
    const int lo_x = static_cast<int>(a.x.left_from(ix)), hi_x = static_cast<int>(a.x.left_from(ix + 1));
    const int lo_y = static_cast<int>(a.y.left_from(iy)), hi_y = static_cast<int>(a.y.left_from(iy + 1));
#pragma unroll
    for (int i = 0; i < cells; ++i) mine_ |= (lo_x <= x + i && x + i < hi_x ? 1u : 0u) << i;
    first_row_ = lo_y - y;
    end_row_ = hi_y - y;
    at_y_min_ = y == 0 && a.face(Face::y_min).is_boundary;
    at_x_min_ = lane == 0 && x == 0 && a.face(Face::x_min).is_boundary;
    if (a.face(Face::y_max).is_boundary) at_y_max_ = end_y - 1 - y;
    if (a.face(Face::x_max).is_boundary) at_x_max_ = end_x - 1 - x;
    const Box& counted = a.counted;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
#pragma unroll
      for (int i = 0; i < cells; ++i) {
        const bool is_counted =
            counted.lo.x <= x + i && x + i < counted.hi.x && counted.lo.y <= y + r && y + r < counted.hi.y;
        counted_ |= (is_counted ? cells_of(r) >> i & 1u : 0u) << (r * cells + i);
      }
    }
  }

  // One bit for each cell of this lane's pack in row r that this thread block stores.
  __device__ __forceinline__ unsigned cells_of(int r) const {
    return first_row_ <= r && r < end_row_ ? mine_ : 0u;
  }
  // Does a norm count cell i of that pack?
  __device__ __forceinline__ bool is_counted(int r, int i) const {
    return (counted_ >> (r * cells + i) & 1u) != 0;
  }

  // If plane z is next to a boundary across z, replaces its neighbour plane `below` or `above` by ghosts.
  // `classes`: the rule may differ by cell.
  template <int sweep, bool classes>
  __device__ __forceinline__ void apply_z_boundaries(const TemporalArgs<T>& a, int z, Pack<T> (&below)[rows],
                                                     const Pack<T> (&at)[rows],
                                                     Pack<T> (&above)[rows]) const {
    if (z == 0 && a.face(Face::z_min).is_boundary) beyond_z<sweep, classes>(a, Face::z_min, at, below);
    if (z == a.in.extent.z - 1 && a.face(Face::z_max).is_boundary)
      beyond_z<sweep, classes>(a, Face::z_max, at, above);
  }

  // For boundaries at the edges of the tile, with one value of b for a whole face: replaces the neighbours
  // beyond them by ghosts, across x at the ends of a row, across y before the first row and after the last.
  template <int sweep>
  __device__ __forceinline__ void apply_x_boundaries(const TemporalArgs<T>& a, Neighbours<T>& n) const {
    const Boundary<T>&lower = a.face(Face::x_min), &upper = a.face(Face::x_max);
    const bool is_at_x_max = at_x_max_ == cells - 1;
    if constexpr (sizeof(T) ==
                  sizeof(double)) {  // one instruction that some lanes skip beats two more that select
      if (at_x_min_) n.x_lo = boundary_ghost(lower.a, lower.b[sweep], n.centre.v[0]);
      if (is_at_x_max) n.x_hi = boundary_ghost(upper.a, upper.b[sweep], n.centre.v[cells - 1]);
    } else {
      const T ghost_lo = boundary_ghost(lower.a, lower.b[sweep], n.centre.v[0]);
      const T ghost_hi = boundary_ghost(upper.a, upper.b[sweep], n.centre.v[cells - 1]);
      n.x_lo = at_x_min_ ? ghost_lo : n.x_lo;
      n.x_hi = is_at_x_max ? ghost_hi : n.x_hi;
    }
  }
  template <int sweep>
  __device__ __forceinline__ void apply_y_boundaries(const TemporalArgs<T>& a, const Pack<T> (&at)[rows],
                                                     Pack<T>& y_lo, Pack<T>& y_hi) const {
    const auto put = [&](Face f, bool here, const Pack<T>& centre, Pack<T>& to) {
      const Boundary<T>& boundary = a.face(f);
#pragma unroll
      for (int i = 0; i < cells; ++i) {
        const T ghost = boundary_ghost(boundary.a, boundary.b[sweep], centre.v[i]);
        to.v[i] = here ? ghost : to.v[i];
      }
    };
    put(Face::y_min, at_y_min_, at[0], y_lo);
    put(Face::y_max, at_y_max_ == rows - 1, at[rows - 1], y_hi);
  }

  // The same for boundaries anywhere in the tile, with b of every cell. The upper boundary across x may be
  // inside a pack: the ghost then replaces the next cell of the pack, which is outside the domain.
  template <int sweep>
  __device__ __forceinline__ void apply_side_boundaries(const TemporalArgs<T>& a, int r, int z,
                                                        Neighbours<T>& n) const {
    const Int3 extent = a.in.extent;
    const int ghosts = a.in.ghosts;
    const auto x_ghost = [&](Face f, T centre) {
      return boundary_ghost(a.face(f).a, b_of<sweep>(a.face(f), y + r, z, extent.y, extent.z, ghosts),
                            centre);
    };
    const Pack<T> centre = n.centre;
    const T ghost_lo = x_ghost(Face::x_min, centre.v[0]);
    n.x_lo = at_x_min_ ? ghost_lo : n.x_lo;
#pragma unroll
    for (int i = 0; i < cells; ++i) {
      T& next = i < cells - 1 ? n.centre.v[i + 1] : n.x_hi;
      next = i == at_x_max_ ? x_ghost(Face::x_max, centre.v[i]) : next;
    }
    const auto put = [&](Face f, bool here, Pack<T>& to) {
#pragma unroll
      for (int i = 0; i < cells; ++i) {
        const T b = b_of<sweep>(a.face(f), x + i, z, extent.x, extent.z, ghosts);
        to.v[i] = here ? boundary_ghost(a.face(f).a, b, centre.v[i]) : to.v[i];
      }
    };
    if (r == 0) put(Face::y_min, at_y_min_, n.y_lo);
    put(Face::y_max, r == at_y_max_, n.y_hi);
  }

 private:
  // Saves registers for the levels: offsets of 32 bits from an address that all threads share, and volatile
  // reads, which the compiler does not issue all at once. Offsets are clamped to the face and its ghosts.
  template <int sweep, bool classes>
  __device__ __forceinline__ void beyond_z(const TemporalArgs<T>& a, Face f, const Pack<T> (&at)[rows],
                                           Pack<T> (&beyond)[rows]) const {
    const Boundary<T>& boundary = a.face(f);
    if (classes && boundary.differs_by_cell) {
#pragma unroll
      for (int r = 0; r < rows; ++r) beyond[r] = beyond_z_by_cell(boundary, a.in, x, y + r, at[r], sweep);
      return;
    }
    const T* const field = boundary.b_field + sweep * boundary.sweep_pitch;
    const int pitch = static_cast<int>(boundary.pitch), ghosts = a.in.ghosts;
    const int first = -ghosts * (pitch + 1);
    const int last = pitch * (static_cast<int>(a.in.extent.y) + ghosts) - ghosts - cells;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const int place = min(max(x + (y + r) * pitch, first), last);
#pragma unroll
      for (int i = 0; i < cells; ++i) {
        T b = boundary.b[sweep];
        if (boundary.b_field) b = *static_cast<const volatile T*>(field + place + i);
        beyond[r].v[i] = boundary_ghost(boundary.a, b, at[r].v[i]);
      }
    }
  }

  unsigned mine_ = 0;         // one bit for each cell of the pack that the thread block stores
  unsigned counted_ = 0;      // one bit for each stored cell of all rows that a norm counts
  int first_row_, end_row_;   // of the rows that the thread block stores
  bool at_x_min_, at_y_min_;  // the pack is next to the lower boundary across x; across y
  int at_y_max_ = -1;         // the row at the upper boundary across y, if it is one of the lane's
  int at_x_max_ = -1;         // the cell at the upper boundary across x, if it is one of the pack's
};

// Features of a kernel variant, in addition to boundaries at the edges of tiles, of one value of b per face
// across x and y, and any boundary across z.

// `any_boundaries`: boundaries anywhere in a tile, whose b may vary over the face; regions that end within a
// pack. `classes`: coefficients of each pack's class.
template <bool any_boundaries_, Source source_, bool norm_, bool classes_ = false>
struct TemporalExtras {
  static constexpr Source source = source_;
  static constexpr bool any_boundaries = any_boundaries_, norm = norm_, classes = classes_,
                        has_field = source != Source::none && source != Source::heat;
};
// All features, selected at run time: for one material; for several, whose norm is computed separately.
using AllExtras = TemporalExtras<true, Source::any, true>;
using AllOfMaterials = TemporalExtras<true, Source::field, false, true>;

// The stored source of the pack at (x, y, z); `otherwise` if there is none or no cell of the region needs it.
template <class T>
__device__ __forceinline__ Pack<T> source_of(const TemporalArgs<T>& a, int x, int y, int z, T otherwise) {
  const Box& r = a.read;
  const bool any = !a.source.empty() && x + Pack<T>::cells > r.lo.x && x < r.hi.x && y >= r.lo.y &&
                   y < r.hi.y && z >= r.lo.z && z < r.hi.z;
  return any ? Pack<T>::load_constant(&a.source(x, y, z)) : Pack<T>::all(otherwise);
}

// Boundaries that a plane of a tile may touch.
enum class Around {
  side_boundaries,  // across x and y, at the edges of the tile
  boundaries,       // these, and across z
  anything          // anywhere in the tile
};

template <class T, int time_block, Tile tile, class Extras>
struct TemporalShared {
  static constexpr int warps = tile.x, rows = tile.y, stages = tile.z;
  static constexpr int x = warp_size * Pack<T>::cells, y = warps * rows, edges = std::max(time_block - 1, 1);
  // The tile's rows and one more at either end, which the first level reads.
  struct alignas(128) Slab {
    T cell[y + 2][x];
  };
  // Each level in turn reads a source plane, so it is kept for more stages. It is copied with the field's
  // next plane, on that plane's barrier. With any_boundaries, levels read the source from global memory.
  static constexpr bool has_sources = Extras::has_field && !Extras::any_boundaries;
  static constexpr int source_stages = has_sources ? time_block + stages - 2 : 1;
  struct alignas(128) SourceSlab {
    T cell[has_sources ? y : 1][x];
  };
  // The classes of the field's plane in the same stage, and of one more plane above the last one.
  static constexpr int class_stages = Extras::classes ? stages : 1;
  struct alignas(128) ClassSlab {
    std::uint8_t pack[Extras::classes ? y : 1][ClassRow::packs_of(warp_size)];
  };
  Slab planes[stages];
  SourceSlab sources[source_stages];
  ClassSlab classes[class_stages];
  Pack<T> edge[2][edges][warps][2][warp_size];  // [buffer][level][warp][first, last row]
  BytesBarrier full[stages];
  SharedThrottle throttle;
};

template <class T>
struct TemporalMaps {
  TensorMap<T> field, source;
};
struct NoClassMap {};
template <class Extras>
using ClassMap = std::conditional_t<Extras::classes, TensorMap<std::uint8_t>, NoClassMap>;

// The current stage and edge buffer of a thread block; they continue from one column to the next.
template <Tile tile>
struct TemporalPosition {
  static constexpr int stages = tile.z;
  unsigned parity = 0;  // phase of each stage's barrier, one bit per stage
  int stage = 0, buffer = 0;

  __device__ __forceinline__ int last_stage() const { return (stage + stages - 1) % stages; }
};

// A part of a column: it reads planes [first, end) and stores those from `from` on. The n-th of `count` steps
// loads plane first + n, if that is below `end`.
struct Span {
  int from, first, end, count;

  template <class T>
  __device__ __forceinline__ Span(const TemporalArgs<T>& a, const ColumnPart& part, int time_block) {
    const int lo = static_cast<int>(a.region.lo.z), to = lo + static_cast<int>(part.to);
    from = lo + static_cast<int>(part.from);
    first = max(from - time_block, static_cast<int>(a.read.lo.z));
    end = min(to + time_block, static_cast<int>(a.read.hi.z));
    count = to + time_block - first;
  }
};

template <class T, int time_block, Tile tile, class Extras>
class TemporalTile {
  using Shared = TemporalShared<T, time_block, tile, Extras>;
  static constexpr int rows = tile.y, warps = tile.x, stages = tile.z, cells = Pack<T>::cells;

 public:
  __device__ __forceinline__ TemporalTile(const TemporalArgs<T>& a, const TemporalMaps<T>& maps,
                                          const ClassMap<Extras>& class_map, Shared& shared,
                                          TemporalPosition<tile>& position, FusedNorm& norm,
                                          const ColumnPart& part)
      : a_(a),
        maps_(maps),
        class_map_(class_map),
        shared_(shared),
        in_(position),
        norm_(norm),
        span_(a, part, time_block),
        lane_(threadIdx.x % warp_size),
        warp_(threadIdx.x / warp_size),
        at_(a, part.column, lane_, warp_),
        first_pack_(ClassRow::place<T>(at_.tile_x, at_.tile_x)),
        to_(&a.out(at_.x, at_.y, 0)) {}

  __device__ __forceinline__ void sweep() {
    for (int n = 0; n < stages - 1; ++n) request_plane(n, (in_.stage + n) % stages);
    walk();
  }

 private:
  // Requests the plane of step n with its classes, and the source of the plane before it.
  __device__ __forceinline__ void request_plane(int n, int stage) {
    if (threadIdx.x != 0 || n >= span_.count || !comes(n)) return;
    if (n >= stages - 1) shared_.throttle.wait(a_.throttle);
    BytesBarrier& full = shared_.full[stage];
    const int z = span_.first + n;
    const bool field = z < span_.end, source = Shared::has_sources && n > 0;
    full.expect((field ? sizeof(shared_.planes[0]) : 0) + (source ? sizeof(shared_.sources[0]) : 0) +
                (Extras::classes ? sizeof(shared_.classes[0]) : 0));
    if (field) full.copy(maps_.field, shared_.planes[stage].cell, at_.tile_x, at_.tile_y - 1, z);
    if (source) {
      auto& slab = shared_.sources[(n - 1) % Shared::source_stages];
      full.copy(maps_.source, slab.cell, at_.tile_x, at_.tile_y, z - 1);
    }
    if constexpr (Extras::classes)
      full.copy(class_map_, shared_.classes[stage].pack, ClassRow::start<T>(at_.tile_x), at_.tile_y, z);
  }
  __device__ __forceinline__ bool comes(int n) const {
    return span_.first + n < span_.end + (Shared::has_sources || Extras::classes ? 1 : 0);
  }

  // The plane registers rotate by renaming: the loop is unrolled by three. At the ends of the field, where a
  // material ends across z, and with any_boundaries, move_down() copies them instead: a fifth slower, and
  // compiled in a third of the time.
  // Tiles away from boundaries run the same code: faster tiles would only wait for the others.
  __device__ __forceinline__ void walk() {
    constexpr Around at_the_ends = Extras::any_boundaries ? Around::anything : Around::boundaries;
    for (int n = 0; n < span_.count;) {
      if constexpr (!Extras::any_boundaries) {
        for (const int end = n + 3 * triples_from(n); n < end; n += 3) {
          plane<Around::side_boundaries, 0>(n);
          plane<Around::side_boundaries, 1>(n + 1);
          plane<Around::side_boundaries, 2>(n + 2);
        }
        if (n >= span_.count) break;
      }
      plane<at_the_ends, 0>(n++);
      move_down();
    }
  }
  // The number of groups of three steps from n on in which no level is at a boundary across z or a layer.
  __device__ __forceinline__ int triples_from(int n) const {
    const int bottom = span_.first + n - time_block, top = span_.first + n - 1;  // of last and first level
    if (a_.face(Face::z_min).is_boundary && bottom <= 0) return 0;
    int steps = span_.count - n;
    if (a_.face(Face::z_max).is_boundary) steps = min(steps, static_cast<int>(a_.in.extent.z) - 1 - top);
    if constexpr (Extras::classes)
      steps = min(steps, a_.materials.mixed.next_layer[max(bottom, -a_.in.ghosts)] - top);
    return max(steps, 0) / 3;
  }
  __device__ __forceinline__ void move_down() {
#pragma unroll
    for (int level = 0; level < time_block; ++level) {
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        held_[level][0][r] = held_[level][1][r];
        held_[level][1][r] = held_[level][2][r];
      }
    }
  }

  template <Around around, int phase>
  __device__ __forceinline__ void plane(int n) {
    const bool come = comes(n);
    if (come) shared_.full[in_.stage].wait(in_.parity >> in_.stage & 1);
    if constexpr (Extras::classes) load_classes(come, n == 0);
    Pack<T> made[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r)
      made[r] = Pack<T>::load(&shared_.planes[in_.stage].cell[1 + warp_ * rows + r][lane_ * cells]);
    levels<around, phase, 0>(n, made);
    in_.buffer ^= 1;
    __syncthreads();  // all edge rows are stored, and no warp reads the previous plane any more
    request_plane(n + stages - 1, in_.last_stage());
    if (come) in_.parity ^= 1u << in_.stage;
    in_.stage = (in_.stage + 1) % stages;
    if (++source_stage_ == Shared::source_stages) source_stage_ = 0;
  }

  // Levels count from 0. `made`: the plane above this level's plane z, then the level's result.
  template <Around around, int phase, int level>
  __device__ __forceinline__ void levels(int n, Pack<T> (&made)[rows]) {
    constexpr bool at_sides = around != Around::anything;
    Pack<T>(&below)[rows] = held_[level][phase];
    Pack<T>(&at)[rows] = held_[level][(phase + 1) % 3];
    Pack<T>(&above)[rows] = held_[level][(phase + 2) % 3];
    const int z = span_.first + n - 1 - level;
    Pack<T> y_lo = edge_row<level>(warp_ - 1, 1), y_hi = edge_row<level>(warp_ + 1, 0);
    if constexpr (at_sides) at_.template apply_y_boundaries<level>(a_, at, y_lo, y_hi);
#pragma unroll
    for (int r = 0; r < rows; ++r) above[r] = made[r];
    if constexpr (around != Around::side_boundaries)
      at_.template apply_z_boundaries<level, Extras::classes>(a_, z, below, at, above);
    const auto neighbours = [&](int r) {
      Neighbours<T> near{at[r],
                         r > 0 ? at[r - 1] : y_lo,
                         r < rows - 1 ? at[r + 1] : y_hi,
                         below[r],
                         above[r],
                         __shfl_up_sync(0xffffffffu, at[r].v[cells - 1], 1),
                         __shfl_down_sync(0xffffffffu, at[r].v[0], 1)};
      if constexpr (at_sides) at_.template apply_x_boundaries<level>(a_, near);
      if constexpr (around == Around::anything) at_.template apply_side_boundaries<level>(a_, r, z, near);
      return near;
    };
    if (is_layer<around>(z)) {
      const LayerRows<T, rows> layer(a_.materials, classes<level>(), level);
#pragma unroll
      for (int r = 0; r < rows; ++r) made[r] = layer.updated(r, neighbours(r), source<level>(r, z));
    } else {
#pragma unroll
      for (int r = 0; r < rows; ++r) made[r] = updated<level>(r, z, neighbours(r));
    }
    if constexpr (level + 1 < time_block) {
      shared_.edge[in_.buffer][level][warp_][0][lane_] = made[0];
      shared_.edge[in_.buffer][level][warp_][1][lane_] = made[rows - 1];
      levels<around, phase, level + 1>(n, made);
    } else if (z >= span_.from) {
      store<around>(z, made, at);
    }
  }

  // No plane of the loop that is unrolled by three is a layer.
  template <Around around>
  __device__ __forceinline__ bool is_layer(int z) const {
    if constexpr (!Extras::classes || around == Around::side_boundaries) return false;
    const int ghosts = a_.in.ghosts, last = static_cast<int>(a_.in.extent.z) + ghosts - 1;
    return a_.materials.mixed.is_layer(min(max(z, -ghosts), last));
  }

  // Loads the classes of the lane's packs in the plane that has arrived. Mostly all packs of a warp have one
  // class: one_ has a bit per plane for that.
  __device__ __forceinline__ void load_classes(bool come, bool is_first) {
#pragma unroll
    for (int i = time_block + 1; i > 0; --i) classes_[i] = classes_[i - 1];
    unsigned all = 0;
    static_assert(rows == 4, "a word holds their classes");
#pragma unroll
    for (int r = 0; r < rows && come; ++r)
      all |= unsigned{shared_.classes[in_.stage].pack[warp_ * rows + r][first_pack_ + lane_]} << (8 * r);
    const unsigned of_first_lane = __shfl_sync(0xffffffffu, all, 0);
    const bool is_one = all == of_first_lane && all == (all & 0xffu) * 0x01010101u;
    one_ = one_ << 1 | (__all_sync(0xffffffffu, is_one) != 0 ? 1u : 0u);
    classes_[0] = all;
    if (is_first) classes_[1] = all;  // below a boundary, as above one; elsewhere no result depends on it
  }
  // Classes of the lane's rows in the plane that the level computes, and below and above it.
  template <int level>
  __device__ __forceinline__ typename LayerRows<T, rows>::Classes classes() const {
    typename LayerRows<T, rows>::Classes of;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const auto of_row = [&](int plane) { return static_cast<int>(classes_[plane] >> (8 * r) & 0xffu); };
      of.own[r] = of_row(level + 1);
      of.below[r] = of_row(level + 2);
      of.above[r] = of_row(level);
    }
    return of;
  }
  // Coefficients of row r in the plane that the level computes.
  template <int level>
  __device__ __forceinline__ const Coefficients<T>& coefficients(int r) {
    if constexpr (!Extras::classes) {
      return a_.c[level];
    } else {
      if (r == 0 || (one_ >> (level + 1) & 1u) == 0) {
        const Coefficients<T>* const c =
            a_.materials.coefficients[level] + (classes_[level + 1] >> (8 * r) & 0xffu);
        if (c != held_from_)
          held_coefficients_ = {__ldg(&c->c0), __ldg(&c->cx), __ldg(&c->cy), __ldg(&c->cz),
                                Extras::has_field ? __ldg(&c->sigma) : T{0}};
        held_from_ = c;
      }
      return held_coefficients_;
    }
  }
  __device__ __forceinline__ static int earlier_stage(int stage, int level, int stages) {
    return stage < level ? stage - level + stages : stage - level;
  }

  template <int level>
  __device__ __forceinline__ Pack<T> updated(int r, int z, const Neighbours<T>& near) {
    const Coefficients<T>& c = coefficients<level>(r);
    const Pack<T> s = source<level>(r, z);
    constexpr bool scales = Extras::has_field && Extras::source != Source::stored_field;
    return updated_pack(c, near, scales ? scaled_source(c, s) : s);
  }
  // The source of the lane's row r, as stored, in the plane that the level computes.
  template <int level>
  __device__ __forceinline__ Pack<T> source(int r, int z) const {
    constexpr bool has_heat = Extras::source == Source::heat || Extras::source == Source::any;
    const T heat = has_heat ? a_.c[level].heat : T{0};
    if constexpr (!Extras::has_field) {
      return Pack<T>::all(heat);
    } else if constexpr (Shared::has_sources) {
      const int stage = earlier_stage(source_stage_, level, Shared::source_stages);
      return Pack<T>::load(&shared_.sources[stage].cell[warp_ * rows + r][lane_ * cells]);
    } else {
      return source_of(a_, at_.x, at_.y + r, z, heat);
    }
  }

  // The first or last row of another warp, in the plane that the level computes. Beyond the tile level 0 gets
  // the row of the halo, the other levels any row.
  template <int level>
  __device__ __forceinline__ Pack<T> edge_row(int warp, int last) const {
    if constexpr (level == 0) {
      return Pack<T>::load(
          &shared_.planes[in_.last_stage()].cell[1 + warp * rows + last * (rows - 1)][lane_ * cells]);
    } else {
      const int inside = min(max(warp, 0), warps - 1);
      return shared_.edge[in_.buffer ^ 1][level - 1][inside][last][lane_];
    }
  }

  template <Around around>
  __device__ __forceinline__ void store(int z, const Pack<T> (&made)[rows], const Pack<T> (&before)[rows]) {
    T* const to = to_ + z * a_.out.pitch_z;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const unsigned mine = at_.cells_of(r);
      T* const row = to + r * a_.out.pitch_y;
      if (mine == at_.all_cells) made[r].store(row);
      if constexpr (around == Around::anything) {
#pragma unroll
        for (int i = 0; i < cells; ++i)
          if ((mine >> i & 1u) != 0 && mine != at_.all_cells) row[i] = made[r].v[i];
      }
    }
    if constexpr (Extras::norm) {
      if (!a_.norm.result) return;
      norm_.add(a_.norm.op, [&](auto add) {
#pragma unroll
        for (int r = 0; r < rows; ++r) {
#pragma unroll
          for (int i = 0; i < cells; ++i) {
            if (at_.is_counted(r, i)) add(made[r].v[i], before[r].v[i]);
          }
        }
      });
    }
  }

  const TemporalArgs<T>& a_;
  const TemporalMaps<T>& maps_;
  const ClassMap<Extras>& class_map_;
  Shared& shared_;
  TemporalPosition<tile>& in_;
  FusedNorm& norm_;
  const Span span_;
  const int lane_, warp_;
  const TemporalLane<T, rows> at_;
  const int first_pack_;  // index of the tile's first pack in a row of classes
  T* const to_;
  int source_stage_ = Shared::source_stages - 1;  // of the plane that level 0 computes
  Pack<T> held_[time_block][3][rows] = {};        // per level: two planes and the arriving one; they rotate
  // Classes of the lane's rows, from the plane that has arrived to the one below the last level's plane.
  unsigned classes_[time_block + 2] = {}, one_ = 0;
  const Coefficients<T>* held_from_ = nullptr;
  Coefficients<T> held_coefficients_{};
};

}  // namespace isotherm::cuda
