// A SIMD register of T. It has the operations of a number that stencil_update() needs, +, - and
// fused_multiply_add(), so that the formula is written once for scalars and vectors.
#pragma once

#include <utility>

#include "kernels/host/host_kernels.hpp"
#include "kernels/stencil.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ISOTHERM_INLINE static inline __attribute__((always_inline))
#define ISOTHERM_INLINE_MEMBER inline __attribute__((always_inline))
#define ISOTHERM_INLINE_LAMBDA __attribute__((always_inline))

namespace isotherm::host {

// The widest register of each set.
template <class Isa>
inline constexpr Index widest = 16;
template <>
inline constexpr Index widest<V3> = 32;
template <>
inline constexpr Index widest<V4> = 64;

// The width to compute with. With V4, the 32 registers and permutations of AVX-512 pay off, its width does
// not: the kernel `openmp` is a third faster with registers of half the width (Zen 5, docs/tuning-log).
template <class Isa>
inline constexpr Index preferred = widest<Isa> < 32 ? widest<Isa> : 32;

// Operations that C++ lacks, by register: fused multiply-add, and streaming stores that bypass the caches.
// Without a vector instruction the lanes are computed one by one (on a processor without fma, by libm).
template <class Register>
ISOTHERM_INLINE Register fma_lanes(Register a, Register b, Register c) {
  for (unsigned i = 0; i < sizeof(a) / sizeof(a[0]); ++i) a[i] = fused_multiply_add(a[i], b[i], c[i]);
  return a;
}
template <class T, class Register>
ISOTHERM_INLINE void stream(T* to, Register r) {
  *reinterpret_cast<Register*>(to) = r;
}
ISOTHERM_INLINE void stream_fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

#define ISOTHERM_STREAM(T, Register, instruction) \
  ISOTHERM_INLINE void stream(T* to, Register r) { instruction(to, r); }
#define ISOTHERM_FMA(Register, instruction) \
  ISOTHERM_INLINE Register fma_lanes(Register a, Register b, Register c) { return instruction(a, b, c); }
#if defined(__x86_64__)
ISOTHERM_STREAM(double, __m128d, _mm_stream_pd)
ISOTHERM_STREAM(float, __m128, _mm_stream_ps)
#endif
#if defined(__FMA__)
ISOTHERM_STREAM(double, __m256d, _mm256_stream_pd)
ISOTHERM_STREAM(float, __m256, _mm256_stream_ps)
ISOTHERM_FMA(__m256d, _mm256_fmadd_pd)
ISOTHERM_FMA(__m256, _mm256_fmadd_ps)
#endif
#if defined(__AVX512F__)
ISOTHERM_STREAM(double, __m512d, _mm512_stream_pd)
ISOTHERM_STREAM(float, __m512, _mm512_stream_ps)
ISOTHERM_FMA(__m512d, _mm512_fmadd_pd)
ISOTHERM_FMA(__m512, _mm512_fmadd_ps)
#endif

template <class Isa, class T, Index width = preferred<Isa>>
struct Vector {
  static constexpr Index bytes = width;
  static constexpr Index lanes = bytes / static_cast<Index>(sizeof(T));
  using Register [[gnu::vector_size(bytes)]] = T;
  using Unaligned [[gnu::vector_size(bytes), gnu::aligned(sizeof(T)), gnu::may_alias]] = T;

  Register v;

  ISOTHERM_INLINE Vector broadcast(T value) { return {value - Register{}}; }
  ISOTHERM_INLINE Vector load(const T* from) { return {*reinterpret_cast<const Unaligned*>(from)}; }
  ISOTHERM_INLINE void store(T* to, Vector a) { *reinterpret_cast<Unaligned*>(to) = a.v; }
  // `to` aligned to the register; stream_fence() before another thread reads.
  ISOTHERM_INLINE void store_streaming(T* to, Vector a) { stream(to, a.v); }
  // The register that starts one element before `b`, or one after `a`, where `b` follows `a` in memory:
  // cheaper than a load that straddles two cache lines.
  ISOTHERM_INLINE Vector one_before(Vector a, Vector b) { return join<lanes - 1>(a, b, Lanes{}); }
  ISOTHERM_INLINE Vector one_after(Vector a, Vector b) { return join<1>(a, b, Lanes{}); }

  friend ISOTHERM_INLINE_MEMBER Vector operator+(Vector a, Vector b) { return {a.v + b.v}; }
  friend ISOTHERM_INLINE_MEMBER Vector operator-(Vector a, Vector b) { return {a.v - b.v}; }
  friend ISOTHERM_INLINE_MEMBER Vector operator*(Vector a, Vector b) { return {a.v * b.v}; }
  friend ISOTHERM_INLINE_MEMBER Vector fused_multiply_add(Vector a, Vector b, Vector c) {
    return {fma_lanes(a.v, b.v, c.v)};
  }

 private:
  using Lanes = std::make_index_sequence<static_cast<std::size_t>(lanes)>;
  template <std::size_t first, std::size_t... i>
  ISOTHERM_INLINE Vector join(Vector a, Vector b, std::index_sequence<i...>) {
    return {__builtin_shufflevector(a.v, b.v, (first + i)...)};
  }
};

template <class V, class T>
ISOTHERM_INLINE Coefficients<V> broadcast(const Coefficients<T>& c) {
  return {V::broadcast(c.c0), V::broadcast(c.cx),    V::broadcast(c.cy),
          V::broadcast(c.cz), V::broadcast(c.sigma), V::broadcast(c.heat)};
}

}  // namespace isotherm::host
