// Sources that are products of profiles on the GPU.
//
// Mapping   a block of 32 x 8 threads takes 32 x 8 cells of each of 16 planes, four planes at a time.
// Storage   shared memory: the shares below faces along each axis, and means from them: a block computes 59
//           per product, not six for each of 4096 cells. Registers: four cells of a thread, until all
//           products are added.
//
// A sweep takes the source from these registers, the neighbours from memory and, beyond a boundary, the
// boundary's ghost: one launch, which neither stores the source nor fills ghosts.
#include "kernels/source_product.hpp"

#include <type_traits>

#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {
namespace {

constexpr int x_cells = warp_size, y_cells = 8, z_cells = 16, planes = 4;
constexpr int threads = x_cells * y_cells;
constexpr int means_of_one = x_cells + y_cells + z_cells, faces_of_one = means_of_one + 3;

struct Place {
  int axis, along;
};
// The place of a cell (`more` 0) or of a face (`more` 1: there is one more along each axis) by its number.
__device__ Place place_of(int number, int more) {
  const int x = x_cells + more, y = y_cells + more;
  return number < x ? Place{0, number} : number < x + y ? Place{1, number - x} : Place{2, number - x - y};
}

// Updates a cell; `below` and `above` are its neighbours along z.
template <class T>
__device__ __forceinline__ T updated(const SourceSweep<T>& s, Int3 cell, T below, T centre, T above,
                                     T source) {
  const T* const at = &s.in(cell);
  T near[] = {at[-1], at[1], at[-s.in.pitch_y], at[s.in.pitch_y], below, above};
#pragma unroll
  for (int f = 0; f < face_count; ++f) {
    const Boundary<T>& boundary = s.boundaries.faces[f];
    const int axis = f / 2;
    if (!boundary.is_boundary || cell[axis] != (f % 2 == 0 ? 0 : s.in.extent[axis] - 1)) continue;
    near[f] = boundary.ghost(axis == 0 ? cell.y : cell.x, axis == 2 ? cell.y : cell.z, centre);
  }
  return stencil_update(s.c, centre, near[0], near[1], near[2], near[3], near[4], near[5],
                        scaled_source(s.c, source));
}

struct NoSweep {};

// Sets the source; with a SourceSweep, sweeps its box instead.
template <class T, class Sweep>
__global__ void __launch_bounds__(threads)
    set_source(const __grid_constant__ SourceSum<T> source, const __grid_constant__ Sweep sweep, Int3 first) {
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
    if constexpr (std::is_same_v<Sweep, NoSweep>) {
#pragma unroll
      for (int i = 0; i < planes; ++i)
        if (i < left) source.to(x, y, lo.z + k + i) = sums[i];
    } else {
      T column[planes + 2];
#pragma unroll
      for (int i = 0; i < planes + 2; ++i) column[i] = i < left + 2 ? sweep.in(x, y, lo.z + k + i - 1) : T(0);
#pragma unroll
      for (int i = 0; i < planes; ++i)
        if (i < left)
          sweep.out(x, y, lo.z + k + i) =
              updated(sweep, {x, y, lo.z + k + i}, column[i], column[i + 1], column[i + 2], sums[i]);
    }
  }
}

template <class T, class Sweep>
void launch_over_box(const SourceSum<T>& source, const Sweep& sweep, Stream stream) {
  Box blocks = source.box;  // z_cells planes of a thread count as one cell of the box
  blocks.hi.z = blocks.lo.z + ceil_div(blocks.extent().z, z_cells);
  cover(blocks, dim3(x_cells, y_cells), [&](dim3 grid, Int3 first) {
    first.z = source.box.lo.z + (first.z - source.box.lo.z) * z_cells;
    launch("set_source", set_source<T, Sweep>, {grid, dim3(x_cells, y_cells)}, stream, source, sweep, first);
  });
}
template <class T>
void set(const SourceSum<T>& source, Stream stream) {
  launch_over_box(source, NoSweep{}, stream);
}
template <class T>
void sweep(const SourceSum<T>& source, const SourceSweep<T>& sweep, Stream stream) {
  launch_over_box(source, sweep, stream);
}

}  // namespace

ISOTHERM_FUNCTIONS(functions, SourceSums, set<T>, sweep<T>)

}  // namespace isotherm::cuda
