#include "solver/extreme_cell.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace isotherm {

template <class T>
ExtremeCell most_extreme_cell(FieldView<const T> field, Int3 lo, Int3 cells,
                              const Communicator& communicator) {
  const auto magnitude = [&](Index x, Index y, Index z) {
    const double value = std::abs(static_cast<double>(field(x, y, z)));
    return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
  };
  double largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest)
  for (Index z = 0; z < field.extent.z; ++z) {
    for (Index y = 0; y < field.extent.y; ++y) {
      for (Index x = 0; x < field.extent.x; ++x) largest = std::max(largest, magnitude(x, y, z));
    }
  }
  largest = communicator.all_reduce(largest, ReduceOp::max);

  Index first = cells.product();
#pragma omp parallel for schedule(static) reduction(min : first)
  for (Index z = 0; z < field.extent.z; ++z) {
    for (Index y = 0; y < field.extent.y; ++y) {
      for (Index x = 0; x < field.extent.x; ++x) {
        const Int3 cell = lo + Int3{x, y, z};
        if (magnitude(x, y, z) == largest)
          first = std::min(first, cell.x + cells.x * (cell.y + cells.y * cell.z));
      }
    }
  }
  first = communicator.all_reduce(first, ReduceOp::min);
  return {{first % cells.x, first / cells.x % cells.y, first / cells.x / cells.y}, largest};
}

template ExtremeCell most_extreme_cell(FieldView<const float>, Int3, Int3, const Communicator&);
template ExtremeCell most_extreme_cell(FieldView<const double>, Int3, Int3, const Communicator&);

}  // namespace isotherm
