// What a reduction row is: one number out of one or two fields.
#pragma once

#include <span>
#include <string_view>

#include "core/device.hpp"
#include "core/field_view.hpp"
#include "kernels/kernel_resources.hpp"

namespace isotherm {

enum class ReductionOp {
  sum,          // sum of d
  max_abs,      // max |d|; 0 over no cells; NaN if any d is NaN
  sum_abs,      // sum of |d|
  sum_squares,  // sum of d d
};

// d is a - b in fp64 of each cell of `region`, or a where b is empty. All sums are accumulated in fp64.
template <class T>
struct ReductionArgs {
  FieldView<const T> a;
  FieldView<const T> b;
  Box region;  // interior indices
  ReductionOp op;
  double* result;  // one value in this device's memory, written in stream order
  void* scratch;   // scratch_bytes(region) of this device's memory
};

template <class T>
struct ReductionKernel {
  std::string_view name;
  Backend backend;
  std::string_view remark;
  void (*launch)(const ReductionArgs<T>& args, Stream stream) = nullptr;  // null: not in this build
  std::size_t (*scratch_bytes)(Box region) = nullptr;
  KernelResources (*resources)() = nullptr;  // of the pass over the cells; null on the host
};

template <class T>
std::span<const ReductionKernel<T>> reduction_kernels();

}  // namespace isotherm
