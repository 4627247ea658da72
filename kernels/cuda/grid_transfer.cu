// Multigrid's ways between two grids on the GPU.
//
// Mapping   a thread takes a coarse cell to restrict to, a fine one to prolong to; x fastest.
// Traffic   restriction: a read of the fine field, and of its source, from device memory; the seven reads of
// a
//           fine cell come from L1. Prolongation: a read and a write of the fine field; of the coarse one
//           each cell serves eight fine ones from L1. Tables stay in L1.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/grid_transfer.hpp"

namespace isotherm::cuda {
namespace {

constexpr unsigned threads = 128;
constexpr dim3 wide(32, 4, 1);

template <class T>
__global__ void __launch_bounds__(threads) restrict_cells(Restriction<T> r, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, r.region.hi)) return;
  const CellOverlap<T> on_x = r.overlaps[0][cell.x], on_y = r.overlaps[1][cell.y], on_z = r.overlaps[2][cell.z];
  T sum = 0;
  for (int i = 0; i < on_x.count; ++i) {
    T column = 0;
    for (int k = 0; k < on_z.count; ++k) {
      T row = 0;
      for (int j = 0; j < on_y.count; ++j) {
        const Int3 at{on_x.first + i, on_y.first + j, on_z.first + k};
        const T s = r.source.empty() ? T(0) : r.source(at);
        const T update = update_of(r.unit, &r.fine(at), r.fine.pitch_y, r.fine.pitch_z, s);
        row = fused_multiply_add(on_y.share[j], update, row);
      }
      column = fused_multiply_add(on_z.share[k], row, column);
    }
    sum = fused_multiply_add(on_x.share[i], column, sum);
  }
  r.coarse(cell) = r.scale * sum;
}

template <class T>
__global__ void __launch_bounds__(threads) prolong_cells(Prolongation<T> p, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, p.region.hi)) return;
  const Interpolation<T> on_x = p.interpolations[0][cell.x], on_y = p.interpolations[1][cell.y],
                         on_z = p.interpolations[2][cell.z];
  const auto between = [&](Index x) {
    const auto on_plane = [&](Index z) {
      return interpolated(on_y, p.coarse(x, on_y.lower, z), p.coarse(x, on_y.upper, z));
    };
    return interpolated(on_z, on_plane(on_z.lower), on_plane(on_z.upper));
  };
  p.fine(cell) += interpolated(on_x, between(on_x.lower), between(on_x.upper), p.shift);
}

template <class T>
void restrict_residual(const Restriction<T>& r, Stream stream) {
  const dim3 block = fit_block(wide, r.region.extent());
  cover(r.region, block, [&](dim3 grid, Int3 first) {
    launch("restrict_cells", restrict_cells<T>, {grid, block}, stream, r, first);
  });
}

template <class T>
void prolong_add(const Prolongation<T>& p, Stream stream) {
  const dim3 block = fit_block(wide, p.region.extent());
  cover(p.region, block, [&](dim3 grid, Int3 first) {
    launch("prolong_cells", prolong_cells<T>, {grid, block}, stream, p, first);
  });
}

}  // namespace

template <class T>
const GridTransfer<T>& grid_transfer_cuda() {
  static constexpr GridTransfer<T> table{restrict_residual<T>, prolong_add<T>};
  return table;
}

template const GridTransfer<float>& grid_transfer_cuda<float>();
template const GridTransfer<double>& grid_transfer_cuda<double>();

}  // namespace isotherm::cuda
