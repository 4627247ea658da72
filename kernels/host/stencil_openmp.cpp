// Threads, vectors, several planes per pass, cache blocking, streaming stores. The lectures 02_vectorised.cpp
// and 03_cache_blocked.cpp in lectures/cpu show the first ideas alone.
//
// Algebra: one sweep, stencil_update() on vectors of x. Threads split the box by share(), as FaceCopy::fill
// did for the first touch. A thread walks its share in blocks of rows: x fastest, then y within the block,
// then z through the whole share, several planes per pass. So a plane of the block is read from memory once;
// the following passes find it in L2. With three planes per pass, the z neighbours of the middle row are
// already in registers: five rows are read from L2 for three, not nine. Rows are only cut if a block would
// hold too few of them, because long runs in memory are worth more than a smaller block. Neighbours along x
// are taken from registers. Rows are prefetched a few rows ahead: the hardware prefetchers of some processors
// do not follow several streams. Other processors are faster without these instructions and with whole cache
// lines at once (a separate tile). Traffic per cell: one read and, past the last-level cache, one streaming
// write; the rows next to a block are read twice. Boundaries across x are applied here: as ghosts they would
// cost two more cache lines per row. The norm of the update is summed in fixed lanes along a row, then over
// rows in order: its bits depend neither on the number of threads nor on the instruction set.

#include <omp.h>

#include "kernels/host/host_kernels.hpp"
#include "kernels/host/material_rows.hpp"

namespace isotherm::host {
namespace {

constexpr Index row_bytes = 16 << 10;    // most in a row of a block, so that a block has enough rows
constexpr Index ahead_bytes = 16 << 10;  // prefetch distance

// Planes per pass; `in_lines`: a whole cache line at a time, without prefetch instructions.
enum class Planes { three_planes, one_plane, four_planes_in_lines };
constexpr std::array<std::string_view, 3> tiles = {"3planes", "1plane", "4planes_lines"};

// How rows are read: prefetched, in registers of the preferred width; or a cache line at a time, by the
// hardware prefetchers alone.
enum class Way { prefetched, lines };

// Planes per pass, each a separate stream: fewer planes read more rows, more are too many for prefetchers.
// `eighths`: the eighths of L2 that the planes + 2 of a block may fill; the rest is for prefetched lines.
template <Way way>
struct Pass {
  static constexpr int planes = way == Way::lines ? 4 : 3, eighths = way == Way::lines ? 5 : 7;
};
constexpr int most_planes = 4;

template <class Isa, class T, Way way>
using Register = Vector<Isa, T, way == Way::lines ? widest<Isa> : preferred<Isa>>;

// Runs of `cells` along x at one (x, y) of one or more planes; pointers at the first cell of the first plane.
template <class T>
struct Runs {
  const T* in;
  Index pitch_y, pitch_z;
  const T* source;
  Index source_pitch_z;
  T* out;
  Index out_pitch_z;
  const T* prefetch;  // the runs to prefetch, some rows ahead
  Index cells;
  T x_lo[most_planes], x_hi[most_planes];  // the cells before and after the runs
  double* norm[most_planes];               // the lanes of the runs' norms
  ReductionOp op;                          // of the norms

  ISOTHERM_INLINE_MEMBER CellRow<T> of_plane(Index p) const {
    const T* const cell = in + p * pitch_z;
    return {cell,
            {cell - pitch_y, cell + pitch_y, cell - pitch_z, cell + pitch_z},
            source ? source + p * source_pitch_z : nullptr,
            out + p * out_pitch_z,
            cells,
            x_lo[p],
            x_hi[p],
            norm[p],
            op};
  }
};

// Sweeps cells [from, to) of runs of `planes` planes in whole vectors; returns their end. Not inlined, and
// with operands in locals: otherwise the compiler runs out of registers and reloads them for every vector.
template <class Isa, Source source, Store store, Way way, Update update, int planes, class T>
[[gnu::noinline]] Index sweep_vectors(const Coefficients<T>& coefficients, const Runs<T>& r, Index from,
                                      Index to) {
  using V = Register<Isa, T, way>;
  if (from + V::lanes > to) return from;
  const Coefficients<V> c = broadcast<V>(coefficients);
  const T *const in = r.in, *const s = r.source, *const prefetch = r.prefetch;
  const Index py = r.pitch_y, pz = r.pitch_z, source_pz = r.source_pitch_z, out_pz = r.out_pitch_z;
  T* const out = r.out;
  const Index last = r.cells - V::lanes;
  const ReductionOp op = r.op;
  V before[planes], centre[planes];
  LaneNorm<update, Isa, T> norm[planes];
#pragma GCC unroll 4
  for (int p = 0; p < planes; ++p) {
    before[p] = from == 0 ? V::broadcast(r.x_lo[p]) : V::load(in + p * pz + from - V::lanes);
    centre[p] = V::load(in + p * pz + from);
    if (update != Update::none) norm[p].load(r.norm[p], from);
  }
  Index x = from;
  for (; x + V::lanes <= to; x += V::lanes) {
    V after[planes];
#pragma GCC unroll 4
    for (int p = 0; p < planes; ++p) {
      if (way == Way::prefetched) __builtin_prefetch(prefetch + p * pz + x);
      after[p] = x == last ? V::broadcast(r.x_hi[p]) : V::load(in + p * pz + x + V::lanes);
    }
    const V z_lo = V::load(in - pz + x), z_hi = V::load(in + planes * pz + x);
#pragma GCC unroll 4
    for (int p = 0; p < planes; ++p) {
      const V value =
          stencil_update(c, centre[p], V::one_before(before[p], centre[p]), V::one_after(centre[p], after[p]),
                         V::load(in + p * pz - py + x), V::load(in + p * pz + py + x),
                         p == 0 ? z_lo : centre[p - 1], p == planes - 1 ? z_hi : centre[p + 1],
                         source == Source::field ? scaled_source(c, V::load(s + p * source_pz + x)) : c.heat);
      store == Store::streaming ? V::store_streaming(out + p * out_pz + x, value)
                                : V::store(out + p * out_pz + x, value);
      norm[p].add(op, value, centre[p]);
    }
#pragma GCC unroll 4
    for (int p = 0; p < planes; ++p) {
      before[p] = centre[p];
      centre[p] = after[p];
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < planes && update != Update::none; ++p) norm[p].store(r.norm[p], x);
  return x;
}

// Sweeps a few cells [from, to) of each plane. Not inlined.
template <class Isa, Source source, Update update, int planes, class T>
[[gnu::noinline]] void sweep_cached(const Coefficients<T>& c, const Runs<T>& r, Index from, Index to) {
  for (Index p = 0; p < planes; ++p) sweep_cells<Isa, source, update>(c, r.of_plane(p), from, to);
}

// Only whole cache lines are streamed: a line written partly by each kind of store costs more than it saves.
template <class Isa, Source source, Store store, Way way, Update update, int planes, class T>
ISOTHERM_INLINE void sweep_runs(const Coefficients<T>& c, const Runs<T>& r) {
  Index first = 0, end = r.cells;
  if constexpr (store == Store::streaming) {
    constexpr Index line = 64 / static_cast<Index>(sizeof(T));
    const Index cell = static_cast<Index>(reinterpret_cast<std::uintptr_t>(r.out) / sizeof(T));
    first = (line - cell % line) % line;
    end = r.cells - (cell + r.cells) % line;
  }
  if (first < end) {
    if (first > 0) sweep_cached<Isa, source, update, planes>(c, r, 0, first);
    first = sweep_vectors<Isa, source, store, way, update, planes>(c, r, first, end);
  } else {
    first = 0;
  }
  if (first < r.cells) sweep_cached<Isa, source, update, planes>(c, r, first, r.cells);
}

// The x neighbour of cell (x, y, z) towards a face: at a boundary, its boundary ghost.
template <class T>
ISOTHERM_INLINE T beyond(const SweepArgs<T>& args, Face f, Index x, Index y, Index z) {
  const Boundary<T>& boundary = args.boundaries.faces[static_cast<int>(f)];
  const bool at_face = is_max(f) ? x == args.in.extent.x - 1 : x == 0;
  if (boundary.is_boundary && at_face) return boundary.ghost(y, z, args.in(x, y, z));
  return args.in(is_max(f) ? x + 1 : x - 1, y, z);
}

// Rows longer than row_bytes are cut along x into equal parts.
ISOTHERM_INLINE Index parts_of_row(Index cells, std::size_t element_bytes) {
  return 1 + (cells * static_cast<Index>(element_bytes) - 1) / row_bytes;
}

template <class T>
ISOTHERM_INLINE PartialNorms partial_norms(Box region) {
  return {region, parts_of_row(region.extent().x, sizeof(T))};
}

// The share of one thread.
template <class Isa, Source source, Store store, Way way, Update update, class T>
class Share {
 public:
  Share(const SweepArgs<T>& args, Box mine, bool many_planes)
      : args_(args), mine_(mine), many_planes_(many_planes) {}

  // Blocks have about equal sizes: no thin one at the end.
  void sweep() const {
    const Int3 n = mine_.extent();
    const Index parts_x = parts_of_row(n.x, sizeof(T));
    const Index part_bytes = args_.in.pitch_y * static_cast<Index>(sizeof(T)) / parts_x;
    const Index block_bytes = static_cast<Index>(second_level_cache_bytes() / 8 * Pass<way>::eighths);
    const Index rows = larger(1, block_bytes / ((Pass<way>::planes + 2) * part_bytes));
    const Index parts_y = (n.y + rows - 1) / rows;
    for (Index j = 0; j < parts_y; ++j) {
      const Range y = part_of({mine_.lo.y, mine_.hi.y}, j, parts_y);
      for (Index i = 0; i < parts_x; ++i) {
        const Range x = part_of({mine_.lo.x, mine_.hi.x}, i, parts_x);
        sweep_block({{x.lo, y.lo, mine_.lo.z}, {x.hi, y.hi, mine_.hi.z}}, i);
      }
    }
    if (store == Store::streaming) stream_fence();
  }

 private:
  // `block`: some rows and all planes of the share, walked in passes of some planes.
  void sweep_block(Box block, Index part) const {
    Index z = block.lo.z;
    constexpr Index planes = Pass<way>::planes;
    for (; many_planes_ && z + planes <= block.hi.z; z += planes) pass<planes>(block, part, z);
    for (; z < block.hi.z; ++z) pass<1>(block, part, z);
  }

  template <int planes>
  void pass(Box block, Index part, Index z) const {
    const Int3 n = block.extent();
    const FieldView<const T> in = args_.in;
    const Index rows_ahead = larger(1, ahead_bytes / (planes * n.x * static_cast<Index>(sizeof(T))));
    const Index passes_ahead = 1 + rows_ahead / n.y;
    for (Index y = block.lo.y; y < block.hi.y; ++y) {
      // rows_ahead rows further in the order of this walk, in the planes above the last that this pass reads.
      const Index y_ahead = y + rows_ahead % n.y;
      const bool turns = y_ahead >= block.hi.y;
      const Index z_ahead = smaller(z + planes * (passes_ahead + (turns ? 1 : 0)), block.hi.z - planes) + 1;
      Runs<T> runs = {};
      double norm[planes][norm_lanes<T>] = {};
      runs.in = &in(block.lo.x, y, z);
      runs.pitch_y = in.pitch_y;
      runs.pitch_z = in.pitch_z;
      if (source == Source::field) runs.source = &args_.source(block.lo.x, y, z);
      runs.source_pitch_z = args_.source.pitch_z;
      runs.out = &args_.out(block.lo.x, y, z);
      runs.out_pitch_z = args_.out.pitch_z;
      runs.prefetch = &in(block.lo.x, turns ? y_ahead - n.y : y_ahead, z_ahead);
      runs.cells = n.x;
      runs.op = args_.norm.op;
      for (int p = 0; p < planes; ++p) {
        runs.x_lo[p] = beyond(args_, Face::x_min, block.lo.x, y, z + p);
        runs.x_hi[p] = beyond(args_, Face::x_max, block.hi.x - 1, y, z + p);
        runs.norm[p] = norm[p];
      }
      sweep_runs<Isa, source, store, way, update, planes>(args_.c[0], runs);
      for (int p = 0; p < planes && update != Update::none; ++p)
        *partial_norms<T>(args_.region).at(args_.norm, part, y, z + p) =
            combined(runs.op, 0, norm[p], norm_lanes<T>);
    }
  }

  const SweepArgs<T>& args_;
  Box mine_;
  bool many_planes_;  // else one at a time: for processors with few registers
};

template <class Isa, Source source, Store store, Way way, Update update, class T>
void sweep_all(const SweepArgs<T>& args, bool many_planes) {
#pragma omp parallel if (args.region.cells() >= cells_worth_threads)
  {
    const Box mine = share(args.region, omp_get_thread_num(), omp_get_num_threads());
    if (!mine.empty()) Share<Isa, source, store, way, update, T>(args, mine, many_planes).sweep();
  }
}

// Sweeps a row in a domain of several materials.
template <class Isa, Source source, Update update, class T>
void sweep_material_row(const Materials<T>& m, const MaterialRow<T>& row) {
  ClassCuts<row_bytes / static_cast<Index>(sizeof(T)) + 1> cuts(row.cells);
  cuts.add(row.classes, 0, row.cells);
  for (const std::uint8_t* const near : row.classes_near) cuts.add(near, 0, row.cells);
  for (Index from = 0, to; from < row.cells; from = to) {
    to = cuts.end_of(from);
    sweep_between_cuts<Isa, source, update>(m, 0, row, from, to, from);
  }
}

template <class Isa, Source source, Update update, class T>
void sweep_all_materials(const SweepArgs<T>& args) {
  const Box box = args.region;
  if (box.empty()) return;
  const PartialNorms norms = partial_norms<T>(box);
#pragma omp parallel for collapse(2) schedule(static) if (box.cells() >= cells_worth_threads)
  for (Index z = box.lo.z; z < box.hi.z; ++z) {
    for (Index y = box.lo.y; y < box.hi.y; ++y) {
      for (Index part = 0; part < norms.parts; ++part) {
        const Range x = part_of({box.lo.x, box.hi.x}, part, norms.parts);
        double norm[norm_lanes<T>] = {};
        MaterialRow<T> row{};
        const auto put_near = [&]<class Cell>(Cell*(&near)[4], const FieldView<Cell>& of) {
          const Index py = of.pitch_y, pz = of.pitch_z;
          Cell* const at = &of(x.lo, y, z);
          near[0] = at - py, near[1] = at + py, near[2] = at - pz, near[3] = at + pz;
          return at;
        };
        row.in = put_near(row.near, args.in);
        row.classes = put_near(row.classes_near, args.materials.classes);
        if (source == Source::field) row.source = &args.source(x.lo, y, z);
        row.out = &args.out(x.lo, y, z);
        row.cells = x.hi - x.lo;
        row.x_lo = beyond(args, Face::x_min, x.lo, y, z);
        row.x_hi = beyond(args, Face::x_max, x.hi - 1, y, z);
        row.lanes = norm;
        row.op = args.norm.op;
        sweep_material_row<Isa, source, update>(args.materials, row);
        if (update != Update::none)
          *norms.at(args.norm, part, y, z) = combined(row.op, 0, norm, norm_lanes<T>);
      }
    }
  }
}

// Whole lines are used only with streaming stores: a field that fits the caches is not bound by memory.
template <class Isa, Source source, Update update, class T>
void sweep_by(const SweepArgs<T>& args, Store store, Planes tile) {
  const bool many_planes = tile != Planes::one_plane;
  if (store == Store::cached) {
    sweep_all<Isa, source, Store::cached, Way::prefetched, update>(args, many_planes);
  } else if (tile == Planes::four_planes_in_lines) {
    sweep_all<Isa, source, Store::streaming, Way::lines, update>(args, many_planes);
  } else {
    sweep_all<Isa, source, Store::streaming, Way::prefetched, update>(args, many_planes);
  }
}

template <class Isa, class T>
void launch(const SweepArgs<T>& args, SweepPlan plan, Stream) {
  sweep_openmp<Isa>(args, plan, choose_store(static_cast<std::size_t>(args.region.cells()) * sizeof(T)));
}

}  // namespace

template <class Isa, class T>
void sweep_openmp(const SweepArgs<T>& args, SweepPlan plan, Store store) {
  const auto tile = static_cast<Planes>(plan.tile);
  with_update(args.norm, [&]<Update update>() {
    with_source(args.source, [&]<Source source>() {
      args.materials.empty() ? sweep_by<Isa, source, update>(args, store, tile)
                             : sweep_all_materials<Isa, source, update>(args);
    });
  });
  partial_norms<T>(args.region).finish(args.norm);
}

template <class Isa, class T>
void stencil_openmp(StencilKernel<T>& kernel) {
  kernel.launch = launch<Isa, T>;
  kernel.own_boundaries = {true, false, false};
  kernel.tiles = tiles;
  kernel.norm_scratch_bytes = [](Box region, int) { return partial_norms<T>(region).bytes(); };
  kernel.sweeps_materials = true;
  kernel.calls_ghost = true;
}

ISOTHERM_INSTANTIATE(stencil_openmp, StencilKernel);
template void sweep_openmp<ISOTHERM_ISA>(const SweepArgs<float>&, SweepPlan, Store);
template void sweep_openmp<ISOTHERM_ISA>(const SweepArgs<double>&, SweepPlan, Store);

}  // namespace isotherm::host
