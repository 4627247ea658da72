// Multigrid for bodies of several materials on the GPU.
//
// Mapping   a thread takes a cell, of the coarse grid where one is made.
// Traffic   a sweep: a read of three conductances, the field and the source, a write, of fp32; neighbours
// come
//           from the caches.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/semicoarsening.hpp"

namespace isotherm::cuda {
namespace {

constexpr dim3 wide(warp_size, 8, 1);

__global__ void __launch_bounds__(256) sweep_grid(ConductanceSweep s, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, s.region.hi)) return;
  const CellFaces<float> faces = s.g.all(cell);
  const float source = s.source(cell);
  s.out(cell) = s.in.empty() ? s.first_update(faces, source) : s.update(faces, &s.in(cell), source);
}

__global__ void __launch_bounds__(256)
    share_residual(GridConductances g, Halving h, FieldView<const float> field, FieldView<const float> source,
                   FieldView<float> residual, Box region, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, region.hi)) return;
  residual(cell) = shared_residual(g, h, field, cell, source.empty() ? 0 : source(cell));
}

__global__ void __launch_bounds__(256)
    restrict_shared(GridConductances g, Halving h, FieldView<const float> residual, FieldView<float> source,
                    Box region, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, region.hi)) return;
  source(cell) = restricted(g, h, residual, cell);
}

__global__ void __launch_bounds__(256)
    add_prolonged(GridConductances g, Halving h, FieldView<const float> error, FieldView<float> field,
                  Box region, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, region.hi)) return;
  field(cell) += prolonged(g, h, error, cell);
}

__global__ void __launch_bounds__(256) coarsen_cells(GridConductances g, Halving h, int along, bool above,
                                                     FieldView<float> coarse, Box region, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, region.hi)) return;
  coarse(cell) = coarse_conductance(g, h, along, above, cell);
}

template <class T>
__global__ void __launch_bounds__(256) conductances_of_body(BodyConductances<T> g, int along, bool above,
                                                            FieldView<float> to, Box region, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, region.hi)) return;
  to(cell) = static_cast<float>(g.conductance(along, above, cell));
}

template <class T>
__global__ void __launch_bounds__(256)
    residual_of_body(BodyConductances<T> g, T scale, FieldView<const T> field, FieldView<const T> source,
                     FieldView<T> residual, FieldView<float> rounded, Box region, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, region.hi)) return;
  const T value = scale * g.residual(field, cell, source.empty() ? T(0) : source(cell));
  residual(cell) = value;
  rounded(cell) = static_cast<float>(value);
}

// A thread for each cell; `arguments`: of the kernel, before the region.
template <class Kernel, class... Arguments>
void launch_over(const char* name, Kernel kernel, Box region, Stream stream, const Arguments&... arguments) {
  if (region.empty()) return;
  const dim3 block = fit_block(wide, region.extent());
  cover(region, block, [&](dim3 grid, Int3 first) {
    launch(name, kernel, {grid, block}, stream, arguments..., region, first);
  });
}

void sweep(const ConductanceSweep& s, Stream stream) {
  const dim3 block = fit_block(wide, s.region.extent());
  cover(s.region, block, [&](dim3 grid, Int3 first) {
    launch("sweep_grid", sweep_grid, {grid, block}, stream, s, first);
  });
}

void find_residual(const GridConductances& g, const Halving& h, FieldView<const float> field,
                   FieldView<const float> source, FieldView<float> residual, Box region, Stream stream) {
  launch_over("share_residual", share_residual, region, stream, g, h, field, source, residual);
}

void restrict_residual(const GridConductances& g, const Halving& h, FieldView<const float> residual,
                       FieldView<float> source, Box region, Stream stream) {
  launch_over("restrict_shared", restrict_shared, region, stream, g, h, residual, source);
}

void prolong_add(const GridConductances& g, const Halving& h, FieldView<const float> error,
                 FieldView<float> field, Box region, Stream stream) {
  launch_over("add_prolonged", add_prolonged, region, stream, g, h, error, field);
}

void coarsen(const GridConductances& g, const Halving& h, int along, bool above, FieldView<float> coarse,
             Box region, Stream stream) {
  launch_over("coarsen_cells", coarsen_cells, region, stream, g, h, along, above, coarse);
}

template <class T>
void take_conductances(const BodyConductances<T>& g, int along, bool above, FieldView<float> to, Box region,
                       Stream stream) {
  launch_over("conductances_of_body", conductances_of_body<T>, region, stream, g, along, above, to);
}

template <class T>
void find_residual_of_body(const BodyConductances<T>& g, T scale, FieldView<const T> field,
                           FieldView<const T> source, FieldView<T> residual, FieldView<float> rounded,
                           Box region, Stream stream) {
  launch_over("residual_of_body", residual_of_body<T>, region, stream, g, scale, field, source, residual,
              rounded);
}

}  // namespace

template <class T>
const Semicoarsening<T>& semicoarsening_cuda() {
  static constexpr Semicoarsening<T> table{
      sweep,   find_residual,        restrict_residual,       prolong_add,
      coarsen, take_conductances<T>, find_residual_of_body<T>};
  return table;
}

template const Semicoarsening<float>& semicoarsening_cuda<float>();
template const Semicoarsening<double>& semicoarsening_cuda<double>();

}  // namespace isotherm::cuda
