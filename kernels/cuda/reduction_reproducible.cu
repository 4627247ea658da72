// Reduction row `reproducible`: sums without any rounding but the last one.
//
// Algebra   r = sum over the cells of the region of part(a - b), part in fp64, the sum exact and rounded
// once:
//           a LongAccumulator, whose integer digits add in any order. Bits and digits are those of the host
//           row of that name, for any blocks, ranks and GPUs. 0 over no cells. The maximum is not rounded,
//           and is left to warp_shuffle.
// Mapping   cells to lanes as in warp_shuffle (row_segments.hpp). Adding to the long accumulator at once
// would
//           be some three atomic operations a cell. Instead a lane keeps an expansion: four doubles, each
//           what was rounded away from the one before it. A value is added to the first, the exact error of
//           that addition (two_sum) to the second, and so on until nothing is left, mostly after two steps;
//           what the fourth cannot hold goes to the block's accumulator. Five rounds of shuffles add the 32
//           expansions up, exactly, and one lane a warp adds four doubles to the accumulator. Blocks add
//           their digits to those of the grid, and a last kernel rounds. (S. Collange, D. Defour, S.
//           Graillat, R. Iakymchuk, Parallel Computing 49 (2015); two_sum: D. E. Knuth, The Art of Computer
//           Programming, volume 2, section 4.2.2.)
// Lives in  registers: four doubles. Shared memory: the block's digits, 560 bytes.
// Traffic   each field once; 560 bytes a block to the same lines of L2.
// Slower    than warp_shuffle by its arithmetic: 12 to 14 additions a cell instead of one. At two fields of
//           fp64 that hides behind memory on a GPU with full fp64 rate, at one of fp32 it may not; on a
//           consumer GPU, with 1/64 of the rate, it does not.
#include "kernels/cuda/join.hpp"
#include "kernels/cuda/resources.hpp"
#include "kernels/cuda/row_segments.hpp"
#include "kernels/cuda/rows.hpp"

namespace isotherm::cuda {
namespace {

struct Policy {
  static constexpr int threads = 256;
  static constexpr int warps = threads / warp_size;
  static constexpr Index most_blocks = 2048;
};

Index block_count(Box region) {
  return std::min(ceil_div(RowSegments::of(region).count, Policy::warps), Policy::most_blocks);
}

// A normalised digit takes 32 bits of 64, and at most 2048 blocks add one each. Within a block 2^30 additions
// are allowed before digits are normalised, so this row sums at least 2^41 cells.
__device__ __forceinline__ void add_word(std::int64_t* to, std::int64_t by) {
  if (by == 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(by));
}
// Out of line, as the carries below: seldom called, and not worth registers of the loop over cells.
__device__ __attribute__((noinline)) void add_value(LongAccumulator& sum, double value) {
  const LongAccumulator::Addend addend = LongAccumulator::addend_of(value);
#pragma unroll
  for (int i = 0; i < 3; ++i) add_word(&sum.word[addend.first + i], addend.by[i]);
}

__device__ __attribute__((noinline)) void normalise(LongAccumulator& sum) {
  sum.normalise();
}

// a + b = sum + error, exactly, where nothing overflows.
struct TwoSum {
  double sum, error;
};
__device__ __forceinline__ TwoSum two_sum(double a, double b) {
  const double sum = a + b;
  const double of_b = sum - a, of_a = sum - of_b;
  return {sum, (a - of_a) + (b - of_b)};
}

// The exact sum of a few doubles that do not overlap much.
struct Expansion {
  static constexpr int terms = 4;
  double term[terms] = {};

  // Adds a value, up to a rest, returned, for which there is no place. Values too large, which could overflow
  // (2^64 of the others cannot), and what is no number, are returned as they are.
  __device__ __forceinline__ double add(double value) {
    constexpr double too_large = 0x1p950;
    if (!(fabs(value) < too_large)) return value;
#pragma unroll
    for (int i = 0; i < terms; ++i) {
      const TwoSum next = two_sum(term[i], value);
      term[i] = next.sum;
      value = next.error;
      if (value == 0) break;
    }
    return value;
  }
};

// Lane 0's expansion becomes that of all 32 lanes; rests go to `sum`.
__device__ __forceinline__ void add_lanes(Expansion& mine, LongAccumulator& sum) {
  const int lane = threadIdx.x % warp_size;
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2) {
    double theirs[Expansion::terms];
#pragma unroll
    for (int i = 0; i < Expansion::terms; ++i) {
      theirs[i] = __shfl_down_sync(0xffffffffu, mine.term[i], lanes);
    }
    if (lane >= lanes) continue;  // what it was sent is counted elsewhere
#pragma unroll
    for (int i = 0; i < Expansion::terms; ++i) {
      if (const double rest = mine.add(theirs[i]); rest != 0) add_value(sum, rest);
    }
  }
}

__global__ void __launch_bounds__(LongAccumulator::words) clear(LongAccumulator* sum) {
  sum->word[threadIdx.x] = 0;
}

template <class T, ReductionOp op>
__global__ void __launch_bounds__(Policy::threads)
    add_cells(FieldView<const T> a, FieldView<const T> b, Box region, LongAccumulator* sum) {
  static_assert(Policy::threads >= LongAccumulator::words);
  __shared__ LongAccumulator of_block;
  const int me = threadIdx.x;
  if (me < LongAccumulator::words) of_block.word[me] = 0;
  __syncthreads();

  Expansion mine;
  visit_cells<Policy::threads>(a, b, region, [&](double d) {
    if (const double rest = mine.add(part<op>(d)); rest != 0) add_value(of_block, rest);  // a NaN, too
  });
  add_lanes(mine, of_block);
  if (me % warp_size == 0) {
    for (double term : mine.term) add_value(of_block, term);
  }
  __syncthreads();
  if (me == 0) normalise(of_block);
  __syncthreads();
  if (me < LongAccumulator::words) add_word(&sum->word[me], of_block.word[me]);
}

// Words are fetched side by side; the carries, and the rounding, are one thread's.
__global__ void __launch_bounds__(LongAccumulator::words)
    round(const LongAccumulator* sum, double* result, LongAccumulator* unrounded) {
  __shared__ LongAccumulator total;
  const int me = threadIdx.x;
  total.word[me] = sum->word[me];
  __syncthreads();
  if (me == 0) {
    total.normalise();
    *result = total.rounded();
  }
  __syncthreads();
  if (unrounded) unrounded->word[me] = total.word[me];
}

template <class T>
ReductionKernel<T> usual() {
  ReductionKernel<T> row{};
  reduction_warp_shuffle(row);
  return row;
}

template <class T>
void reduce(const ReductionArgs<T>& args, Stream stream) {
  if (args.op == ReductionOp::max_abs) return usual<T>().launch(args, stream);
  const Index blocks = block_count(args.region);
  auto* const sum = static_cast<LongAccumulator*>(args.scratch);
  launch("reproducible: clear", clear, {1, LongAccumulator::words}, stream, sum);
  with_operation(args.op, [&]<ReductionOp op>() {
    if constexpr (op != ReductionOp::max_abs) {
      if (blocks == 0) return;
      launch("reproducible: add_cells", add_cells<T, op>, {static_cast<unsigned>(blocks), Policy::threads},
             stream, args.a, args.b, args.region, sum);
    }
  });
  launch("reproducible: round", round, {1, LongAccumulator::words}, stream, sum, args.result, args.unrounded);
}

}  // namespace

template <class T>
void reduction_reproducible(ReductionKernel<T>& row) {
  row.launch = reduce<T>;
  row.scratch_bytes = [](Box region) {
    return std::max(sizeof(LongAccumulator), usual<T>().scratch_bytes(region));
  };
  row.resources = [] { return resources_of(add_cells<T, ReductionOp::sum_squares>, Policy::threads); };
  row.sum_bits = SumBits::exact;
}

template void reduction_reproducible(ReductionKernel<float>&);
template void reduction_reproducible(ReductionKernel<double>&);

}  // namespace isotherm::cuda
