// Multigrid for bodies of several materials on the GPU.
//
// Mapping   a thread takes a cell, of the coarse grid where one is made.
// Traffic   a sweep: a read of three conductances, the field and the source, a write; neighbours come from
// the
//           caches.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/semicoarsening.hpp"

namespace isotherm::cuda {
namespace {

constexpr dim3 wide(warp_size, 8, 1);

template <class T>
__global__ void __launch_bounds__(256) sweep_grid(ConductanceSweep<T> s, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, s.region.hi)) return;
  const CellFaces<T> faces = s.g.all(cell);
  const T source = s.source(cell);
  s.out(cell) =
      s.in.empty() ? first_update(s, faces, source) : conductance_update(s, faces, &s.in(cell), source);
}

template <class T, class Conductances>
__global__ void __launch_bounds__(256)
    share_residual(Conductances g, Halving h, FieldView<const T> field, FieldView<const T> source,
                   FieldView<T> residual, Box region, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, region.hi)) return;
  residual(cell) = shared_residual<T>(g, h, field, cell, source.empty() ? T(0) : source(cell));
}

template <class T, class Conductances>
__global__ void __launch_bounds__(256) restrict_shared(Conductances g, Halving h, FieldView<const T> residual,
                                                       FieldView<T> source, Box region, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, region.hi)) return;
  source(cell) = restricted<T>(g, h, residual, cell);
}

template <class T, class Conductances>
__global__ void __launch_bounds__(256) add_prolonged(Conductances g, Halving h, FieldView<const T> error,
                                                     FieldView<T> field, Box region, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, region.hi)) return;
  field(cell) += prolonged<T>(g, h, error, cell);
}

template <class T, class Conductances>
__global__ void __launch_bounds__(256)
    faces_of(Conductances g, int axis, FieldView<T> faces, Box region, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, region.hi)) return;
  faces(cell) = g.lower(axis, cell);
}

template <class T, class Conductances>
__global__ void __launch_bounds__(256) coarsen_cells(Conductances g, Halving h, int along, bool above,
                                                     FieldView<T> coarse, Box region, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, region.hi)) return;
  coarse(cell) = coarse_face<T>(g, h, along, above, cell);
}

// `arguments`: of the kernel, between the conductances and the region.
template <class T, class Select, class... Arguments>
void launch_over(const char* name, const FineConductances<T>& fine, Box region, Stream stream,
                 const Select& kernel_for, const Arguments&... arguments) {
  if (region.empty()) return;
  const dim3 block = fit_block(wide, region.extent());
  with_conductances(fine, [&](const auto& g) {
    cover(region, block, [&](dim3 grid, Int3 first) {
      launch(name, kernel_for(g), {grid, block}, stream, g, arguments..., region, first);
    });
  });
}

template <class T>
void sweep(const ConductanceSweep<T>& s, Stream stream) {
  const dim3 block = fit_block(wide, s.region.extent());
  cover(s.region, block, [&](dim3 grid, Int3 first) {
    launch("sweep_grid", sweep_grid<T>, {grid, block}, stream, s, first);
  });
}

template <class T>
void find_residual(const FineConductances<T>& fine, const Halving& h, FieldView<const T> field,
                   FieldView<const T> source, FieldView<T> residual, Box region, Stream stream) {
  const auto kernel = []<class G>(const G&) { return share_residual<T, G>; };
  launch_over("share_residual", fine, region, stream, kernel, h, field, source, residual);
}

template <class T>
void restrict_residual(const FineConductances<T>& fine, const Halving& h, FieldView<const T> residual,
                       FieldView<T> source, Box region, Stream stream) {
  const auto kernel = []<class G>(const G&) { return restrict_shared<T, G>; };
  launch_over("restrict_shared", fine, region, stream, kernel, h, residual, source);
}

template <class T>
void prolong_add(const FineConductances<T>& fine, const Halving& h, FieldView<const T> error,
                 FieldView<T> field, Box region, Stream stream) {
  const auto kernel = []<class G>(const G&) { return add_prolonged<T, G>; };
  launch_over("add_prolonged", fine, region, stream, kernel, h, error, field);
}

template <class T>
void find_faces(const FineConductances<T>& fine, int axis, FieldView<T> faces, Box region, Stream stream) {
  const auto kernel = []<class G>(const G&) { return faces_of<T, G>; };
  launch_over("faces_of", fine, region, stream, kernel, axis, faces);
}

template <class T>
void coarsen(const FineConductances<T>& fine, const Halving& h, int along, bool above, FieldView<T> coarse,
             Box region, Stream stream) {
  const auto kernel = []<class G>(const G&) { return coarsen_cells<T, G>; };
  launch_over("coarsen_cells", fine, region, stream, kernel, h, along, above, coarse);
}

}  // namespace

template <class T>
const Semicoarsening<T>& semicoarsening_cuda() {
  static constexpr Semicoarsening<T> table{sweep<T>,       find_residual<T>, restrict_residual<T>,
                                           prolong_add<T>, find_faces<T>,    coarsen<T>};
  return table;
}

template const Semicoarsening<float>& semicoarsening_cuda<float>();
template const Semicoarsening<double>& semicoarsening_cuda<double>();

}  // namespace isotherm::cuda
