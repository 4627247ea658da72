// Sources that are products, on the host: OpenMP over rows; the means along each axis are computed once. A
// sweep sets the source, fills the ghosts and runs the kernel `openmp`: fields of a small box stay in caches.
#include "kernels/source_product.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "kernels/face_copy.hpp"
#include "kernels/host/rows.hpp"

namespace isotherm::host {
namespace {

using Means = std::array<std::vector<double>, 3>;  // by axis, of the cells of a box

template <class T>
Means means_of(const SourceSum<T>& source, const SourceProduct& product) {
  Means means;
  for (int axis = 0; axis < 3; ++axis) {
    double below = source.share(product, axis, source.box.lo[axis]);
    for (Index i = source.box.lo[axis]; i < source.box.hi[axis]; ++i) {
      const double above = source.share(product, axis, i + 1);
      means[static_cast<std::size_t>(axis)].push_back(
          source.mean(product, axis, i, std::exchange(below, above), above));
    }
  }
  return means;
}

template <class T>
void set(const SourceSum<T>& source, Stream) {
  const Box& box = source.box;
  std::vector<Means> means;
  for (int p = 0; p < source.count; ++p) means.push_back(means_of(source, source.products[p]));
  for_each_busy_row(box, [&](Index y, Index z) {
    const Index cells = box.extent().x;
    T* const row = &source.to(box.lo.x, y, z);
    const T* const constant = source.constant.empty() ? nullptr : &source.constant(box.lo.x, y, z);
    for (Index i = 0; i < cells; ++i) row[i] = constant ? constant[i] : T(0);
    for (int p = 0; p < source.count; ++p) {
      const auto& [of_x, of_y, of_z] = means[static_cast<std::size_t>(p)];
      const double in_y = of_y[static_cast<std::size_t>(y - box.lo.y)],
                   in_z = of_z[static_cast<std::size_t>(z - box.lo.z)],
                   strength = source.products[p].strength;
      if (in_y == 0 || in_z == 0) continue;
      for (Index i = 0; i < cells; ++i) row[i] += static_cast<T>(strength * of_x[i] * in_y * in_z);
    }
  });
}

template <class T>
void sweep(const SourceSum<T>& source, const SourceSweep<T>& sweep, Stream stream) {
  static const StencilKernel<T>& kernel =
      *std::ranges::find(stencil_kernels<T>(), "openmp", &StencilKernel<T>::name);
  set(source, stream);
  FaceCopy<T>::on(Backend::host)
      .fill_boundaries(sweep.in, boundaries_in_ghosts(kernel.own_boundaries, sweep.boundaries), source.box,
                       stream);
  kernel.launch({sweep.in, sweep.out, source.box, sweep.c, sweep.boundaries, source.to, {}}, {}, stream);
}

}  // namespace

ISOTHERM_FUNCTIONS(functions<AnySet>, SourceSums, set<T>, sweep<T>)

}  // namespace isotherm::host
