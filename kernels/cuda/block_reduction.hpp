// The host's side of the rungs whose blocks each leave one value: cells dealt to blocks by number, grids, the
// second stage. What the rungs differ in, how a block joins its values, stands in their own files. For .cu
// files only.
#pragma once

#include "kernels/cuda/grids.hpp"
#include "kernels/cuda/join.hpp"
#include "kernels/cuda/part_of_cell.hpp"
#include "kernels/cuda/resources.hpp"
#include "kernels/cuda/rows.hpp"

namespace isotherm::cuda {

// A kernel of block i reduces cells first + i * cells_a_block and on into partials[i]. Rung::kernel<T, op>()
// is that kernel, (PartOfCell<T, op> part_of_cell, Index cells, Index first, double* partials);
// Rung::threads its block, Rung::cells_a_block what it reduces.
template <class Rung>
Index partial_count(Box region) {
  return ceil_div(region.cells(), Rung::cells_a_block);
}

template <class Rung, class T>
void reduce_by_blocks(const ReductionArgs<T>& args, Stream stream) {
  double* partials = static_cast<double*>(args.scratch);
  with_operation(args.op, [&]<ReductionOp op>() {
    const PartOfCell<T, op> part_of_cell(args);
    const Index count = partial_count<Rung>(args.region);
    for_grids(count, [&](unsigned blocks, Index first) {
      launch(Rung::name, Rung::template kernel<T, op>(), {blocks, Rung::threads}, stream, part_of_cell,
             args.region.cells(), first * Rung::cells_a_block, partials + first);
    });
    join_partials<op>(partials, count, args.result, stream);
  });
}

template <class Rung, class T>
void complete(ReductionKernel<T>& row) {
  row.launch = reduce_by_blocks<Rung, T>;
  row.scratch_bytes = [](Box region) { return partials_bytes(partial_count<Rung>(region)); };
  row.resources = [] {
    return resources_of(Rung::template kernel<T, ReductionOp::sum_squares>(), Rung::threads);
  };
}

}  // namespace isotherm::cuda
