// What a kernel takes of a multiprocessor: the runtime's answer, for `isotherm list`. For .cu files only.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/launch.hpp"
#include "kernels/kernel_resources.hpp"

namespace isotherm::cuda {

template <class... Formal>
KernelResources resources_of(void (*kernel)(Formal...), int threads, std::size_t shared_bytes = 0) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  int device = 0, blocks = 0, most_threads = 1;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&most_threads, cudaDevAttrMaxThreadsPerMultiProcessor, device),
        "cudaDeviceGetAttribute");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return {threads,
          attributes.numRegs,
          attributes.sharedSizeBytes + shared_bytes,
          attributes.localSizeBytes,
          blocks,
          static_cast<double>(blocks) * threads / most_threads};
}

// Blocks of this kernel that the current device holds at the same time.
template <class... Formal>
Index blocks_at_once(void (*kernel)(Formal...), int threads, std::size_t shared_bytes = 0) {
  int device = 0, blocks = 0, processors = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return blocks > 0 ? Index{blocks} * processors : 1;
}

}  // namespace isotherm::cuda
