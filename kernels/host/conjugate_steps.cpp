// Conjugate gradients, OpenMP over rows.
#include "kernels/conjugate_steps.hpp"

#include "kernels/host/rows.hpp"
#include "kernels/host/sliced_sum.hpp"

namespace isotherm::host {
namespace {

// Cells whose products a thread stores in its cache before it adds them up.
constexpr Index segment = 256;

template <class Isa, class T>
void products(const ConjugateFields<T>& f, LongAccumulator* sums, Stream) {
  const Box box = f.region;
  std::fill_n(sums, static_cast<int>(conjugate_products), LongAccumulator{});
#pragma omp parallel if (box.cells() >= cells_worth_threads)
  {
    SlicedSum<Isa, ReductionOp::sum, double> mine[conjugate_products];
    double of_cells[conjugate_products][segment];
    for_each_row_of_thread(box, [&](Index y, Index z) {
      for (Index lo = box.lo.x; lo < box.hi.x; lo += segment) {
        const Index count = smaller(segment, box.hi.x - lo);
        const float *const residual = &f.residual(lo, y, z), *const correction = &f.correction(lo, y, z),
                           *const brought = &f.brought(lo, y, z), *const image = &f.image(lo, y, z);
        for (Index i = 0; i < count; ++i) {
          double products[conjugate_products];
          products_of(residual[i], correction[i], brought[i], image[i], products);
          for (int p = 0; p < conjugate_products; ++p) of_cells[p][i] = products[p];
        }
        for (int p = 0; p < conjugate_products; ++p) mine[p].add_row(of_cells[p], nullptr, count);
      }
    });
    for (int p = 0; p < conjugate_products; ++p) {
      const LongAccumulator part = mine[p].total();
#pragma omp critical(isotherm_conjugate)
      sums[p].add(part);
    }
  }
  for (int p = 0; p < conjugate_products; ++p) sums[p].normalise();
}

template <class T>
void take(const ConjugateFields<T>& f, ConjugateParts parts, Stream) {
  const Index lo = f.region.lo.x, count = f.region.extent().x;
  for_each_row(f.region, [&](Index y, Index z) {
    T* const field = &f.field(lo, y, z);
    const float *const correction = &f.correction(lo, y, z), *const brought = &f.brought(lo, y, z);
    float *const residual = &f.residual(lo, y, z), *const step = &f.step(lo, y, z),
                 *const image = &f.image(lo, y, z);
#pragma omp simd
    for (Index i = 0; i < count; ++i)
      take_step(parts, field[i], residual[i], correction[i], brought[i], step[i], image[i]);
  });
}

}  // namespace

ISOTHERM_FUNCTIONS(functions<ISOTHERM_ISA>, ConjugateSteps, products<ISOTHERM_ISA, T>, take<T>)

}  // namespace isotherm::host
