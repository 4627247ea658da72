// Sources that are products of profiles on the GPU.
//
// Mapping   a block of 32 x 8 threads takes so many cells of a plane, 32 planes deep, eight at a time.
// Storage   the means along each axis in shared memory: a block computes 72 for a product, not three for each
// of 8192 cells. A thread holds eight cells in registers until all products are in.
#include "kernels/source_product.hpp"

#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {
namespace {

constexpr int x_cells = warp_size, y_cells = 8, z_cells = 32, planes = 8;
constexpr int threads = x_cells * y_cells, means_of_one = x_cells + y_cells + z_cells;

template <class T>
__global__ void __launch_bounds__(threads)
    set_source(const __grid_constant__ SourceSum<T> source, Int3 first) {
  __shared__ double means[SourceSum<T>::most_products * means_of_one];
  const Int3 lo{first.x + Index{blockIdx.x} * x_cells, first.y + Index{blockIdx.y} * y_cells,
                first.z + Index{blockIdx.z} * z_cells};
  const auto thread = static_cast<int>(threadIdx.y * x_cells + threadIdx.x);
  for (int i = thread; i < source.count * means_of_one; i += threads) {
    const SourceProduct& product = source.products[i / means_of_one];
    const int place = i % means_of_one;
    means[i] = place < x_cells             ? source.mean(product, 0, lo.x + place)
               : place < x_cells + y_cells ? source.mean(product, 1, lo.y + place - x_cells)
                                           : source.mean(product, 2, lo.z + place - x_cells - y_cells);
  }
  __syncthreads();
  const Index x = lo.x + threadIdx.x, y = lo.y + threadIdx.y;
  if (x >= source.box.hi.x || y >= source.box.hi.y) return;
  for (int k = 0; k < z_cells; k += planes) {
    const auto left = static_cast<int>(source.box.hi.z - lo.z) - k;
    T sums[planes];
#pragma unroll
    for (int i = 0; i < planes; ++i)
      sums[i] = i < left && !source.constant.empty() ? source.constant(x, y, lo.z + k + i) : T(0);
    for (int p = 0; p < source.count; ++p) {
      const double* const mean = means + p * means_of_one;
      const double of_x = mean[threadIdx.x], of_y = mean[x_cells + threadIdx.y];
#pragma unroll
      for (int i = 0; i < planes; ++i)
        sums[i] +=
            static_cast<T>(source.products[p].strength * of_x * of_y * mean[x_cells + y_cells + k + i]);
    }
#pragma unroll
    for (int i = 0; i < planes; ++i)
      if (i < left) source.to(x, y, lo.z + k + i) = sums[i];
  }
}

template <class T>
void set(const SourceSum<T>& source, Stream stream) {
  Box blocks = source.box;  // so many planes of a thread are one cell of the box
  blocks.hi.z = blocks.lo.z + ceil_div(blocks.extent().z, z_cells);
  cover(blocks, dim3(x_cells, y_cells), [&](dim3 grid, Int3 first) {
    first.z = source.box.lo.z + (first.z - source.box.lo.z) * z_cells;
    launch("set_source", set_source<T>, {grid, dim3(x_cells, y_cells)}, stream, source, first);
  });
}

}  // namespace

template <class T>
const SourceSums<T>& source_sums_cuda() {
  static constexpr SourceSums<T> table{set<T>};
  return table;
}

template const SourceSums<float>& source_sums_cuda<float>();
template const SourceSums<double>& source_sums_cuda<double>();

}  // namespace isotherm::cuda
