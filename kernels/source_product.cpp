// Sources that are products, on the host: OpenMP over rows, the means along each axis once.
#include "kernels/source_product.hpp"

#include <array>
#include <vector>

namespace isotherm::host {
namespace {

template <class T>
void add(const SourceProduct<T>& source, Stream) {
  const Box& box = source.box;
  std::array<std::vector<double>, 3> means;
  for (int axis = 0; axis < 3; ++axis)
    for (Index i = box.lo[axis]; i < box.hi[axis]; ++i)
      means[static_cast<std::size_t>(axis)].push_back(source.mean(axis, i));
#pragma omp parallel for collapse(2) schedule(static) if (box.cells() > 4096)
  for (Index z = box.lo.z; z < box.hi.z; ++z) {
    for (Index y = box.lo.y; y < box.hi.y; ++y) {
      const double of_y = means[1][static_cast<std::size_t>(y - box.lo.y)],
                   of_z = means[2][static_cast<std::size_t>(z - box.lo.z)];
      T* const row = &source.to(box.lo.x, y, z);
      for (std::size_t i = 0; i < means[0].size(); ++i)
        row[i] += static_cast<T>(source.strength * means[0][i] * of_y * of_z);
    }
  }
}

}  // namespace

template <class T>
const SourceProducts<T>& source_products() {
  static constexpr SourceProducts<T> table{add<T>};
  return table;
}

template const SourceProducts<float>& source_products();
template const SourceProducts<double>& source_products();

}  // namespace isotherm::host
