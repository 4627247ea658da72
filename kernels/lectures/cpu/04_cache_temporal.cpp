// Stencil kernel `cache_temporal`: several sweeps in one pass over memory (temporal blocking), in the
// plainest form.
//
// Algebra   up to 4 sweeps, each stencil_update() of the result of the one before: the same bits as single
//           sweeps. Later sweeps need boundary ghosts that are not in memory, so the kernel sets the ghosts
//           of its buffer, for all sweeps alike.
// Mapping   a thread has a tile of x by y cells and walks along z. At step z, level 0 copies plane z of the
//           field, level 1 computes plane z - 1 of the first sweep, level 2 plane z - 2 of the second, and so
//           on. Tiles overlap: each level computes one cell less on each side than the one before it, and the
//           last level computes the tile itself.
// Storage   on the stack, and so in L2: four planes of each level, 230 KB in fp32. Three are read; the fourth
//           has room for the ghosts beyond an upper boundary.
// Traffic   one read and one write for all sweeps, and the overlap: with 4 sweeps a tile of 128 x 16 reads
//           136 x 24 cells. `temporal_openmp` (kernels/host) keeps the idea, overlaps in y alone and updates
//           planes in place.
#include "kernels/lectures/cpu/row.hpp"

namespace isotherm::host {
namespace {

constexpr int max_time_block = 4;
constexpr Int3 tile{128, 16, 64};
constexpr int halo = max_time_block + 1;  // one for ghosts

template <class T>
class TileWalk {
 public:
  TileWalk(const SweepArgs<T>& args, int sweeps, Int3 lo)
      : a_(args), sweeps_(sweeps), box_(Box{lo, lo + tile}.within(args.region)) {}

  void run() {
    for (Index z = box_.lo.z - sweeps_; z < box_.hi.z + sweeps_; ++z) {
      for (int level = 0; level <= sweeps_; ++level) compute(level, z - level);
    }
  }

 private:
  // The cells that a level must compute, none of them beyond a boundary.
  Box cells_of(int level) const { return a_.boundaries.widened(box_, sweeps_ - level, a_.in.extent); }
  T& at(int level, Int3 c) { return planes_[level][c.z & 3][c.y - box_.lo.y + halo][c.x - box_.lo.x + halo]; }

  void compute(int level, Index z) {
    const Box cells = cells_of(level);
    if (z < cells.lo.z || z >= cells.hi.z) return;
    const Index lo = cells.lo.x, hi = cells.hi.x;
    for (Index y = cells.lo.y; y < cells.hi.y; ++y) {
      T* const out = level < sweeps_ ? &at(level, {lo, y, z}) : &a_.out(lo, y, z);
      if (level == 0) {
        for (Index x = lo; x < hi; ++x) out[x - lo] = a_.in(x, y, z);
        continue;
      }
      const auto before = [&](Index dy, Index dz) { return &at(level - 1, {lo, y + dy, z + dz}); };
      const Row<T> row{before(0, 0),  before(-1, 0), before(1, 0),
                       before(0, -1), before(0, 1),  a_.source.empty() ? nullptr : &a_.source(lo, y, z)};
      update_row(a_.c[level - 1], row, out, 0, hi - lo);
    }
    if (level < sweeps_) set_ghosts(level, {{lo, cells.lo.y, z}, {hi, cells.hi.y, z + 1}});
  }

  // Sets the ghosts beyond the boundaries that a plane touches.
  void set_ghosts(int level, Box plane) {
    for (int f = 0; f < face_count; ++f) {
      const Boundary<T>& boundary = a_.boundaries.faces[f];
      const int axis = f / 2, p = axis == 0 ? 1 : 0, q = axis == 2 ? 1 : 2;
      const Index end = f % 2 ? a_.in.extent[axis] - 1 : 0;
      if (!boundary.is_boundary || end < plane.lo[axis] || end >= plane.hi[axis]) continue;
      Int3 cell{end, end, end};
      for (cell[q] = plane.lo[q]; cell[q] < plane.hi[q]; ++cell[q]) {
        for (cell[p] = plane.lo[p]; cell[p] < plane.hi[p]; ++cell[p]) {
          Int3 ghost = cell;
          ghost[axis] += f % 2 ? 1 : -1;
          at(level, ghost) = boundary.ghost(cell[p], cell[q], at(level, cell), level);
        }
      }
    }
  }

  const SweepArgs<T>& a_;
  int sweeps_;
  Box box_;
  T planes_[max_time_block][4][tile.y + 2 * halo][tile.x + 2 * halo];
};

template <class T>
void sweep(const SweepArgs<T>& args, SweepPlan plan, Stream) {
  const Box box = args.region;
  if (box.empty()) return;
#pragma omp parallel for collapse(3) schedule(static) if (box.cells() >= cells_worth_threads)
  for (Index z = box.lo.z; z < box.hi.z; z += tile.z) {
    for (Index y = box.lo.y; y < box.hi.y; y += tile.y) {
      for (Index x = box.lo.x; x < box.hi.x; x += tile.x) TileWalk<T>(args, plan.time_block, {x, y, z}).run();
    }
  }
}

}  // namespace

template <class Isa, class T>
void stencil_cache_temporal(StencilKernel<T>& kernel) {
  kernel.launch = sweep<T>;
  kernel.max_time_block = max_time_block;
  kernel.own_boundaries = {true, true, true};
}

ISOTHERM_INSTANTIATE(stencil_cache_temporal, StencilKernel);

}  // namespace isotherm::host
