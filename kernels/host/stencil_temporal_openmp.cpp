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
// grown where a launch needs more, and kept until it is released or ends: for each thread what a tile may
// fill. It holds nothing from one launch to the next.
#include "kernels/host/stencil_temporal_openmp.hpp"

#include <omp.h>

#include <new>

#include "kernels/host/fused_tile.hpp"
#include "kernels/host/streaming.hpp"

namespace isotherm::host {
namespace {

using namespace fused;

constexpr std::array<std::string_view, 3> policies = {"2rows", "1row", "2rows_wide"};
constexpr Index run_bytes = 8 << 10;  // of a tile's row, so that a tile has rows enough
// What a tile and what it reads may fill: so many eighths of an L2, or where that is more its thread's share
// of the last level, which is nearly as fast: margins are work, too. More than a twelfth is of no use.
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

int threads_of(Box region, int depth) {
  return region.cells() * depth < cells_worth_threads ? 1 : omp_get_max_threads();
}

std::size_t tile_bytes_here(int threads) {
  const auto sharers = static_cast<std::size_t>(sharers_of_last_level_cache(threads));
  const std::size_t bytes = second_level_cache_bytes() / 8 * cache_eighths,
                    far = last_level_cache_bytes() / (sharers > far_part ? sharers : far_part);
  return bytes < far ? far : bytes;
}

// As many rows as leave a tile's queues, and the planes of `in` that it reads, in the cache, and as a thread
// has.
template <class T>
Cut cut_of(Box region, int depth, int threads, std::size_t tile_bytes) {
  constexpr Index line = line_elements(sizeof(T));
  Cut cut{depth, (region.extent().x / parts_of<T>(region) / line + 2) * line, 0};
  const Index cache = static_cast<Index>(tile_bytes / sizeof(T)) / queue_pitch<T>(cut);
  const Index margins = planes * (depth - 1) * (depth + slack + 2 * spare) + (planes + 2) * 2 * depth;
  cut.most_rows = larger(least_rows, (cache - margins) / (planes * (depth - 1) + planes + 2));
  cut.most_rows = rounded_down(cut.most_rows, most_rows);
  cut.most_rows = smaller(cut.most_rows, share(region, 0, threads, depth - 1).extent().y + 1);
  return cut;
}
// Elements of the queues of one thread, whole pages of them.
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
void sweep_all(const SweepArgs<T>& args, int depth, Store store, std::size_t tile_bytes) {
  const int most_threads = threads_of(args.region, depth);
  const Cut cut = cut_of<T>(args.region, depth, most_threads, tile_bytes);
  const Index each = queue_elements<T>(cut);
  T* const scratch = static_cast<T*>(queues.of(static_cast<std::size_t>(each * most_threads) * sizeof(T)));
#pragma omp parallel num_threads(most_threads) if (most_threads > 1)
  {
    const int thread = omp_get_thread_num();
    const Box mine = share(args.region, thread, omp_get_num_threads(), depth - 1);
    if (!mine.empty()) sweep_share<Isa, way, rows>(args, cut, store, mine, scratch + thread * each);
  }
}

template <class Isa, class T>
void launch(const SweepArgs<T>& args, SweepPlan plan, Stream) {
  sweep_temporal_openmp<Isa>(args, plan,
                             choose_store(static_cast<std::size_t>(args.region.cells()) * sizeof(T)),
                             tile_bytes_here(threads_of(args.region, plan.depth)));
}

template <class T>
std::size_t norm_scratch_bytes(Box region, int) {
  const Int3 n = region.extent();
  return region.empty() ? 0 : static_cast<std::size_t>(parts_of<T>(region) * n.y * n.z) * sizeof(double);
}

template <class T>
std::size_t queue_bytes(Box region, SweepPlan plan) {
  if (region.empty()) return 0;
  const int threads = threads_of(region, plan.depth);
  const Cut cut = cut_of<T>(region, plan.depth, threads, tile_bytes_here(threads));
  return static_cast<std::size_t>(queue_elements<T>(cut) * threads) * sizeof(T);
}
template <class T>
constexpr LaunchMemory launch_memory{&queue_bytes<T>, [] { return queues.bytes; }, [] { queues.release(); }};

}  // namespace

template <class Isa, class T>
void sweep_temporal_openmp(const SweepArgs<T>& args, SweepPlan plan, Store store, std::size_t tile_bytes) {
  if (!args.region.empty()) {
    const auto sweep = plan.policy == 0   ? sweep_all<Isa, Way::preferred, 2, T>
                       : plan.policy == 1 ? sweep_all<Isa, Way::preferred, 1, T>
                                          : sweep_all<Isa, Way::wide, 2, T>;
    sweep(args, plan.depth, store, tile_bytes);
  }
  if (!args.norm.result) return;
  finish_norm(args.norm, static_cast<const double*>(args.norm.scratch),
              static_cast<Index>(norm_scratch_bytes<T>(args.region, plan.policy) / sizeof(double)));
}

template <class Isa, class T>
void stencil_temporal_openmp(StencilKernel<T>& row) {
  row.launch = launch<Isa, T>;
  row.max_depth = most_depth;
  row.own_boundaries = {true, true, true};
  row.policies = policies;
  row.norm_scratch_bytes = norm_scratch_bytes<T>;
  row.memory = &launch_memory<T>;
}

template void stencil_temporal_openmp<ISOTHERM_ISA>(StencilKernel<float>&);
template void stencil_temporal_openmp<ISOTHERM_ISA>(StencilKernel<double>&);
template void sweep_temporal_openmp<ISOTHERM_ISA>(const SweepArgs<float>&, SweepPlan, Store, std::size_t);
template void sweep_temporal_openmp<ISOTHERM_ISA>(const SweepArgs<double>&, SweepPlan, Store, std::size_t);

}  // namespace isotherm::host
