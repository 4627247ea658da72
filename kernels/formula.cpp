#include "kernels/formula.hpp"

#include <algorithm>
#include <bit>

#include "kernels/host/host_kernels.hpp"

namespace isotherm {

void evaluate(const FormulaStep* steps, Index count, int depth, const FormulaPoints& points, double* values) {
  static thread_local std::vector<FormulaSlot> stack;
  if (std::ssize(stack) < depth) stack.resize(static_cast<std::size_t>(depth));
  static const auto run = host::for_this_cpu([](auto isa) { return &host::run_formula<decltype(isa)>; });
  run(steps, count, points, stack.data(), values);
}

namespace host {
namespace {

constexpr Index worth_threads = 4096;  // points

// Computes the values of row j in plane k at time n; false if one is not sound. The loop is vectorised.
template <class T>
bool evaluate_row(const FormulaGrid<T>& grid, Index j, Index k, Index n, double* row, T* values) {
  FormulaPoints points{{{grid.at[0], true}, {grid.at[1] + j}, {grid.at[2] + k}, {&grid.time[n]}},
                       grid.points.x};
  for (int p = 0; p < most_parts; ++p) {
    points.variables[first_of_time + p] = {&grid.of_time[n][p]};
    if (grid.of_place[p])
      points.variables[first_of_place + p] = {
          grid.of_place[p] + j * grid.place_pitch_y + k * grid.place_pitch_z, true};
  }
  isotherm::evaluate(grid.steps, grid.step_count, grid.depth, points, row);
  int unsound = 0;
  for (Index i = 0; i < grid.points.x; ++i) {
    values[i] = static_cast<T>(grid.scale * row[i]);
    unsound |= static_cast<int>(!is_sound(values[i], grid.lowest));
  }
  return unsound == 0;
}

template <class T>
void evaluate_grid(const FormulaGrid<T>& grid, Stream) {
  const Index planes = grid.points.z * grid.times, rows = grid.points.y * planes;
  std::uint64_t earliest = *grid.unsound;
#pragma omp parallel if (rows * grid.points.x >= worth_threads) reduction(min : earliest)
  {
    std::vector<double> row(static_cast<std::size_t>(grid.points.x));
#pragma omp for schedule(static)
    for (Index r = 0; r < rows; ++r) {
      const Index j = r % grid.points.y, k = r / grid.points.y % grid.points.z,
                  n = r / grid.points.y / grid.points.z;
      T* const values = grid.values + j * grid.pitch_y + k * grid.pitch_z + n * grid.pitch_time;
      if (!evaluate_row(grid, j, k, n, row.data(), values))
        earliest = std::min(earliest, std::bit_cast<std::uint64_t>(grid.time[n]));
    }
  }
  *grid.unsound = earliest;
}

}  // namespace

ISOTHERM_FUNCTIONS(functions<AnySet>, FormulaGrids, evaluate_grid<T>)

}  // namespace host
}  // namespace isotherm
