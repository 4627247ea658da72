// Reduction kernel `reproducible`: sums that are rounded only once, at the end.
//
// Lecture   lectures/reduction/10_warp_shuffle.cu has the walk along rows.
// Algebra   r = sum over the cells of the region of part(a - b), part in fp64, the sum exact and rounded
//           once: a LongAccumulator, whose integer digits add in any order. Bits and digits equal those of
//           the host kernel of that name, for any blocks, ranks and GPUs. r = 0 for no cells. A maximum is
//           never rounded: warp_shuffle computes it.
// Mapping   cells to lanes as in warp_shuffle (cells.hpp), from there to the sum as in long_sum.hpp.
// Storage   registers: four doubles. Shared memory: the block's digits, 560 bytes.
// Traffic   each field once; 560 bytes per block to the same lines of L2.
// Slower    than warp_shuffle by its arithmetic: 12 to 14 additions per cell instead of one. On a GPU with
//           full fp64 rate, memory traffic hides the additions for two fp64 fields, but perhaps not for one
//           fp32 field. On a consumer GPU, with 1/64 of the rate, it does not hide them.
#include "kernels/cuda/cells.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/long_sum.hpp"

namespace isotherm::cuda {

// Defined in lectures/reduction/10_warp_shuffle.cu.
template <class T>
void reduction_warp_shuffle(ReductionKernel<T>& kernel);

namespace {

constexpr int threads = 256;
constexpr Index most_blocks = 2048;

template <class T, ReductionOp op>
__global__ void __launch_bounds__(threads)
    add_cells(FieldView<const T> a, FieldView<const T> b, Box region, LongAccumulator* sum) {
  add_block<threads>(
      sum, [&](auto add) { visit_cells<threads>(a, b, region, [&](double d) { add(part<op>(d)); }); });
}

template <class T>
ReductionKernel<T> usual() {
  ReductionKernel<T> kernel{};
  reduction_warp_shuffle(kernel);
  return kernel;
}

template <class T>
void reduce(const ReductionArgs<T>& args, Stream stream) {
  if (args.op == ReductionOp::max_abs) return usual<T>().launch(args, stream);
  const Index blocks = RowSegments::blocks(args.region, threads, most_blocks);
  auto* const sum = static_cast<LongAccumulator*>(args.scratch);
  const auto launch_add = [&] {
    if (blocks == 0) return;
    with_operation(args.op, [&]<ReductionOp op>() {
      if constexpr (op != ReductionOp::max_abs) {
        launch("reproducible: add_cells", add_cells<T, op>, {static_cast<unsigned>(blocks), threads}, stream,
               args.a, args.b, args.region, sum);
      }
    });
  };
  sum_exactly(sum, launch_add, args.result, args.unrounded, stream);
}

}  // namespace

template <class T>
void reduction_reproducible(ReductionKernel<T>& kernel) {
  kernel.launch = reduce<T>;
  kernel.scratch_bytes = [](Box region) {
    return std::max(sizeof(LongAccumulator), usual<T>().scratch_bytes(region));
  };
  kernel.resources = [] { return resources_of(add_cells<T, ReductionOp::sum_squares>, threads); };
  kernel.sum_bits = SumBits::exact;
}

ISOTHERM_BOTH_PRECISIONS(reduction_reproducible, ReductionKernel);

}  // namespace isotherm::cuda
