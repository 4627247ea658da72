// What host rows share, and the functions of this folder that are no rows. Every .cpp here is compiled once
// for each instruction set, so each row is a template over it; the registry, which alone declares the rows,
// has a table for each set.
//
// Beware of the linker: of an inline function that several files share it keeps one copy, and it could keep
// the one compiled for AVX-512. What the files of this folder share is therefore static, always inlined, or a
// template over Isa. CheckSymbols.cmake holds it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/bandwidth.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/histogram.hpp"
#include "kernels/host_info.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "kernels/survey.hpp"

namespace isotherm::host {

struct Baseline {};
struct V3 {};
struct V4 {};

enum class Store { cached, streaming };

template <class Isa, class T>
struct FieldSurveyRows {
  static const FieldSurvey<T> row;
};

template <class Isa, class T>
struct FaceCopyRows {
  static const FaceCopy<T> row;
};

template <class Isa, class T>
struct Fingerprint {
  static std::uint64_t compute(FieldView<const T> field, Int3 global_lo, Int3 global_extent);
};

// Ways to move arrays of `count` elements, aligned to 128 bytes, by all threads: the work of
// the bandwidth probes.
template <class Isa, class T>
struct Transfer {
  static void fill(T* to, Index count, T (*value)(Index));  // touched first by those that will move it
  static void copy(T* to, const T* from, Index count, Store store);
  static void write(T* to, Index count, const T (&pattern)[16], Store store);  // element i is pattern[i % 16]
  static std::uint64_t read(const T* from, Index count);  // sum of the bits, modulo 2 to the width of T
  static void copy_strided(T* to, const T* from, Index count, Index stride);  // every stride-th of `count`
};

std::unique_ptr<BandwidthProbe> make_copy_probe(Device& device, std::size_t bytes);
template <class T>
std::span<const BandwidthRow<T>> bandwidth_rows();

// What `pick` returns for one of the tags above.
template <class Pick>
auto for_instruction_set([[maybe_unused]] InstructionSet set, Pick pick) {
#if defined(__x86_64__)
  if (set == InstructionSet::v4) return pick(V4{});
  if (set == InstructionSet::v3) return pick(V3{});
#endif
  return pick(Baseline{});
}
// ... for the set in use.
template <class Pick>
auto for_this_cpu(Pick pick) {
  return for_instruction_set(instruction_set(), pick);
}

}  // namespace isotherm::host
