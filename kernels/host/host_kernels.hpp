// Code that host kernels share, and the functions of this folder that are not kernels of the registry. Every
// .cpp here is compiled once for each instruction set, so each kernel is a template over it. The linker keeps
// one copy of an inline function that several files share, perhaps the one compiled for AVX-512. Shared
// functions of this folder are therefore static, always inlined, or templates over Isa.
// CheckSymbols.cmake checks this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/bandwidth.hpp"
#include "kernels/conjugate_steps.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/field_algebra.hpp"
#include "kernels/field_reductions.hpp"
#include "kernels/formula.hpp"
#include "kernels/functions.hpp"
#include "kernels/grid_transfer.hpp"
#include "kernels/histogram.hpp"
#include "kernels/host_info.hpp"
#include "kernels/reduction.hpp"
#include "kernels/semicoarsening.hpp"
#include "kernels/stencil.hpp"

namespace isotherm::host {

struct Baseline {
  static constexpr InstructionSet set = InstructionSet::baseline;
};
struct V3 {
  static constexpr InstructionSet set = InstructionSet::v3;
};
struct V4 {
  static constexpr InstructionSet set = InstructionSet::v4;
};

// Instantiates a function that completes a registry entry in both precisions, for the file's instruction set.
#define ISOTHERM_INSTANTIATE(function, Completed)          \
  template void function<ISOTHERM_ISA>(Completed<float>&); \
  template void function<ISOTHERM_ISA>(Completed<double>&)

enum class Store { cached, streaming };

// Runs the steps of a program for all points; `stack` has as many slots as the program is deep.
template <class Isa>
void run_formula(const FormulaStep* steps, Index count, const FormulaPoints& points, FormulaSlot* stack,
                 double* values);

template <class Isa, class T>
std::uint64_t fingerprint(FieldView<const T> field, Int3 global_lo, Int3 global_extent);

// Copies, reads and writes of arrays of `count` elements, aligned to 128 bytes, by all threads, for the
// bandwidth probes.
template <class Isa, class T>
struct Transfer {
  static void fill(T* to, Index count, T (*value)(Index));  // first touch by the threads that will access it
  static void copy(T* to, const T* from, Index count, Store store);
  static void write(T* to, Index count, const T (&pattern)[16], Store store);  // element i is pattern[i % 16]
  static std::uint64_t read(const T* from, Index count);  // sum of the bits, modulo 2 to the width of T
  static void copy_strided(T* to, const T* from, Index count, Index stride);  // every stride-th of `count`
};

template <class T>
std::span<const BandwidthEntry<T>> bandwidth_registry();

// The result of `pick` for the tag of a set, among those for which this build has kernels (CMakeLists.txt).
template <class... Isas>
struct Tags {
  static constexpr bool have(InstructionSet set) { return ((Isas::set == set) || ...); }
};
using BuiltTags = Tags<ISOTHERM_HOST_VARIANTS>;
template <class Pick, class First, class... Others>
auto for_instruction_set(InstructionSet set, Pick pick, Tags<First, Others...>) {
  if constexpr (sizeof...(Others) > 0) {
    if (set != First::set) return for_instruction_set(set, pick, Tags<Others...>{});
  }
  return pick(First{});
}
template <class Pick>
auto for_instruction_set(InstructionSet set, Pick pick) {
  return for_instruction_set(set, pick, BuiltTags{});
}
// The result of `pick` for the set in use.
template <class Pick>
auto for_this_cpu(Pick pick) {
  return for_instruction_set(instruction_set(), pick);
}

// The static split of a box among threads, and the index arithmetic for it, which is always inlined:
// std::min would be shared by instruction sets.

// With fewer cells, waking the threads costs more than they save.
inline constexpr Index cells_worth_threads = 16384;

static inline __attribute__((always_inline)) Index smaller(Index a, Index b) { return a < b ? a : b; }
static inline __attribute__((always_inline)) Index larger(Index a, Index b) { return a < b ? b : a; }

struct Range {
  Index lo, hi;
};

// Part `part` of `parts` of [lo, hi); their sizes differ by at most one.
static inline Range part_of(Range whole, Index part, Index parts) {
  const Index n = whole.hi - whole.lo;
  return {whole.lo + n * part / parts, whole.lo + n * (part + 1) / parts};
}

// The share of one thread. Threads form a grid over y and z: the one whose largest share is smallest, and of
// equal ones the one that cuts z most. `beyond`: extra rows and planes that a share sweeps on average.
static inline Box share(Box whole, int thread, int threads, Index beyond = 0) {
  const Int3 n = whole.extent();
  Index best_z = 1, least = -1;
  for (Index in_z = threads; in_z >= 1; --in_z) {
    if (threads % in_z != 0) continue;
    const Index in_y = threads / in_z;
    const Index rows = ((n.y + in_y - 1) / in_y + beyond) * ((n.z + in_z - 1) / in_z + beyond);
    if (least < 0 || rows < least) {
      least = rows;
      best_z = in_z;
    }
  }
  const Index in_y = threads / best_z;
  const Range y = part_of({whole.lo.y, whole.hi.y}, thread % in_y, in_y);
  const Range z = part_of({whole.lo.z, whole.hi.z}, thread / in_y, best_z);
  return {{whole.lo.x, y.lo, z.lo}, {whole.hi.x, y.hi, z.hi}};
}

enum class Source { none, field };

// Calls body.template operator()<source>().
template <class T, class Body>
static inline void with_source(FieldView<const T> source, const Body& body) {
  source.empty() ? body.template operator()<Source::none>() : body.template operator()<Source::field>();
}

// Streaming stores pay off where the next sweep would not find the output in cache anyway.
static inline Store choose_store(std::size_t bytes_of_output) {
  return 2 * bytes_of_output > last_level_cache_bytes() ? Store::streaming : Store::cached;
}

// One step of a reduction: combines a value with a total, or two totals. Both start from 0.

static inline __attribute__((always_inline)) double magnitude(double d) { return __builtin_fabs(d); }

// The larger of two magnitudes; NaN once either is.
static inline __attribute__((always_inline)) double larger(double total, double d) {
  return d > total || d != d ? d : total;
}

template <ReductionOp op>
static inline __attribute__((always_inline)) double accumulate(double total, double d) {
  if constexpr (op == ReductionOp::max_abs) return larger(total, magnitude(d));
  if constexpr (op == ReductionOp::sum_abs) return total + magnitude(d);
  if constexpr (op == ReductionOp::sum_squares) return total + d * d;
  return total + d;
}

template <ReductionOp op>
static inline __attribute__((always_inline)) double combine(double a, double b) {
  if constexpr (op == ReductionOp::max_abs) return larger(a, b);
  return a + b;
}

// For tests: kernels with the choices that depend on this machine's caches as arguments. `store`: the kind of
// store; `tile_bytes`: the memory for the queues of a tile and the planes of `in` that it reads.
template <class Isa, class T>
void sweep_openmp(const SweepArgs<T>& args, SweepPlan plan, Store store);
template <class Isa, class T>
void sweep_temporal_openmp(const SweepArgs<T>& args, SweepPlan plan, Store store, std::size_t tile_bytes);

}  // namespace isotherm::host
