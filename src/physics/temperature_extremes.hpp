// The highest and the lowest temperature of a field, and their cells.
#pragma once

#include <cstdint>
#include <limits>

#include "core/box.hpp"
#include "core/communicator.hpp"
#include "core/field_view.hpp"

namespace isotherm {

// A temperature and the number of its cell in the grid of the run, x fastest; -1: no cell.
struct NumberedTemperature {
  double value;
  Index number = -1;

  Int3 cell(Int3 cells) const {
    return {number % cells.x, number / cells.x % cells.y, number / cells.x / cells.y};
  }
};

// NaN is no extreme; its cells are counted. Of equal temperatures the cell with the least number counts, so
// that no order of cells, threads or ranks changes the result.
struct TemperatureExtremes {
  NumberedTemperature lowest{std::numeric_limits<double>::infinity()};
  NumberedTemperature highest{-std::numeric_limits<double>::infinity()};
  std::int64_t nan_cells = 0;

  bool any() const { return lowest.number >= 0; }
  void add(const TemperatureExtremes& other);
};

// `field`: in host memory; `lo`: its first cell in the grid of `cells`.
template <class T>
TemperatureExtremes temperature_extremes(FieldView<const T> field, Int3 lo, Int3 cells);
// Collective: of the blocks of all ranks.
TemperatureExtremes over_ranks(const TemperatureExtremes& mine, const Communicator& communicator);

}  // namespace isotherm
