// Conjugate gradients on the GPU.
//
// Mapping   products: cells are assigned to lanes as in cells.hpp, three exact sums as in long_sum.hpp; a
//           step: a thread takes a cell.
// Traffic   products: four reads in fp32; a step: five reads and three writes in fp32, and the field.
#include "kernels/conjugate_steps.hpp"

#include "kernels/cuda/cells.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/long_sum.hpp"

namespace isotherm::cuda {
namespace {

constexpr int threads = 256;
constexpr Index most_blocks = 2048;
constexpr int at_once = 4;  // cells of a lane: their loads are in flight together

template <class T>
__global__ void __launch_bounds__(threads) add_products(ConjugateFields<T> f, LongAccumulator* sums) {
  add_block<threads, conjugate_products>(sums, [&](auto add) {
    visit_segments<threads>(f.region, [&](Index lo, Index end, Index y, Index z) {
      const float *const residual = &f.residual(0, y, z), *const correction = &f.correction(0, y, z),
                         *const brought = &f.brought(0, y, z), *const image = &f.image(0, y, z);
      for (Index first = lo; first < end; first += at_once * warp_size) {
        double products[at_once][conjugate_products] = {};
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          const Index x = first + i * warp_size;
          if (x < end) products_of(residual[x], correction[x], brought[x], image[x], products[i]);
        }
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
#pragma unroll
          for (int p = 0; p < conjugate_products; ++p) add(products[i][p], p);
        }
      }
    });
  });
}

template <class T>
void products(const ConjugateFields<T>& f, LongAccumulator* sums, Stream stream) {
  const auto blocks = static_cast<unsigned>(RowSegments::blocks(f.region, threads, most_blocks));
  const auto add = [&] { launch("add_products", add_products<T>, {blocks, threads}, stream, f, sums); };
  sum_exactly(sums, add, nullptr, sums, stream, conjugate_products);
}

template <class T>
void take(const ConjugateFields<T>& f, ConjugateParts parts, Stream stream) {
  launch_for_cells("step_cells", f.region, stream, [=] __device__(Int3 cell) {
    take_step(parts, f.field(cell), f.residual(cell), f.correction(cell), f.brought(cell), f.step(cell),
              f.image(cell));
  });
}

}  // namespace

ISOTHERM_FUNCTIONS(functions, ConjugateSteps, products<T>, take<T>)

}  // namespace isotherm::cuda
