// Several sweeps in one pass over memory: tiles whose levels stay in L2 while a wavefront of them walks
// through.
//
// Algebra: `depth` sweeps, each stencil_update() on vectors of x, two planes of one or two rows at once.
// Threads share the region by partition.hpp; a thread cuts its share into tiles of rows (and of columns,
// where rows are long) and walks each along z as fused_tile.hpp says. Traffic a cell, for `depth` sweeps: one
// read and, past the last-level cache, one streaming write; the margins of a tile are read again, mostly from
// L3. The norm is that of the last level, summed as the row `openmp` does.
//
// Memory: the queues of all threads are one allocation of the thread that launches, made at its first launch,
// grown where a launch needs more, and kept until it ends: for each thread what a tile may fill. It holds
// nothing from one launch to the next.
#include <omp.h>

#include <new>

#include "kernels/host/fused_tile.hpp"
#include "kernels/host/partition.hpp"
#include "kernels/host/streaming.hpp"

namespace isotherm::host {
namespace {

using namespace fused;

constexpr Index run_bytes = 8 << 10;  // of a tile's row, so that a tile has rows enough
// What a tile and what it reads may fill: so many eighths of an L2, or where that is more such a part of the
// last level, which is nearly as fast where it is shared by few: margins are work, too.
constexpr std::size_t cache_eighths = 7, far_part = 12;
constexpr Index least_rows = 8;  // of a tile: with fewer, its margins cost more than L3 does

template <class T>
ISOTHERM_INLINE Index parts_of(Box region) {
  return 1 + (region.extent().x * static_cast<Index>(sizeof(T)) - 1) / run_bytes;
}
// Columns begin at cache lines.
template <class T>
ISOTHERM_INLINE Range columns_of(Box region, Index part) {
  constexpr Index line = line_elements(sizeof(T));
  const Index parts = parts_of<T>(region);
  const Range x = part_of({region.lo.x, region.hi.x}, part, parts);
  return {part == 0 ? x.lo : rounded_down(x.lo, line), part == parts - 1 ? x.hi : rounded_down(x.hi, line)};
}

// As many rows as leave a tile's queues, and the planes of `in` that it reads, in the cache.
template <class T>
Cut cut_of(Box region, int depth) {
  constexpr Index line = line_elements(sizeof(T));
  Cut cut{depth, (region.extent().x / parts_of<T>(region) / line + 2) * line, 0};
  const std::size_t bytes = second_level_cache_bytes() / 8 * cache_eighths,
                    far = last_level_cache_bytes() / far_part;
  const Index cache = static_cast<Index>((bytes < far ? far : bytes) / sizeof(T)) / queue_pitch<T>(cut);
  const Index margins = planes * (depth - 1) * (depth + slack + 2 * spare) + (planes + 2) * 2 * depth;
  cut.most_rows = larger(least_rows, (cache - margins) / (planes * (depth - 1) + planes + 2));
  cut.most_rows = rounded_down(cut.most_rows, most_rows);
  cut.most_rows = smaller(cut.most_rows, region.extent().y);
  return cut;
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

template <class Isa, Way way, int rows, class T>
void sweep_share(const SweepArgs<T>& args, const Cut& cut, Store store, Box mine, T* scratch) {
  // As alike as whole passes allow: at an odd row level 1 would have to copy what it reads.
  const Index n_y = mine.extent().y, tiles_y = (n_y + cut.most_rows - 1) / cut.most_rows;
  const Index tile_rows =
      smaller(cut.most_rows, rounded_down((n_y + tiles_y - 1) / tiles_y + rows - 1, rows));
  const Index parts = parts_of<T>(args.region);
  for (Index lo = mine.lo.y; lo < mine.hi.y; lo += tile_rows) {
    const Range y{lo, smaller(lo + tile_rows, mine.hi.y)};
    for (Index i = 0; i < parts; ++i) {
      const Range x = columns_of<T>(args.region, i);
      Tile<Isa, way, rows, T>(args, cut, store, {{x.lo, y.lo, mine.lo.z}, {x.hi, y.hi, mine.hi.z}}, i, parts,
                              scratch)
          .sweep();
    }
  }
  if (store == Store::streaming) stream_fence();
}

template <class Isa, Way way, int rows, class T>
void sweep_all(const SweepArgs<T>& args, int depth, Store store) {
  const Cut cut = cut_of<T>(args.region, depth);
  const Index each = (tile_elements<T>(cut, cut.most_rows) + 4096) / 4096 * 4096;
  const bool alone = args.region.cells() * depth < cells_worth_threads;
  const int most_threads = alone ? 1 : omp_get_max_threads();
  T* const scratch = static_cast<T*>(queues.of(static_cast<std::size_t>(each * most_threads) * sizeof(T)));
#pragma omp parallel num_threads(most_threads) if (!alone)
  {
    const int thread = omp_get_thread_num();
    const Box mine = share(args.region, thread, omp_get_num_threads(), depth - 1);
    if (!mine.empty()) sweep_share<Isa, way, rows>(args, cut, store, mine, scratch + thread * each);
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
      sweep_all<Isa, Way::preferred, 1>(args, plan.depth, store);
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
  return region.empty() ? 0 : static_cast<std::size_t>(parts_of<T>(region) * n.y * n.z) * sizeof(double);
}

template struct StencilFusedOpenmp<ISOTHERM_ISA, float>;
template struct StencilFusedOpenmp<ISOTHERM_ISA, double>;

}  // namespace isotherm::host
