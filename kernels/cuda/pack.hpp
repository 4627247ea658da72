// 16 bytes of neighbouring cells along x: the widest access of a thread. For .cu files only.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {

template <class T>
struct PackWord;
template <>
struct PackWord<float> {
  using type = float4;
};
template <>
struct PackWord<double> {
  using type = double2;
};

// cells: 4 in fp32, 2 in fp64.
template <class T>
struct alignas(16) Pack {
  static constexpr int cells = 16 / sizeof(T);
  using Word = typename PackWord<T>::type;
  T v[cells];

  // `from` and `to` aligned to 16 bytes.
  static __device__ __forceinline__ Pack load(const T* from) {
    const Word word = *reinterpret_cast<const Word*>(from);
    Pack p;
    memcpy(p.v, &word, sizeof word);
    return p;
  }
  // From memory that nobody writes while the kernel runs: the compiler may move the load over stores.
  static __device__ __forceinline__ Pack load_constant(const T* from) {
    const Word word = __ldg(reinterpret_cast<const Word*>(from));
    Pack p;
    memcpy(p.v, &word, sizeof word);
    return p;
  }
  __device__ __forceinline__ void store(T* to) const {
    Word word;
    memcpy(&word, v, sizeof word);
    *reinterpret_cast<Word*>(to) = word;
  }
  static __device__ __forceinline__ Pack zero() {
    Pack p;
#pragma unroll
    for (int i = 0; i < cells; ++i) p.v[i] = T{0};
    return p;
  }
};

// The first cell of the pack that holds x: interior rows start on 128 bytes, so packs start at multiples of
// their length.
template <class T>
constexpr Index pack_floor(Index x) {
  return floor_div(x, Pack<T>::cells) * Pack<T>::cells;
}

}  // namespace isotherm::cuda
