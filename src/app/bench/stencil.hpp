// `isotherm bench stencil`: every kernel, tile and time block on a block of random numbers. A kernel is
// compared with the reference cell by cell before it is timed.
#pragma once

#include <optional>
#include <string>

#include "app/bench/bench.hpp"
#include "app/bench/reference.hpp"
#include "grid/field.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// The fields of one grid and one time block, and what must come out.
template <class T>
class SweepBench {
 public:
  // `norm`: of the update, which the kernels return.
  SweepBench(const Bench& bench, Int3 cells, int time_block, std::optional<ReductionOp> norm);
  BenchEntry measure(const StencilKernel<T>& kernel, int tile, CopyProbes probes);
  // As a kernel of the reductions: what the norm adds to a sweep.
  BenchEntry measure_norm(const StencilKernel<T>& kernel, int tile, CopyProbes probes);

 private:
  struct First {
    std::string wrong;  // empty, or what is
    double norm;
  };
  // Where a kernel leaves its norm.
  struct NormMemory {
    Buffer result, scratch;
    UpdateNorm norm;
  };

  void start_anew(Field<T>& field);
  NormMemory norm_memory(const StencilKernel<T>& kernel, int tile);
  First first_sweep(const StencilKernel<T>& kernel, int tile, const UpdateNorm& norm);
  SweepArgs<T> args(Field<T>& in, Field<T>& out, const UpdateNorm& norm);
  void queue(const StencilKernel<T>& kernel, int tile, SweepArgs<T> args);
  void queue_next(const StencilKernel<T>& kernel, int tile, const UpdateNorm& norm);

  const Bench& bench_;
  const Int3 cells_;
  const int time_block_;
  const std::optional<ReductionOp> norm_;
  Boundaries<T> boundaries_;
  Field<T> in_, out_;
  std::optional<Field<T>> source_;
  std::optional<Field<T>> mirror_;  // a GPU's field in host memory
  Field<T> expected_;               // in host memory
  ExactReduction expected_norm_;
  bool forth_ = true;  // the next sweep goes from in_ to out_
};

}  // namespace isotherm
