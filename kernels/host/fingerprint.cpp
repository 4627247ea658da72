// The fingerprint of a field in host memory. All arithmetic is modulo 2^64, so the order of the sum is free.
#include "kernels/fingerprint.hpp"

#include "kernels/host/partition.hpp"
#include "kernels/host/rows.hpp"

namespace isotherm::host {
namespace {

// The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA
// 2014), a bijection of 64 bits.
inline __attribute__((always_inline)) std::uint64_t mix64(std::uint64_t h) {
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  return h ^ (h >> 31);
}

// Their increment, odd: multiplying by it spreads neighbouring indices over all 64 bits.
constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;

std::uint64_t bits_of(double value) {
  return __builtin_bit_cast(std::uint64_t, value);
}
std::uint64_t bits_of(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}

// For a given index a bijection of the bits: one flipped bit always changes the sum.
template <class T>
std::uint64_t of_row(const T* row, Index cells, std::uint64_t first_index) {
  std::uint64_t sum = 0;
  for (Index x = 0; x < cells; ++x) {
    sum += mix64(bits_of(row[x]) + (first_index + static_cast<std::uint64_t>(x) + 1) * golden);
  }
  return sum;
}

}  // namespace

template <class Isa, class T>
std::uint64_t Fingerprint<Isa, T>::compute(FieldView<const T> field, Int3 global_lo, Int3 global_extent) {
  const Int3 n = field.extent;
  std::uint64_t sum = 0;
#pragma omp parallel for collapse(2) schedule(static) reduction(+ : sum) if (n.product() >= cells_worth_threads)
  for (Index z = 0; z < n.z; ++z) {
    for (Index y = 0; y < n.y; ++y) {
      const Index first =
          ((global_lo.z + z) * global_extent.y + global_lo.y + y) * global_extent.x + global_lo.x;
      sum += of_row(&field(0, y, z), n.x, static_cast<std::uint64_t>(first));
    }
  }
  return sum;
}

template struct Fingerprint<ISOTHERM_ISA, float>;
template struct Fingerprint<ISOTHERM_ISA, double>;

}  // namespace isotherm::host
