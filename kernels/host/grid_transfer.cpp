// Multigrid transfers between two grids, OpenMP over rows.
//
// A coarse row sums the updates of the fine rows that it overlaps, up to nine: first along y and z, in
// vectors, then along x. A fine row interpolates the four coarse rows around it likewise.
#include "kernels/grid_transfer.hpp"
#include "kernels/host/rows.hpp"

namespace isotherm::host {
namespace {

constexpr Index longest_run = 512;  // cells of the fine grid that are added up at a time

// sums[i] += share * update of cell (lo + i, y, z).
template <class T>
void add_updates(const Restriction<T>& r, Index lo, Index count, Index y, Index z, T share, T* sums) {
  const T* t = &r.fine(lo, y, z);
  const Index pitch_y = r.fine.pitch_y, pitch_z = r.fine.pitch_z;
  const Coefficients<T> c = r.unit;
  with_row(row_from(r.source, {lo, y, z}), c.heat, [=](auto source) {
    for (Index i = 0; i < count; ++i)
      sums[i] = fused_multiply_add(share, update_of(c, t + i, pitch_y, pitch_z, source(i)), sums[i]);
  });
}

template <class T>
void restrict_row(const Restriction<T>& r, Index y, Index z) {
  const CellOverlap<T> on_y = r.overlaps[1][y], on_z = r.overlaps[2][z];
  T columns[longest_run], rows[longest_run];
  for (Index x = r.region.lo.x, end; x < r.region.hi.x; x = end) {
    const Index lo = r.overlaps[0][x].first;
    const auto last = [&](Index at) { return r.overlaps[0][at].first + r.overlaps[0][at].count; };
    end = smaller(r.region.hi.x, x + longest_run / 2 - 2);
    const Index count = last(end - 1) - lo;
    for (Index i = 0; i < count; ++i) columns[i] = 0;
    for (int k = 0; k < on_z.count; ++k) {
      for (Index i = 0; i < count; ++i) rows[i] = 0;
      for (int j = 0; j < on_y.count; ++j)
        add_updates(r, lo, count, on_y.first + j, on_z.first + k, on_y.share[j], rows);
      for (Index i = 0; i < count; ++i) columns[i] = fused_multiply_add(on_z.share[k], rows[i], columns[i]);
    }
    for (Index at = x; at < end; ++at) {
      const CellOverlap<T>& on_x = r.overlaps[0][at];
      T sum = 0;
      for (int i = 0; i < on_x.count; ++i)
        sum = fused_multiply_add(on_x.share[i], columns[on_x.first + i - lo], sum);
      r.store({at, y, z}, sum);
    }
  }
}

template <class T>
void restrict_residual(const Restriction<T>& r, Stream) {
  for_each_busy_row(r.region, [&](Index y, Index z) { restrict_row(r, y, z); });
}

template <class T>
void prolong_row(const Prolongation<T>& p, Index y, Index z) {
  const Interpolation<T> on_y = p.interpolations[1][y], on_z = p.interpolations[2][z];
  const Interpolation<T>* const on_x = p.interpolations[0];
  T between[longest_run];
  T* const fine = &p.fine(0, y, z);
  for (Index x = p.region.lo.x, end; x < p.region.hi.x; x = end) {
    end = smaller(p.region.hi.x, x + longest_run - 2);
    const Index lo = on_x[x].lower, count = on_x[end - 1].upper + 1 - lo;
    const T *const a = &p.coarse(lo, on_y.lower, on_z.lower), *const b =
                                                                  &p.coarse(lo, on_y.upper, on_z.lower);
    const T *const c = &p.coarse(lo, on_y.lower, on_z.upper), *const d =
                                                                  &p.coarse(lo, on_y.upper, on_z.upper);
    for (Index i = 0; i < count; ++i)
      between[i] = interpolated(on_z, interpolated(on_y, a[i], b[i]), interpolated(on_y, c[i], d[i]));
    for (Index at = x; at < end; ++at)
      fine[at] += interpolated(on_x[at], between[on_x[at].lower - lo], between[on_x[at].upper - lo], p.shift);
  }
}

template <class T>
void prolong_add(const Prolongation<T>& p, Stream) {
  for_each_busy_row(p.region, [&](Index y, Index z) { prolong_row(p, y, z); });
}

}  // namespace

ISOTHERM_FUNCTIONS(functions<ISOTHERM_ISA>, GridTransfer, false, restrict_residual<T>, prolong_add<T>)

}  // namespace isotherm::host
