// Multigrid transfers between two grids on the GPU.
//
// Mapping   restriction: where cells nest 2 x 2 x 2, a thread takes a column of coarse cells and walks up
//           along z. The planes of its fine cells stay in registers, x neighbours are exchanged by warp
//           shuffle, neighbouring rows are read from L1. On other grids a thread takes one coarse cell and
//           reads the neighbours of its fine cells from L1. Prolongation: a thread takes a column of two fine
//           cells, of 2 x 2 where cells nest, and uses an interpolated coarse plane for all fine planes next
//           to it.
// Traffic   restriction: a read of the fine field and of its source. Prolongation: a read and a write of the
//           fine field. The coarse grid is an eighth of it.
#include "kernels/cuda/launch.hpp"
#include "kernels/grid_transfer.hpp"

namespace isotherm::cuda {
namespace {

constexpr dim3 wide(warp_size, 4, 1);
// Where cells nest: two such blocks share an SM, so each thread has enough registers to load all cells of a
// plane at once. In restriction, blocks of more rows share fewer rows with the next block. Prolongation is
// faster with longer rows.
constexpr unsigned threads = 256;
constexpr dim3 square(warp_size, 8, 1), long_rows(4 * warp_size, 2, 1);

// Planes of the coarse or the fine grid that a thread walks through: few on small grids, which would have too
// few threads otherwise.
Index walk_of(Box region) { return region.cells() < Index{1} << 21 ? 2 : 16; }

template <class T>
__device__ __forceinline__ void restrict_cell(const Restriction<T>& r, Int3 cell) {
  const CellOverlap<T> on_x = r.overlaps[0][cell.x], on_y = r.overlaps[1][cell.y],
                       on_z = r.overlaps[2][cell.z];
  T sum = 0;
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    if (i >= on_x.count) break;
    T column = 0;
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      if (k >= on_z.count) break;
      T row = 0;
#pragma unroll
      for (int j = 0; j < 3; ++j) {
        if (j >= on_y.count) break;
        const Int3 at{on_x.first + i, on_y.first + j, on_z.first + k};
        const T s = r.source.empty() ? r.unit.heat : r.source(at);
        const T update = update_of(r.unit, &r.fine(at), r.fine.pitch_y, r.fine.pitch_z, s);
        row = fused_multiply_add(on_y.share[j], update, row);
      }
      column = fused_multiply_add(on_z.share[k], row, column);
    }
    sum = fused_multiply_add(on_x.share[i], column, sum);
  }
  r.store(cell, sum);
}

// Two adjacent fine cells.
template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T v[2];
  __device__ __forceinline__ static Pair load(const T* from) { return *reinterpret_cast<const Pair*>(from); }
};

// The fine cells of a coarse cell in one plane: two rows.
template <class T>
struct RowPairs {
  Pair<T> row[2];
  __device__ __forceinline__ static RowPairs load(const T* from, Index pitch_y) {
    return {{Pair<T>::load(from), Pair<T>::load(from + pitch_y)}};
  }
};

// Where the lower and the upper x neighbour of a lane's fine cells are: in memory, beyond a boundary, or else
// in the next lane.
struct Ends {
  bool from_memory[2], at_boundary[2];
};

// For each x: adds half the mean over y of the updates of a plane's 2 x 2 fine cells.
template <class T>
__device__ __forceinline__ void add_plane(const Restriction<T>& r, const T* from, const T* source,
                                          const Ends& ends, const RowPairs<T>& below, const RowPairs<T>& at,
                                          const RowPairs<T>& above, T (&column)[2]) {
  const Index pitch = r.fine.pitch_y;
  const Pair<T> y_prev = Pair<T>::load(from - pitch), y_next = Pair<T>::load(from + 2 * pitch);
  T rows[2] = {0, 0};
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    T x_lo = __shfl_up_sync(0xffffffffu, at.row[j].v[1], 1);
    T x_hi = __shfl_down_sync(0xffffffffu, at.row[j].v[0], 1);
    if (ends.from_memory[0]) x_lo = from[j * pitch - 1];
    if (ends.from_memory[1]) x_hi = from[j * pitch + 2];
    const Boundary<T>&lower = r.across_x[0], &upper = r.across_x[1];
    if (ends.at_boundary[0]) x_lo = boundary_ghost(lower.a, lower.b[0], at.row[j].v[0]);
    if (ends.at_boundary[1]) x_hi = boundary_ghost(upper.a, upper.b[0], at.row[j].v[1]);
    const Pair<T> y_lo = j == 0 ? y_prev : at.row[0], y_hi = j == 0 ? at.row[1] : y_next;
    const Pair<T> s =
        source ? Pair<T>::load(source + j * r.source.pitch_y) : Pair<T>{r.unit.heat, r.unit.heat};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const T centre = at.row[j].v[i];
      const T made = stencil_update(r.unit, centre, i == 0 ? x_lo : at.row[j].v[0],
                                    i == 0 ? at.row[j].v[1] : x_hi, y_lo.v[i], y_hi.v[i], below.row[j].v[i],
                                    above.row[j].v[i], scaled_source(r.unit, s.v[i]));
      rows[i] = fused_multiply_add(T(0.5), made - centre, rows[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) column[i] = fused_multiply_add(T(0.5), rows[i], column[i]);
}

// Lanes beyond the region in x repeat its last cell and store nothing: shuffles need all lanes.
template <class T>
__global__ void __launch_bounds__(threads, sizeof(T) == 8 ? 2 : 3)
    restrict_nested(Restriction<T> r, Int3 first, Index walk) {
  const Int3 cell = cell_of_thread(first);
  if (cell.y >= r.region.hi.y) return;  // a whole warp
  const Index z_lo = r.region.lo.z + (cell.z - r.region.lo.z) * walk, z_hi = min(z_lo + walk, r.region.hi.z);
  const Index x = min(cell.x, r.region.hi.x - 1);
  const Index fine_x = r.overlaps[0][x].first, fine_y = r.overlaps[1][cell.y].first;
  const Index fine_z = r.overlaps[2][z_lo].first;
  const bool at_min = r.across_x[0].is_boundary && fine_x == 0,
             at_max = r.across_x[1].is_boundary && fine_x + 2 == r.fine.extent.x;
  const Ends ends{
      {threadIdx.x == 0 && !at_min, (threadIdx.x == warp_size - 1 || cell.x + 1 >= r.region.hi.x) && !at_max},
      {at_min, at_max}};
  const T* from = &r.fine(fine_x, fine_y, fine_z);
  const T* source = r.source.empty() ? nullptr : &r.source(fine_x, fine_y, fine_z);
  const Index pitch_y = r.fine.pitch_y, pitch_z = r.fine.pitch_z;
  RowPairs<T> below = RowPairs<T>::load(from - pitch_z, pitch_y), at = RowPairs<T>::load(from, pitch_y);
  for (Index z = z_lo; z < z_hi; ++z) {
    T column[2] = {0, 0};
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const RowPairs<T> above = RowPairs<T>::load(from + pitch_z, pitch_y);
      add_plane(r, from, source, ends, below, at, above, column);
      below = at;
      at = above;
      from += pitch_z;
      if (source) source += r.source.pitch_z;
    }
    const T sum = fused_multiply_add(T(0.5), column[1], fused_multiply_add(T(0.5), column[0], T(0)));
    if (cell.x == x) r.store({x, cell.y, z}, sum);
  }
}

// Columns of two adjacent fine cells. Each coarse plane is interpolated along y once.
template <class T>
__global__ void __launch_bounds__(128) prolong_cells(Prolongation<T> p, Int3 first, Index walk) {
  const Int3 cell = cell_of_thread(first);
  const Index x = 2 * cell.x, y = cell.y;
  if (x >= p.region.hi.x || y >= p.region.hi.y) return;
  const bool both = x + 1 < p.region.hi.x;
  const Index z_lo = cell.z * walk, z_hi = min(z_lo + walk, p.region.hi.z);
  const Interpolation<T> on_y = p.interpolations[1][y];
  const Interpolation<T> on_x[2] = {p.interpolations[0][x], p.interpolations[0][both ? x + 1 : x]};
  struct Plane {
    Index z;
    T lower[2], upper[2];  // at the coarse cells along x
  };
  const auto plane = [&](Index z) {
    const auto at = [&](Index coarse_x) {
      return interpolated(on_y, p.coarse(coarse_x, on_y.lower, z), p.coarse(coarse_x, on_y.upper, z));
    };
    return Plane{z, {at(on_x[0].lower), at(on_x[1].lower)}, {at(on_x[0].upper), at(on_x[1].upper)}};
  };
  Plane lower = plane(p.interpolations[2][z_lo].lower), upper = lower;
  T* to = &p.fine(x, y, z_lo);
  Pair<T> next = Pair<T>::load(to);
  for (Index z = z_lo; z < z_hi; ++z, to += p.fine.pitch_z) {
    Pair<T> value = next;
    if (z + 1 < z_hi) next = Pair<T>::load(to + p.fine.pitch_z);
    const Interpolation<T> on_z = p.interpolations[2][z];
    if (on_z.lower != lower.z) lower = on_z.lower == upper.z ? upper : plane(on_z.lower);
    if (on_z.upper != upper.z) upper = on_z.upper == lower.z ? lower : plane(on_z.upper);
#pragma unroll
    for (int i = 0; i < 2; ++i)
      value.v[i] += interpolated(on_x[i], interpolated(on_z, lower.lower[i], upper.lower[i]),
                                 interpolated(on_z, lower.upper[i], upper.upper[i]), p.shift);
    if (both) {
      *reinterpret_cast<Pair<T>*>(to) = value;
    } else {
      *to = value.v[0];
    }
  }
}

// Columns of 2 x 2 fine cells, those of a coarse cell. Its x neighbours are exchanged by warp shuffle; the
// first and the last lane load theirs. Lanes beyond the region hold the coarse cell after its last one.
template <class T>
__global__ void __launch_bounds__(threads, 2) prolong_nested(Prolongation<T> p, Int3 first, Index walk) {
  const Int3 cell = cell_of_thread(first);
  if (2 * cell.y >= p.region.hi.y) return;  // a whole warp
  const Index z_lo = cell.z * walk, z_hi = min(z_lo + walk, p.region.hi.z);
  const Index x = min(2 * cell.x, p.region.hi.x - 2), y = 2 * cell.y;
  const Interpolation<T> on_x[2] = {p.interpolations[0][x], p.interpolations[0][x + 1]};
  const Interpolation<T> on_y[2] = {p.interpolations[1][y], p.interpolations[1][y + 1]};
  const unsigned lane = threadIdx.x % warp_size;
  const bool is_first = lane == 0, is_last = lane == warp_size - 1, inside = 2 * cell.x < p.region.hi.x;
  const int own_x = inside ? on_x[1].lower : on_x[1].upper, side_x = is_first ? on_x[0].lower : on_x[1].upper;
  // Values in both fine rows, at the coarse cells before, at and after the columns along x.
  struct Plane {
    T x_prev[2], at[2], x_next[2];
  };
  const auto plane = [&](int z) {
    const auto rows = [&](int coarse_x, T(&row)[2]) {
      const T own = p.coarse(coarse_x, on_y[1].lower, z);
      row[0] = interpolated(on_y[0], p.coarse(coarse_x, on_y[0].lower, z), own);
      row[1] = interpolated(on_y[1], own, p.coarse(coarse_x, on_y[1].upper, z));
    };
    Plane made;
    T at_side[2] = {};
    rows(own_x, made.at);
    if (is_first || is_last) rows(side_x, at_side);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      made.x_prev[j] = __shfl_up_sync(0xffffffffu, made.at[j], 1);
      made.x_next[j] = __shfl_down_sync(0xffffffffu, made.at[j], 1);
      if (is_first) made.x_prev[j] = at_side[j];
      if (is_last) made.x_next[j] = at_side[j];
    }
    return made;
  };
  const Interpolation<T>* on_z = &p.interpolations[2][z_lo];
  Plane lower = plane(on_z->lower), own = plane(on_z[1].lower);
  T* to = &p.fine(x, y, z_lo);
  for (Index z = z_lo; z < z_hi; z += 2, on_z += 2, to += 2 * p.fine.pitch_z) {
    Pair<T> value[2][2];  // all loads in flight at once
#pragma unroll
    for (int k = 0; k < 2; ++k)
      for (int j = 0; j < 2; ++j) value[k][j] = Pair<T>::load(to + k * p.fine.pitch_z + j * p.fine.pitch_y);
    const Plane upper = plane(on_z[1].upper);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const Plane &below = k == 0 ? lower : own, &above = k == 0 ? own : upper;
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const T x_prev = interpolated(on_z[k], below.x_prev[j], above.x_prev[j]),
                at = interpolated(on_z[k], below.at[j], above.at[j]),
                x_next = interpolated(on_z[k], below.x_next[j], above.x_next[j]);
        value[k][j].v[0] += interpolated(on_x[0], x_prev, at, p.shift);
        value[k][j].v[1] += interpolated(on_x[1], at, x_next, p.shift);
        if (inside) *reinterpret_cast<Pair<T>*>(to + k * p.fine.pitch_z + j * p.fine.pitch_y) = value[k][j];
      }
    }
    lower = own;
    own = upper;
  }
}

// Queues a kernel whose thread blocks cover x and y of `columns`; each walks along z.
template <class Transfer>
void launch_columns(const char* name, void (*kernel)(Transfer, Int3, Index), Box columns, Index walk,
                    dim3 block, Stream stream, const Transfer& transfer) {
  columns.hi.z = columns.lo.z + ceil_div(columns.extent().z, walk);
  cover(columns, block, [&](dim3 grid, Int3 first) {
    launch(name, kernel, {grid, block}, stream, transfer, first, walk);
  });
}

template <class T>
void restrict_residual(const Restriction<T>& r, Stream stream) {
  if (r.nested)
    return launch_columns("restrict_nested", restrict_nested<T>, r.region, walk_of(r.region), square, stream,
                          r);
  launch_for_cells<128>("restrict_cells", r.region, stream,
                        [=] __device__(Int3 cell) { restrict_cell(r, cell); });
}

template <class T>
void prolong_add(const Prolongation<T>& p, Stream stream) {
  const Index walk = walk_of(p.region);
  Box pairs = p.region;
  pairs.hi.x = ceil_div(pairs.hi.x, Index{2});
  if (!p.nested) return launch_columns("prolong_cells", prolong_cells<T>, pairs, walk, wide, stream, p);
  pairs.hi.y /= 2;
  const dim3 block = pairs.hi.x < long_rows.x ? square : long_rows;
  launch_columns("prolong_nested", prolong_nested<T>, pairs, walk, block, stream, p);
}

}  // namespace

ISOTHERM_FUNCTIONS(functions, GridTransfer, true, restrict_residual<T>, prolong_add<T>)

}  // namespace isotherm::cuda
