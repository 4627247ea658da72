// Common parts of kernel launches: a block that fits a box, grids that cover it, the cell of a thread, the
// check of the launch; tiles, resources, packs of cells. For .cu files only.
//
// A kernel runs on the calling thread's current device, which every call of Device sets; the stream must be
// one of that device.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/box.hpp"
#include "core/cuda_native.hpp"
#include "core/error.hpp"
#include "core/host_device.hpp"
#include "kernels/functions.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"

namespace isotherm::cuda {

inline constexpr int warp_size = 32;

// Instantiates a function that completes the registry entry of a kernel, in both precisions.
#define ISOTHERM_BOTH_PRECISIONS(function, Completed) \
  template void function(Completed<float>&);          \
  template void function(Completed<double>&)

// Grid, block, and the dynamic shared memory of a block.
struct Threads {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
};

// Throws when a launch has failed. Call it after kernel<<<grid, block, shared_bytes, stream>>>(...), which
// returns no code. Errors of the kernel itself are reported by the next synchronisation.
inline void check_launch(const char* name, cudaError_t code = cudaGetLastError()) {
  if (code != cudaSuccess) check(code, (std::string("the launch of kernel ") + name).c_str());
}

// A block of any kernel may have this much dynamic shared memory. More must be allowed for the kernel.
inline constexpr std::size_t usual_shared_bytes = 48 << 10;
template <class... Formal>
void allow_shared(void (*kernel)(Formal...), std::size_t bytes) {
  if (bytes <= usual_shared_bytes) return;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "cudaFuncSetAttribute");
}

// Queues a kernel, as <<<>>> does, and checks the launch.
template <class... Formal, class... Actual>
void launch(const char* name, void (*kernel)(Formal...), const Threads& threads, Stream stream,
            Actual&&... arguments) {
  allow_shared(kernel, threads.shared_bytes);
  cudaLaunchConfig_t config = {};
  config.gridDim = threads.grid;
  config.blockDim = threads.block;
  config.dynamicSmemBytes = threads.shared_bytes;
  config.stream = native(stream);
  check_launch(name, cudaLaunchKernelEx(&config, kernel, std::forward<Actual>(arguments)...));
}

// Returns the block `wide` or, where the box is thin along x, a narrower block that is longer in y and z, so
// that warps stay full: 32 x 8 x 1 becomes 1 x 32 x 8 on an x face. Never more threads than `wide` has.
inline dim3 fit_block(dim3 wide, Int3 extent) {
  const auto power_of_two = [](Index cells) { return std::bit_ceil(static_cast<std::uint64_t>(cells)); };
  const std::uint64_t threads = wide.x * wide.y * wide.z, most_z = 64;
  const std::uint64_t x = std::min<std::uint64_t>(wide.x, power_of_two(extent.x));
  const std::uint64_t rows = std::min(std::max<std::uint64_t>(wide.y, warp_size / x), threads / x);
  const std::uint64_t y = std::min(rows, power_of_two(extent.y));
  const std::uint64_t z = std::min({threads / (x * y), power_of_two(extent.z), most_z});
  return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z));
}

// Calls launch(grid, first) so that blocks cover the box from cell `first` on: once, unless the box has more
// blocks along an axis than a grid may have (65535 in y and z).
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

template <unsigned threads, class Body>
__global__ void __launch_bounds__(threads)
    call_for_cells(const __grid_constant__ Body body, Int3 first, Int3 hi) {
  const Int3 cell = cell_of_thread(first);
  if (!beyond(cell, hi)) body(cell);
}
// Queues body(cell) for each cell of the box, by one thread per cell. `body`: a lambda [=] __device__(Int3),
// or another object that can be called on a GPU. `threads`: of a block.
template <unsigned threads = 256, class Body>
void launch_for_cells(const char* name, Box box, Stream stream, const Body& body) {
  if (box.empty()) return;
  const dim3 block = fit_block(dim3(warp_size, threads / warp_size, 1), box.extent());
  cover(box, block, [&](dim3 grid, Int3 first) {
    launch(name, call_for_cells<threads, Body>, {grid, block}, stream, body, first, box.hi);
  });
}

// The tile of a kernel; each kernel documents what its numbers mean. The name is "32x8x1".
struct Tile {
  int x, y, z;
  ISOTHERM_HOST_DEVICE constexpr int product() const { return x * y * z; }
  std::string name() const { return std::to_string(x) + "x" + std::to_string(y) + "x" + std::to_string(z); }
};

// Calls body.template operator()<number>() for a number from least to most.
template <int least, int most, class Body>
auto with_number(int number, const char* unknown, Body body) {
  if constexpr (least < most) {
    if (number != least) return with_number<least + 1, most>(number, unknown, body);
  }
  if (number != least) throw Error(ExitCode::internal, unknown);
  return body.template operator()<least>();
}
// Calls body.template operator()<tile>() for the tile of that index.
template <const auto& tiles, class Body>
auto with_tile(int index, Body body) {
  return with_number<0, static_cast<int>(std::size(tiles)) - 1>(
      index, "a kernel was asked for a tile that it does not have",
      [&]<int i>() { return body.template operator()<tiles[i]>(); });
}

// The function of a registry entry that returns body.template operator()<tile>() for the tile of an index.
template <const auto& tiles, class Body>
constexpr auto by_tile(Body) {
  return [](int index) { return with_tile<tiles>(index, Body{}); };
}

template <const auto& tiles>
std::span<const std::string_view> names_of() {
  static std::array<std::string, std::size(tiles)> texts;
  static const auto names = [] {
    std::array<std::string_view, std::size(tiles)> views;
    for (std::size_t i = 0; i < views.size(); ++i) views[i] = texts[i] = tiles[i].name();
    return views;
  }();
  return names;
}

// A kernel's resources on a multiprocessor, as the runtime reports them, for `isotherm list`.

inline int attribute_of_current_device(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  return value;
}

// Why blocks of the current device cannot have `bytes` of shared memory. Empty: they can.
inline std::string without_shared_memory(std::size_t bytes) {
  const int most = attribute_of_current_device(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  if (bytes <= static_cast<std::size_t>(most)) return "";
  return "it needs " + std::to_string(bytes) + " bytes of shared memory per block, and this device has " +
         std::to_string(most);
}

// "9.0", of the current device.
inline std::string compute_capability() {
  return std::to_string(attribute_of_current_device(cudaDevAttrComputeCapabilityMajor)) + "." +
         std::to_string(attribute_of_current_device(cudaDevAttrComputeCapabilityMinor));
}

// Blocks of this kernel that a multiprocessor of the current device holds at the same time.
template <class... Formal>
int blocks_per_processor(void (*kernel)(Formal...), int threads, std::size_t shared_bytes) {
  int blocks = 0;
  allow_shared(kernel, shared_bytes);
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return blocks;
}

template <class... Formal>
KernelResources resources_of(void (*kernel)(Formal...), int threads, std::size_t shared_bytes = 0) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  const int blocks = blocks_per_processor(kernel, threads, shared_bytes);
  const int most_threads = attribute_of_current_device(cudaDevAttrMaxThreadsPerMultiProcessor);
  return {threads,
          attributes.numRegs,
          attributes.sharedSizeBytes + shared_bytes,
          attributes.localSizeBytes,
          blocks,
          static_cast<double>(blocks) * threads / most_threads};
}

// Blocks of this kernel that the current device holds at the same time; at least one.
template <class... Formal>
Index blocks_at_once(void (*kernel)(Formal...), int threads, std::size_t shared_bytes = 0) {
  const Index blocks = blocks_per_processor(kernel, threads, shared_bytes);
  return blocks > 0 ? blocks * attribute_of_current_device(cudaDevAttrMultiProcessorCount) : 1;
}

// 16 bytes of neighbouring cells along x: the widest access of a thread. cells: 4 in fp32, 2 in fp64.
template <class T>
struct alignas(16) Pack {
  static constexpr int cells = 16 / sizeof(T);
  using Word = std::conditional_t<sizeof(T) == sizeof(float), float4, double2>;
  T v[cells];

  // `from` and `to` aligned to 16 bytes.
  static __device__ __forceinline__ Pack load(const T* from) {
    return __builtin_bit_cast(Pack, *reinterpret_cast<const Word*>(from));
  }
  // From memory that is not written while the kernel runs: the compiler may move the load across stores.
  static __device__ __forceinline__ Pack load_constant(const T* from) {
    return __builtin_bit_cast(Pack, __ldg(reinterpret_cast<const Word*>(from)));
  }
  __device__ __forceinline__ void store(T* to) const {
    *reinterpret_cast<Word*>(to) = __builtin_bit_cast(Word, *this);
  }
  static __device__ __forceinline__ Pack all(T value) {
    Pack p;
#pragma unroll
    for (int i = 0; i < cells; ++i) p.v[i] = value;
    return p;
  }
};

using isotherm::scaled_source;
template <class T>
__device__ __forceinline__ Pack<T> scaled_source(const Coefficients<T>& c, Pack<T> source) {
#pragma unroll
  for (int i = 0; i < Pack<T>::cells; ++i) source.v[i] = scaled_source(c, source.v[i]);
  return source;
}

// The first cell of the pack that holds x: interior rows start at multiples of 128 bytes, so packs start at
// multiples of their length.
template <class T>
constexpr Index pack_floor(Index x) {
  return floor_div(x, Pack<T>::cells) * Pack<T>::cells;
}

}  // namespace isotherm::cuda
