// Sources that are products of profiles on the GPU.
//
// Mapping   a block of 32 x 8 threads takes so many cells of each of 32 planes, eight planes at a time.
// Storage   shared memory: the shares below faces along each axis, and means from them: a block computes 75
//           per product, not six for each of 8192 cells. Registers: eight cells of a thread, until all
//           products are added.
#include "kernels/source_product.hpp"

#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {
namespace {

constexpr int x_cells = warp_size, y_cells = 8, z_cells = 32, planes = 8;
constexpr int threads = x_cells * y_cells;
constexpr int means_of_one = x_cells + y_cells + z_cells, faces_of_one = means_of_one + 3;

struct Place {
  int axis, along;
};
// Of cells, or of faces, of which there is one more along each axis.
__device__ Place place_of(int number, int more) {
  const int x = x_cells + more, y = y_cells + more;
  return number < x ? Place{0, number} : number < x + y ? Place{1, number - x} : Place{2, number - x - y};
}

template <class T>
__global__ void __launch_bounds__(threads)
    set_source(const __grid_constant__ SourceSum<T> source, Int3 first) {
  __shared__ double shares[SourceSum<T>::most_products * faces_of_one];
  __shared__ double means[SourceSum<T>::most_products * means_of_one];
  const Int3 lo{first.x + Index{blockIdx.x} * x_cells, first.y + Index{blockIdx.y} * y_cells,
                first.z + Index{blockIdx.z} * z_cells};
  const auto thread = static_cast<int>(threadIdx.y * x_cells + threadIdx.x);
  for (int i = thread; i < source.count * faces_of_one; i += threads) {
    const auto [axis, along] = place_of(i % faces_of_one, 1);
    shares[i] = source.share(source.products[i / faces_of_one], axis, lo[axis] + along);
  }
  __syncthreads();
  for (int i = thread; i < source.count * means_of_one; i += threads) {
    const int p = i / means_of_one;
    const auto [axis, along] = place_of(i % means_of_one, 0);
    const double* const below = shares + p * faces_of_one + i % means_of_one + axis;
    means[i] = source.mean(source.products[p], axis, lo[axis] + along, below[0], below[1]);
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
