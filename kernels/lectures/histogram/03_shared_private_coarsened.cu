// Histogram kernel `shared_private_coarsened`: private counts, and so many cells per thread that clearing and
// adding them up costs little (coarsening and aggregation; Hwu, Kirk, El Hajj, Programming Massively Parallel
// Processors, 4th edition, chapter 9).
//
// Algebra   as in global_atomic.
// Mapping   segments of rows to warps, as in the reduction warp_shuffle (cells.hpp). The number of blocks is
//           a few times what a GPU holds at once.
// Storage   shared memory: 32-bit counts of one block, 16 KB. Registers: the slot of the lane's last cell,
//           and the number of consecutive cells in that slot. Temperatures are smooth, so most cells are
//           counted in a register, and few need an atomic addition to shared memory.
// Traffic   one read of 4 (8) bytes per cell; the counts of at most 1024 blocks are negligible.
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

constexpr Index most_blocks = 1024;

// Consecutive equal slots, counted in registers and written where the slot changes.
struct Run {
  int slot;
  unsigned length;

  __device__ __forceinline__ void add(int next, unsigned* own) {
    if (next != slot) {
      write(own);
      slot = next;
      length = 0;
    }
    ++length;
  }
  __device__ __forceinline__ void write(unsigned* own) const {
    if (length != 0) atomicAdd(&own[slot], length);
  }
};

template <class T>
__global__ void __launch_bounds__(block_threads)
    count_coarsened(FieldView<const T> field, Box region, Bins bins, Count* counts) {
  __shared__ unsigned own[most_slots];
  clear_block<block_threads>(own, bins.slots());
  Run run{0, 0};
  visit_cells<block_threads>(field, FieldView<const T>(), region,
                             [&](double value) { run.add(bins.slot(value), own); });
  run.write(own);
  add_block<block_threads>(own, bins.slots(), counts);
}

template <class T>
void count(const HistogramArgs<T>& args, Stream stream) {
  Count* const counts = cleared(args.counts, args.bins, stream);
  if (args.region.empty()) return;
  const Index blocks = RowSegments::blocks(args.region, block_threads, most_blocks);
  count_coarsened<T><<<static_cast<unsigned>(blocks), block_threads, 0, native(stream)>>>(
      args.field, args.region, args.bins, counts);
  check_launch("shared_private_coarsened: count_coarsened");
}

}  // namespace

template <class T>
void histogram_shared_private_coarsened(HistogramKernel<T>& kernel) {
  kernel.launch = count<T>;
  kernel.resources = [] { return resources_of(count_coarsened<T>, block_threads); };
}

ISOTHERM_BOTH_PRECISIONS(histogram_shared_private_coarsened, HistogramKernel);

}  // namespace isotherm::cuda
