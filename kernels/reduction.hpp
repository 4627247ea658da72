// The interface of reduction kernels: one number from one or two fields.
#pragma once

#include <span>
#include <string_view>

#include "core/enum_words.hpp"
#include "core/field_view.hpp"
#include "core/stream.hpp"
#include "kernels/host_info.hpp"
#include "kernels/long_accumulator.hpp"

namespace isotherm {

// Resources of a CUDA kernel on a multiprocessor of the current device, from the compiled kernel and the
// occupancy calculator of the CUDA runtime; nothing is estimated here.
struct KernelResources {
  int threads = 0;               // of a thread block
  int registers = 0;             // of a thread
  std::size_t shared_bytes = 0;  // of a thread block, static and dynamic
  std::size_t local_bytes = 0;   // of a thread: spilled registers and local arrays
  int blocks = 0;                // resident on a multiprocessor
  double occupancy = 0;          // resident warps over the most that a multiprocessor holds, 0 to 1
};

// Why a kernel is in the registry: a lecture shows one idea in a short file of its own; a production kernel
// is written for speed.
enum class Purpose { lecture, production };
ISOTHERM_WORDS(Purpose, "lecture", "production");

// The common part of all entries of the registry.
struct KernelEntry {
  std::string_view name;  // keyword in decks, reports and tests
  Backend backend;
  std::string_view description;
  Purpose purpose = Purpose::lecture;
  bool is_candidate = true;  // whether `auto` may take it
};

enum class ReductionOp {
  sum,          // sum of d
  max_abs,      // max |d|; 0 over no cells; NaN if any d is NaN
  sum_abs,      // sum of |d|
  sum_squares,  // sum of d d
};

// Calls body.operator()<op>(): turns `op`, of a norm in the first function, into a template argument.
template <class Body>
static inline auto with_norm_operation(ReductionOp op, const Body& body) {
  if (op == ReductionOp::max_abs) return body.template operator()<ReductionOp::max_abs>();
  if (op == ReductionOp::sum_abs) return body.template operator()<ReductionOp::sum_abs>();
  return body.template operator()<ReductionOp::sum_squares>();
}
template <class Body>
static inline auto with_operation(ReductionOp op, const Body& body) {
  if (op == ReductionOp::sum) return body.template operator()<ReductionOp::sum>();
  return with_norm_operation(op, body);
}

// When two sums of the same numbers have the same bits. (The maximum is not rounded and always has.)
enum class SumBits {
  vary,    // from run to run: atomics add in the order in which they arrive
  repeat,  // for the same region on the same device
  exact,   // in any order, for any split of the cells: the kernel sums in a LongAccumulator
};

// d is a - b in fp64 of each cell of `region`, or a where b is empty. Each addend (d, |d| or d d) is rounded
// to fp64 once. Sums are accumulated in fp64 or exactly.
template <class T>
struct ReductionArgs {
  FieldView<const T> a;
  FieldView<const T> b;
  Box region;  // interior indices
  ReductionOp op;
  double* result;  // one value in this device's memory, written in stream order
  void* scratch;   // scratch_bytes(region) of this device's memory
  // Kernels with exact sums also store the normalised sum, before it is rounded, here in this device's
  // memory, to be combined with those of other ranks. Null: they do not. Not for the maximum.
  LongAccumulator* unrounded = nullptr;
};

template <class T>
struct ReductionKernel : KernelEntry {
  void (*launch)(const ReductionArgs<T>& args, Stream stream) = nullptr;  // null: not in this build
  std::size_t (*scratch_bytes)(Box region) = nullptr;
  KernelResources (*resources)() = nullptr;  // of the pass over the cells; null for host and library kernels
  SumBits sum_bits = SumBits::repeat;
  bool fused = false;  // no launch: the sweep returns the norm (StencilKernel::fuses_norm)

  bool available() const { return launch != nullptr || fused; }
};

// The kernels of the registry, those of the host compiled for `set`, which this processor must support.
template <class T>
std::span<const ReductionKernel<T>> reduction_kernels(InstructionSet set = instruction_set());

// The backend's kernel with exact sums: `reproducible`. Throws Error(unavailable) as FaceCopy::on().
template <class T>
const ReductionKernel<T>& exact_reduction(Backend backend);

}  // namespace isotherm
