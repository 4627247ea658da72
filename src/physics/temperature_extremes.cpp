#include "physics/temperature_extremes.hpp"

#include <algorithm>

namespace isotherm {
namespace {

// Is `a` before `b`, of two cells with the same temperature?
bool before(const NumberedTemperature& a, const NumberedTemperature& b) {
  return a.number >= 0 && (b.number < 0 || a.number < b.number);
}

// The cells are searched only in a row that beats those before it, which are few.
template <class T>
void add_row(const T* row, Index length, Index number, TemperatureExtremes& found) {
  const auto place = [&](double value) {
    return number + std::distance(row, std::find(row, row + length, static_cast<T>(value)));
  };
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (Index x = 0; x < length; ++x) {
    const auto value = static_cast<double>(row[x]);
    found.nan_cells += value != value;
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  if (low > high) return;
  const bool first = !found.any();
  if (first || low < found.lowest.value) found.lowest = {low, place(low)};
  if (first || high > found.highest.value) found.highest = {high, place(high)};
}

NumberedTemperature over_ranks(const NumberedTemperature& mine, ReduceOp op,
                               const Communicator& communicator) {
  constexpr Index none = std::numeric_limits<Index>::max();
  const double value = communicator.all_reduce(mine.value, op);
  const bool is_mine = mine.number >= 0 && mine.value == value;
  const Index number = communicator.all_reduce(is_mine ? mine.number : none, ReduceOp::min);
  return {value, number == none ? -1 : number};
}

}  // namespace

void TemperatureExtremes::add(const TemperatureExtremes& other) {
  nan_cells += other.nan_cells;
  const auto take = [](NumberedTemperature& mine, const NumberedTemperature& their, bool beats) {
    if (beats || (their.value == mine.value && before(their, mine))) mine = their;
  };
  take(lowest, other.lowest, other.lowest.value < lowest.value);
  take(highest, other.highest, other.highest.value > highest.value);
}

template <class T>
TemperatureExtremes temperature_extremes(FieldView<const T> field, Int3 lo, Int3 cells) {
  const Int3 n = field.extent;
  TemperatureExtremes all;
#pragma omp parallel
  {
    TemperatureExtremes mine;
#pragma omp for collapse(2) schedule(static) nowait
    for (Index z = 0; z < n.z; ++z) {
      for (Index y = 0; y < n.y; ++y) {
        const Index number = lo.x + cells.x * (lo.y + y + cells.y * (lo.z + z));
        if (n.x > 0) add_row(&field(0, y, z), n.x, number, mine);
      }
    }
#pragma omp critical(isotherm_temperature_extremes)
    all.add(mine);
  }
  return all;
}

TemperatureExtremes over_ranks(const TemperatureExtremes& mine, const Communicator& communicator) {
  return {over_ranks(mine.lowest, ReduceOp::min, communicator),
          over_ranks(mine.highest, ReduceOp::max, communicator),
          communicator.all_reduce(mine.nan_cells, ReduceOp::sum)};
}

template TemperatureExtremes temperature_extremes(FieldView<const float>, Int3, Int3);
template TemperatureExtremes temperature_extremes(FieldView<const double>, Int3, Int3);

}  // namespace isotherm
