// Stands in for CUB's reduction: a loop, queued like a kernel.
#pragma once

#include <cstddef>

#include "cuda_runtime.h"
#include "thrust/iterator/counting_iterator.h"

namespace cub {
struct DeviceReduce {
  template <class Index, class Result, class Join, class Transform, class Initial>
  static cudaError_t TransformReduce(void* scratch, std::size_t& bytes,
                                     thrust::counting_iterator<Index> numbers, Result* result, Index count,
                                     Join join, Transform transform, Initial initial, cudaStream_t stream) {
    bytes = 256;
    if (!scratch) return cudaSuccess;
    emulation::queue(stream, [=] {
      Result total = initial;
      for (Index i = 0; i < count; ++i) total = join(total, transform(numbers.first + i));
      *result = total;
    });
    return cudaSuccess;
  }
};
}  // namespace cub
