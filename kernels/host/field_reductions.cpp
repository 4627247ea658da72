// Reductions of a field in host memory, OpenMP over rows: fingerprint, extremes, sums of heat, of flow to
// voids and of jumps. None depends on the order, so threads combine their results as they finish.
#include "kernels/field_reductions.hpp"

#include "kernels/fingerprint.hpp"
#include "kernels/host/rows.hpp"

namespace isotherm::host {
namespace {

// For a given index, mix64() is a bijection of the bits: one flipped bit always changes the sum.
template <class T>
std::uint64_t of_row(const T* row, Index cells, std::uint64_t first_index) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::uint64_t sum = 0;
  for (Index x = 0; x < cells; ++x) {
    sum +=
        mix64(__builtin_bit_cast(Bits, row[x]) + (first_index + static_cast<std::uint64_t>(x) + 1) * golden);
  }
  return sum;
}

template <class T>
void extremes(const BodyCell<T>& cell, Extremes* result, void*, Stream) {
  const Int3 n = cell.extent();
  Extremes all = Extremes::none();
#pragma omp parallel if (n.product() >= cells_worth_threads)
  {
    Extremes mine = Extremes::none();
    for_each_row_of_thread({{}, n}, [&](Index y, Index z) {
      for (Index x = 0; x < n.x; ++x) mine.add(cell(x, y, z));
    });
#pragma omp critical(isotherm_reduce_extremes)
    all.combine(mine);
  }
  *result = all;
}

// Each value is added to its thread's accumulator directly.
template <class Cell>
void sum_of_cells(const Cell& cell, LongAccumulator* result, Stream) {
  const Int3 n = cell.extent();
  constexpr Index most_additions = Index{1} << 30;  // before an accumulator must be normalised
  LongAccumulator all{};
#pragma omp parallel if (n.product() >= cells_worth_threads)
  {
    LongAccumulator mine{};
    Index additions = 0;
    for_each_row_of_thread({{}, n}, [&](Index y, Index z) {
      for (Index x = 0; x < n.x; ++x) {
        mine.add(cell(x, y, z));
        if (++additions < most_additions) continue;
        mine.normalise();
        additions = 0;
      }
    });
    mine.normalise();
#pragma omp critical(isotherm_reduce_sums)
    all.add(mine);
  }
  all.normalise();
  *result = all;
}

}  // namespace

template <class Isa, class T>
std::uint64_t fingerprint(FieldView<const T> field, Int3 global_lo, Int3 global_extent) {
  const Int3 n = field.extent;
  std::uint64_t sum = 0;
#pragma omp parallel for collapse(2) schedule(static) reduction(+ : sum) if (n.product() >= cells_worth_threads)
  for (Index z = 0; z < n.z; ++z) {
    for (Index y = 0; y < n.y; ++y) {
      const Index first =
          ((global_lo.z + z) * global_extent.y + global_lo.y + y) * global_extent.x + global_lo.x;
      sum += of_row(&field(0, y, z), n.x, static_cast<std::uint64_t>(first));
    }
  }
  return sum;
}

template std::uint64_t fingerprint<ISOTHERM_ISA>(FieldView<const float>, Int3, Int3);
template std::uint64_t fingerprint<ISOTHERM_ISA>(FieldView<const double>, Int3, Int3);

ISOTHERM_FUNCTIONS(functions<ISOTHERM_ISA>, FieldReductions, extremes<T>, sum_of_cells<BoundaryJump<T>>,
                   sum_of_cells<CellHeat<T>>, sum_of_cells<VoidFlow<T>>, 0)

}  // namespace isotherm::host
