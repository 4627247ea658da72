// The host rows. Every .cpp of this folder is compiled once for each instruction set, so each row is a
// template over it; the registry picks one set when it makes its tables.
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

template <class Isa, class T>
struct StencilReference {
  static constexpr std::array<bool, 3> own_walls{};
  static constexpr std::span<const std::string_view> policies = one_policy;
  static void launch(const SweepArgs<T>& args, SweepPlan plan, Stream stream);
  static std::size_t norm_scratch_bytes(Box region, int policy);
};

enum class Store { cached, streaming };

// Planes of a pass; in lines: a whole cache line at a time and no prefetch instructions.
enum class OpenmpPolicy { three_planes, one_plane, four_planes_in_lines };

template <class Isa, class T>
struct StencilOpenmp {
  static constexpr std::array<bool, 3> own_walls{true, false, false};
  static constexpr std::array<std::string_view, 3> policies = {"3planes", "1plane", "4planes_lines"};
  static void launch(const SweepArgs<T>& args, SweepPlan plan, Stream stream);  // chooses the stores by size
  static std::size_t norm_scratch_bytes(Box region, int policy);
  static void sweep(const SweepArgs<T>& args, Store store, OpenmpPolicy policy = OpenmpPolicy::three_planes);
};

inline constexpr int fused_openmp_depth = 8;

template <class Isa, class T>
struct StencilFusedOpenmp {
  static constexpr int max_depth = fused_openmp_depth;
  static constexpr std::array<bool, 3> own_walls{true, true, true};
  static constexpr std::array<std::string_view, 3> policies = {"2rows", "1row", "2rows_wide"};
  static void launch(const SweepArgs<T>& args, SweepPlan plan, Stream stream);  // chooses the stores by size
  static std::size_t norm_scratch_bytes(Box region, int policy);
  static void sweep(const SweepArgs<T>& args, SweepPlan plan, Store store);  // without what ends a norm
};

template <class Isa, class T>
struct ReductionReference {
  static void launch(const ReductionArgs<T>& args, Stream stream);
  static std::size_t scratch_bytes(Box region);
};

template <class Isa, class T>
struct ReductionOpenmp {
  static void launch(const ReductionArgs<T>& args, Stream stream);
  static std::size_t scratch_bytes(Box region);
};

template <class Isa, class T>
struct ReductionReproducible {
  static void launch(const ReductionArgs<T>& args, Stream stream);
  static std::size_t scratch_bytes(Box region);
};

template <class Isa, class T>
struct HistogramReference {
  static void launch(const HistogramArgs<T>& args, Stream stream);
};

template <class Isa, class T>
struct HistogramOpenmp {
  static void launch(const HistogramArgs<T>& args, Stream stream);
};

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

// What `pick` returns for the instruction set in use; `pick` takes one of the tags above.
template <class Pick>
auto for_this_cpu(Pick pick) {
#if defined(__x86_64__)
  switch (instruction_set()) {
    case InstructionSet::v4:
      return pick(V4{});
    case InstructionSet::v3:
      return pick(V3{});
    case InstructionSet::baseline:
      break;
  }
#endif
  return pick(Baseline{});
}

}  // namespace isotherm::host
