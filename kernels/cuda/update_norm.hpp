// The norm of an update while its values are in registers: each thread sums its cells, a block leaves one
// partial result, and a last kernel of one block joins these in order: the same bits in every run. For .cu
// files only.
#pragma once

#include "kernels/cuda/join.hpp"
#include "kernels/cuda/pack.hpp"
#include "kernels/stencil.hpp"
#include "kernels/stencil_update.hpp"

namespace isotherm::cuda {

// What a sweep without a norm sums.
struct NoNorm {
  template <class T>
  __device__ __forceinline__ void add(T, T, int = 0) {}
  template <int threads>
  __device__ __forceinline__ void leave(double*) {}
};

// What a thread sums. A kernel takes it as a template argument: an operation chosen while it runs would cost
// more instructions a cell than the update.
template <ReductionOp op>
class UpdateSum {
 public:
  // Cells of a pack are summed apart: each addition waits for the one before it, some 16 cycles in fp64.
  template <class T>
  __device__ __forceinline__ void add(T value, T centre, int cell_of_pack = 0) {
    double& total = totals_[cell_of_pack];
    const double d = difference(&value, &centre);
    if constexpr (op == ReductionOp::sum_squares) {
      total = fused_multiply_add(d, d, total);
    } else {
      total = Join<op>{}(total, part<op>(d));
    }
  }
  // All threads of the block, once.
  template <int threads>
  __device__ __forceinline__ void leave(double* partials) {
    double total = totals_[0];
#pragma unroll
    for (int i = 1; i < most_cells; ++i) total = Join<op>{}(total, totals_[i]);
    const double joined = join_block<threads>(total, Join<op>{});
    if (threadIdx.x == 0) partials[blockIdx.x] = joined;
  }

 private:
  static constexpr int most_cells = Pack<float>::cells;
  double totals_[most_cells] = {};
};

// Calls body.operator()<Norm>(): NoNorm, or the sum of the operation asked for.
template <class Body>
void with_norm(const UpdateNorm& norm, Body body) {
  if (!norm.result) return body.template operator()<NoNorm>();
  with_operation(norm.op, [&]<ReductionOp op>() { body.template operator()<UpdateSum<op>>(); });
}

// Joins the partial results of `blocks` blocks in norm.scratch into norm.result; nothing without a result.
void finish_norm(const UpdateNorm& norm, unsigned blocks, Stream stream);

}  // namespace isotherm::cuda
