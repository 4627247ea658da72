// Sources that are products of profiles on the GPU.
//
// Mapping   a block of 32 x 8 threads takes so many cells of a plane, eight planes deep.
// Storage   the means along each axis in shared memory: a block computes 48, not three for each of 2048
// cells.
#include "kernels/source_product.hpp"

#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {
namespace {

constexpr int x_cells = warp_size, y_cells = 8, planes = 8;

template <class T>
__global__ void __launch_bounds__(x_cells* y_cells)
    add_product(const __grid_constant__ SourceProduct<T> source, Int3 first) {
  __shared__ double means[x_cells + y_cells + planes];
  const Int3 lo{first.x + Index{blockIdx.x} * x_cells, first.y + Index{blockIdx.y} * y_cells,
                first.z + Index{blockIdx.z} * planes};
  const auto thread = static_cast<int>(threadIdx.y * x_cells + threadIdx.x);
  if (thread < x_cells) {
    means[thread] = source.mean(0, lo.x + thread);
  } else if (thread < x_cells + y_cells) {
    means[thread] = source.mean(1, lo.y + thread - x_cells);
  } else if (thread < x_cells + y_cells + planes) {
    means[thread] = source.mean(2, lo.z + thread - x_cells - y_cells);
  }
  __syncthreads();
  Int3 cell{lo.x + threadIdx.x, lo.y + threadIdx.y, lo.z};
  const double of_x = means[threadIdx.x], of_y = means[x_cells + threadIdx.y];
  for (int k = 0; k < planes && !beyond(cell, source.box.hi); ++k, ++cell.z)
    source.to(cell) += static_cast<T>(source.strength * of_x * of_y * means[x_cells + y_cells + k]);
}

template <class T>
void add(const SourceProduct<T>& source, Stream stream) {
  Box blocks = source.box;  // planes in eights: a thread's are one cell of the box
  blocks.hi.z = blocks.lo.z + ceil_div(blocks.extent().z, planes);
  cover(blocks, dim3(x_cells, y_cells), [&](dim3 grid, Int3 first) {
    first.z = source.box.lo.z + (first.z - source.box.lo.z) * planes;
    launch("add_product", add_product<T>, {grid, dim3(x_cells, y_cells)}, stream, source, first);
  });
}

}  // namespace

template <class T>
const SourceProducts<T>& source_products_cuda() {
  static constexpr SourceProducts<T> table{add<T>};
  return table;
}

template const SourceProducts<float>& source_products_cuda<float>();
template const SourceProducts<double>& source_products_cuda<double>();

}  // namespace isotherm::cuda
