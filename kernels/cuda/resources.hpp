// What a kernel takes of a multiprocessor: the runtime's answer, for `isotherm list`. For .cu files only.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/launch.hpp"
#include "kernels/kernel_resources.hpp"

namespace isotherm::cuda {

inline int attribute_of_current_device(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  return value;
}

// Blocks of this kernel that a multiprocessor of the current device holds at the same time.
template <class... Formal>
int blocks_a_processor(void (*kernel)(Formal...), int threads, std::size_t shared_bytes) {
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return blocks;
}

template <class... Formal>
KernelResources resources_of(void (*kernel)(Formal...), int threads, std::size_t shared_bytes = 0) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  const int blocks = blocks_a_processor(kernel, threads, shared_bytes);
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
  const Index blocks = blocks_a_processor(kernel, threads, shared_bytes);
  return blocks > 0 ? blocks * attribute_of_current_device(cudaDevAttrMultiProcessorCount) : 1;
}

}  // namespace isotherm::cuda
