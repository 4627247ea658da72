// What every kernel of this folder needs around its launch: a block that fits a box, grids that cover it, the
// cell of a thread, and the check behind it. For .cu files only.
//
// A kernel runs on the calling thread's current device, which every call of Device sets; the stream must be
// one of that device.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "core/box.hpp"
#include "core/cuda_native.hpp"

namespace isotherm::cuda {

inline constexpr int warp_size = 32;

// How many threads, and the dynamic shared memory of a block.
struct Threads {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
};

// Queues a kernel and reports what is wrong with the launch itself. What goes wrong while the kernel runs is
// reported by the next synchronisation.
template <class... Formal, class... Actual>
void launch(const char* name, void (*kernel)(Formal...), const Threads& threads, Stream stream,
            Actual&&... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = threads.grid;
  config.blockDim = threads.block;
  config.dynamicSmemBytes = threads.shared_bytes;
  config.stream = native(stream);
  const cudaError_t code = cudaLaunchKernelEx(&config, kernel, std::forward<Actual>(arguments)...);
  if (code != cudaSuccess) check(code, (std::string("the launch of kernel ") + name).c_str());
}

// The block `wide`, made narrower where the box is thin and longer in y and z instead, so that warps
// stay full: 32 x 8 x 1 becomes 1 x 32 x 8 on an x face, 32 x 1 x 8 on a y face. Never more threads
// than `wide` has.
inline dim3 fit_block(dim3 wide, Int3 extent) {
  const auto power_of_two = [](Index cells) { return std::bit_ceil(static_cast<std::uint64_t>(cells)); };
  const std::uint64_t threads = wide.x * wide.y * wide.z, most_z = 64;
  const std::uint64_t x = std::min<std::uint64_t>(wide.x, power_of_two(extent.x));
  const std::uint64_t rows = std::min(std::max<std::uint64_t>(wide.y, warp_size / x), threads / x);
  const std::uint64_t y = std::min(rows, power_of_two(extent.y));
  const std::uint64_t z = std::min({threads / (x * y), power_of_two(extent.z), most_z});
  return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z));
}

// Calls launch(grid, first) so that blocks cover the box from cell `first` on: once, but for boxes of more
// blocks an axis than a grid may have (65535 in y and z).
template <class Launch>
void cover(Box box, dim3 block, Launch launch) {
  if (box.empty()) return;
  const Int3 most{Index{0x7fffffff} * block.x, Index{65535} * block.y, Index{65535} * block.z};
  const auto blocks = [](Index cells, Index limit, unsigned threads) {
    return static_cast<unsigned>(ceil_div(std::min(cells, limit), threads));
  };
  for (Index z = box.lo.z; z < box.hi.z; z += most.z) {
    for (Index y = box.lo.y; y < box.hi.y; y += most.y) {
      for (Index x = box.lo.x; x < box.hi.x; x += most.x) {
        const dim3 grid(blocks(box.hi.x - x, most.x, block.x), blocks(box.hi.y - y, most.y, block.y),
                        blocks(box.hi.z - z, most.z, block.z));
        launch(grid, Int3{x, y, z});
      }
    }
  }
}

// The cell of this thread in a grid from cover(); it may lie beyond the box's upper end, not below its lower.
__device__ __forceinline__ Int3 cell_of_thread(Int3 first) {
  return {first.x + Index{blockIdx.x} * blockDim.x + threadIdx.x,
          first.y + Index{blockIdx.y} * blockDim.y + threadIdx.y,
          first.z + Index{blockIdx.z} * blockDim.z + threadIdx.z};
}
__device__ __forceinline__ bool beyond(Int3 cell, Int3 hi) {
  return cell.x >= hi.x || cell.y >= hi.y || cell.z >= hi.z;
}

}  // namespace isotherm::cuda
