// The host's side of the reductions whose blocks, so many at the most, share all cells and leave one value
// each. How threads come by their cells and how a block joins them stands in the rows' own files. For .cu
// files only.
//
// A row is a struct with `threads` of a block, blocks(Box region), kernel<T, op>() for its resources, and
// join<op>(unsigned blocks, args, double* partials, stream), which launches that kernel: block i leaves the
// join of its cells in partials[i].
#pragma once

#include "kernels/cuda/join.hpp"
#include "kernels/cuda/resources.hpp"
#include "kernels/cuda/rows.hpp"

namespace isotherm::cuda {

template <class Row, class T>
void reduce_by_grid(const ReductionArgs<T>& args, Stream stream) {
  const Index blocks = Row::blocks(args.region);
  double* partials = static_cast<double*>(args.scratch);
  with_operation(args.op, [&]<ReductionOp op>() {
    if (blocks > 0) Row::template join<op>(static_cast<unsigned>(blocks), args, partials, stream);
    join_partials<op>(partials, blocks, args.result, stream);
  });
}

template <class Row, class T>
void complete_by_grid(ReductionKernel<T>& row) {
  row.launch = reduce_by_grid<Row, T>;
  row.scratch_bytes = [](Box region) { return partials_bytes(Row::blocks(region)); };
  row.resources = [] {
    return resources_of(Row::template kernel<T, ReductionOp::sum_squares>(), Row::threads);
  };
}

}  // namespace isotherm::cuda
