// Reduction kernel `cub`: the device-wide reduction of the library CUB. Prefer it where it fits.
//
// Algebra   as in warp_shuffle.
// Mapping   CUB reduces a sequence: here the numbers 0, 1, 2, ... of the region's cells, x fastest, which a
//           transform turns into the cells' parts of the result. Neighbouring threads get neighbouring
//           numbers, so reads are coalesced within a row. CUB chooses blocks, items per thread and its second
//           pass, and launches its kernels itself, so no <<<>>> is here; for one kind of GPU the order is
//           fixed, and so are the bits.
// Storage   registers: some sixteen cells per thread; shared memory: one value per warp.
// Traffic   each field once, as in warp_shuffle, but a cell's number must be converted to indices: two
//           divisions by multiplication (grids.hpp) per cell; warp_shuffle has two real ones per segment.
//           CUB's 16-byte loads need a plain array, and rows with ghosts between them are not one.
#include <thrust/iterator/counting_iterator.h>

#include <cub/device/device_reduce.cuh>

#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

// CUB needs one value for each of five times the blocks that fit on the GPU: 42 KB on an H200. This is enough
// for 800 multiprocessors with 32 blocks each; the launch asks CUB for the true figure.
constexpr std::size_t scratch = std::size_t{1} << 20;

template <class T>
void reduce(const ReductionArgs<T>& args, Stream stream) {
  const Index cells = args.region.cells();
  with_operation(args.op, [&]<ReductionOp op>() {
    const CellTerm<T, op> cell_term(args);
    const auto call = [&](void* memory, std::size_t& bytes) {
      check(
          cub::DeviceReduce::TransformReduce(memory, bytes, thrust::counting_iterator<Index>(0), args.result,
                                             cells, Combine<op>{}, cell_term, 0.0, native(stream)),
          "cub::DeviceReduce::TransformReduce");
    };
    std::size_t needed = 0;
    call(nullptr, needed);  // only asks for the size
    if (needed > scratch) {
      throw Error(ExitCode::internal, "reduction cub has " + std::to_string(scratch) +
                                          " bytes of scratch memory (this GPU needs " +
                                          std::to_string(needed) + "); use solver.reduction warp_shuffle");
    }
    call(args.scratch, needed);
  });
}

}  // namespace

template <class T>
void reduction_cub(ReductionKernel<T>& kernel) {
  kernel.launch = reduce<T>;
  kernel.scratch_bytes = [](Box) { return scratch; };  // enough for any device
  // No kernel.resources: the library chooses its kernels and their number.
}

ISOTHERM_BOTH_PRECISIONS(reduction_cub, ReductionKernel);

}  // namespace isotherm::cuda
