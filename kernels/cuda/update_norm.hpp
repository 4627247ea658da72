// The norm of an update while its values are in registers: each thread sums its cells, a block leaves one
// partial result, and a last kernel of one block joins these in order: the same bits in every run. For .cu
// files only.
#pragma once

#include "kernels/cuda/join.hpp"
#include "kernels/stencil.hpp"

namespace isotherm::cuda {

// The operation is the same for the whole grid, so its branches do not diverge; a template argument would
// compile every sweep once more for each.
struct JoinUpdates {
  ReductionOp op;
  __device__ __forceinline__ double operator()(double a, double b) const {
    return op == ReductionOp::max_abs ? Join<ReductionOp::max_abs>{}(a, b) : a + b;
  }
};

// What a thread sums. `on` false compiles to nothing.
template <bool on>
class UpdateSum {
 public:
  __device__ __forceinline__ explicit UpdateSum(ReductionOp op) : op_(op) {}

  template <class T>
  __device__ __forceinline__ void add(T value, T centre) {
    if constexpr (on) {
      const double d = difference(&value, &centre);
      const double part = op_ == ReductionOp::sum ? d : op_ == ReductionOp::sum_squares ? d * d : fabs(d);
      total_ = JoinUpdates{op_}(total_, part);
    }
  }
  // All threads of the block, once.
  template <int threads>
  __device__ __forceinline__ void leave(double* partials) {
    if constexpr (on) {
      const double joined = join_block<threads>(total_, JoinUpdates{op_});
      if (threadIdx.x == 0) partials[blockIdx.x] = joined;
    }
  }

 private:
  ReductionOp op_;
  double total_ = 0;
};

// Joins the partial results of `blocks` blocks in norm.scratch into norm.result; nothing without a result.
void finish_norm(const UpdateNorm& norm, unsigned blocks, Stream stream);

}  // namespace isotherm::cuda
