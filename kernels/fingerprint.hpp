// The fingerprint of a field: the sum modulo 2^64 over its cells of mix64(global index, bits of the value).
// It does not depend on the order, so partial sums of any decomposition add up to the same number. A swap of
// two unequal cells or one flipped bit changes it. The field is in host memory.
#pragma once

#include <cstdint>

#include "core/field_view.hpp"

namespace isotherm {

// The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA
// 2014), a bijection of 64 bits.
[[gnu::always_inline]] constexpr std::uint64_t mix64(std::uint64_t h) {
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  return h ^ (h >> 31);
}
// The increment of SplitMix64. It is odd, and products with it spread neighbouring indices over all 64 bits.
constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;

// `global_lo` is the global index of cell (0, 0, 0), `global_extent` the extent of the whole grid.
template <class T>
std::uint64_t fingerprint(FieldView<const T> field, Int3 global_lo, Int3 global_extent);

}  // namespace isotherm
