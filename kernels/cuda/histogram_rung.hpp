// The histogram rungs of one thread a cell: their block, their launch. What they differ in, where a cell is
// counted, stands in their own files. For .cu files only.
//
// A rung is a struct with `name` and kernel<T>(), whose kernel takes (FieldView<const T> field, Int3 first,
// Int3 hi, Bins bins, Count* counts).
#pragma once

#include "kernels/cuda/histogram_cells.hpp"
#include "kernels/cuda/resources.hpp"
#include "kernels/cuda/rows.hpp"

namespace isotherm::cuda {

// Full whatever the box: a block's threads may have more to share than its cells.
struct CountingBlock {
  static constexpr int x = 32, y = 8, z = 1;
  static constexpr int threads = x * y * z;
};

template <class Rung, class T>
void count_by_cell(const HistogramArgs<T>& args, Stream stream) {
  Count* const counts = cleared(args.counts, args.bins, stream);
  const dim3 block(CountingBlock::x, CountingBlock::y, CountingBlock::z);
  cover(args.region, block, [&](dim3 grid, Int3 first) {
    launch(Rung::name, Rung::template kernel<T>(), {grid, block}, stream, args.field, first, args.region.hi,
           args.bins, counts);
  });
}

template <class Rung, class T>
void complete(HistogramKernel<T>& row) {
  row.launch = count_by_cell<Rung, T>;
  row.resources = [] { return resources_of(Rung::template kernel<T>(), CountingBlock::threads); };
}

}  // namespace isotherm::cuda
