// Conjugate gradients on the GPU.
//
// Mapping   products: cells to lanes as in cells.hpp, five exact sums as long_sum.hpp says; a step: a thread
//           takes a cell.
// Traffic   products: five reads; a step: six reads, five writes; but for field and residual in fp32.
#include "kernels/conjugate_steps.hpp"

#include "kernels/cuda/cells.hpp"
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/long_sum.hpp"

namespace isotherm::cuda {
namespace {

constexpr int threads = 256;
constexpr Index most_blocks = 2048;
constexpr dim3 wide(warp_size, 8, 1);

template <class T>
__global__ void __launch_bounds__(threads) add_products(ConjugateFields<T> f, LongAccumulator* sums) {
  add_block<threads, conjugate_products>(sums, [&](auto add) {
    visit_segments<threads>(f.region, [&](Index lo, Index end, Index y, Index z) {
      for (Index x = lo; x < end; x += warp_size) {
        double products[conjugate_products];
        products_of(f.residual(x, y, z), f.correction(x, y, z), f.brought(x, y, z), f.step(x, y, z),
                    f.image(x, y, z), products);
#pragma unroll
        for (int p = 0; p < conjugate_products; ++p) add(products[p], p);
      }
    });
  });
}

template <class T>
__global__ void __launch_bounds__(256) step_cells(ConjugateFields<T> f, ConjugateParts parts, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, f.region.hi)) return;
  take_step(parts, f.field(cell), f.residual(cell), f.correction(cell), f.brought(cell), f.step(cell),
            f.image(cell), f.rounded(cell));
}

template <class T>
void products(const ConjugateFields<T>& f, LongAccumulator* sums, Stream stream) {
  const auto blocks = static_cast<unsigned>(RowSegments::blocks(f.region, threads, most_blocks));
  const auto add = [&] { launch("add_products", add_products<T>, {blocks, threads}, stream, f, sums); };
  sum_exactly(sums, add, nullptr, sums, stream, conjugate_products);
}

template <class T>
void take(const ConjugateFields<T>& f, ConjugateParts parts, Stream stream) {
  const dim3 block = fit_block(wide, f.region.extent());
  cover(f.region, block, [&](dim3 grid, Int3 first) {
    launch("step_cells", step_cells<T>, {grid, block}, stream, f, parts, first);
  });
}

}  // namespace

template <class T>
const ConjugateSteps<T>& conjugate_steps_cuda() {
  static constexpr ConjugateSteps<T> table{products<T>, take<T>};
  return table;
}

template const ConjugateSteps<float>& conjugate_steps_cuda<float>();
template const ConjugateSteps<double>& conjugate_steps_cuda<double>();

}  // namespace isotherm::cuda
