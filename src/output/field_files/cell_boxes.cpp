#include "output/field_files/cell_boxes.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace isotherm {

std::vector<Box> all_gather(const Communicator& communicator, Box box) {
  std::vector<Box> boxes(static_cast<std::size_t>(communicator.size()));
  static_assert(sizeof(Box) == 6 * sizeof(Index));
  check_mpi(MPI_Allgather(&box, 6, MPI_INT64_T, boxes.data(), 6, MPI_INT64_T, communicator.native().comm),
            "MPI_Allgather");
  return boxes;
}

namespace {

// Mean without NaN, the value of cells of voids. `at(x, y, z)`: the temperature of a cell of the grid.
template <class At>
double mean(Box cells, const CellWeights& weights, const At& at) {
  const bool alike = !weights.any();
  double sum = 0, whole = 0;
  for_each_cell(cells, [&](Int3 c) {
    const double value = at(c.x, c.y, c.z);
    if (std::isnan(value)) return;
    const double weight = alike ? 1 : weights.of(0, c.x) * weights.of(1, c.y) * weights.of(2, c.z);
    sum += weight * value;
    whole += weight;
  });
  return whole > 0 ? sum / whole : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

template <class T>
std::vector<T> coarse_means(const Communicator& communicator, FieldView<const T> field, Box subdomain,
                            Int3 factor, const CellWeights& weights) {
  const std::vector<Box> blocks = all_gather(communicator, subdomain);
  std::vector<Box> wanted;  // the cells of each rank's coarse cells
  for (const Box each : blocks) wanted.push_back(fine_of(coarse_begun_in(each, factor), factor));
  CellExchange<T> exchange(communicator, blocks);
  exchange.start(field, wanted);
  const auto& borrowed = exchange.finish();
  const auto own = [&](Index x, Index y, Index z) {
    return field(x - subdomain.lo.x, y - subdomain.lo.y, z - subdomain.lo.z);
  };
  const auto any = [&](Index x, Index y, Index z) {
    if (subdomain.contains({x, y, z})) return own(x, y, z);
    for (const auto& [rank, box, dense] : borrowed)
      if (box.contains({x, y, z})) return dense_view<T>(dense, box.extent())(Int3{x, y, z} - box.lo);
    return T(0);  // not reached: the blocks are the whole grid
  };
  const Box mine = coarse_begun_in(subdomain, factor);
  const Int3 n = mine.extent();
  std::vector<T> means(static_cast<std::size_t>(mine.cells()));
#pragma omp parallel for collapse(2)
  for (Index z = 0; z < n.z; ++z)
    for (Index y = 0; y < n.y; ++y)
      for (Index x = 0; x < n.x; ++x) {
        const Int3 coarse = mine.lo + Int3{x, y, z};
        const Box fine = fine_of({coarse, coarse + Int3{1, 1, 1}}, factor);
        const bool all_own = fine.within(subdomain) == fine;
        means[x + n.x * (y + n.y * z)] =
            static_cast<T>(all_own ? mean(fine, weights, own) : mean(fine, weights, any));
      }
  return means;
}

template std::vector<float> coarse_means(const Communicator&, FieldView<const float>, Box, Int3,
                                         const CellWeights&);
template std::vector<double> coarse_means(const Communicator&, FieldView<const double>, Box, Int3,
                                          const CellWeights&);

std::vector<double> gather_cells(const Communicator& communicator, Box subdomain,
                                 const std::vector<Int3>& cells, const std::vector<double>& mine) {
  // The owner contributes the bits, all other ranks 0.
  std::vector<std::int64_t> bits(cells.size(), 0);
  auto next = mine.begin();
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (subdomain.contains(cells[i])) bits[i] = std::bit_cast<std::int64_t>(*next++);
  communicator.all_reduce(std::span(bits), ReduceOp::sum);
  std::vector<double> values;
  for (const std::int64_t each : bits) values.push_back(std::bit_cast<double>(each));
  return values;
}

}  // namespace isotherm
