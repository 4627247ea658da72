#include "output/field_files/cell_values.hpp"

#include <bit>

namespace isotherm {

template <class T>
std::vector<double> gather_cells(const Communicator& communicator, Box block, const std::vector<Int3>& cells,
                                 const std::vector<T>& mine) {
  // The owner adds the bits, all others 0.
  std::vector<std::int64_t> bits(cells.size(), 0);
  auto next = mine.begin();
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (block.contains(cells[i])) bits[i] = std::bit_cast<std::int64_t>(static_cast<double>(*next++));
  communicator.all_reduce(std::span(bits), ReduceOp::sum);
  std::vector<double> values;
  values.reserve(bits.size());
  for (const std::int64_t each : bits) values.push_back(std::bit_cast<double>(each));
  return values;
}

template std::vector<double> gather_cells<float>(const Communicator&, Box, const std::vector<Int3>&,
                                                 const std::vector<float>&);
template std::vector<double> gather_cells<double>(const Communicator&, Box, const std::vector<Int3>&,
                                                  const std::vector<double>&);

}  // namespace isotherm
