// Sums fp64 values over the threads of a grid without rounding, for the kernel `reproducible` and the field
// reductions. For .cu files only.
//
// Instead of three atomic operations per value, a lane keeps an expansion: four doubles, each the rounding
// error of the one before it. A value is added to the first, the exact error of that addition to the second,
// and so on until the error is zero, mostly after two steps. A remainder after the fourth one is added to
// the block's accumulator. Five rounds of shuffles add the 32 expansions up, exactly, and one lane per warp
// adds four doubles to the accumulator. Blocks add their digits to those of the grid, and a last kernel
// carries and rounds. (S. Collange, D. Defour, S. Graillat, R. Iakymchuk, Parallel Computing 49 (2015);
// exact_sum(): D. E. Knuth, TAOCP 2, section 4.2.2.)
#pragma once

#include <cmath>

#include "kernels/cuda/launch.hpp"
#include "kernels/long_accumulator.hpp"
#include "kernels/math/pair.hpp"

namespace isotherm::cuda {

// A normalised digit takes 32 bits of 64, and the blocks of a grid, at most some thousands, add one each.
// Within a block 2^30 additions are allowed before digits are normalised: 2^30 values per block at least.
__device__ __forceinline__ void add_word(std::int64_t* to, std::int64_t by) {
  if (by == 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(by));
}
// Not inlined, like normalise() below: rarely called, and inlined it takes registers of the loop over values.
static __device__ __attribute__((noinline)) void add_value(LongAccumulator& sum, double value) {
  const LongAccumulator::Addend addend = LongAccumulator::addend_of(value);
#pragma unroll
  for (int i = 0; i < 3; ++i) add_word(&sum.word[addend.first + i], addend.by[i]);
}

static __device__ __attribute__((noinline)) void normalise(LongAccumulator& sum) { sum.normalise(); }

// The exact sum of a few doubles that do not overlap much.
struct Expansion {
  static constexpr int terms = 4;
  double term[terms] = {};

  // Adds a value and returns the rest that the expansion cannot hold. Values too large, which could overflow
  // (2^64 of the others cannot), infinities and NaNs are returned unchanged.
  __device__ __forceinline__ double add(double value) {
    constexpr double too_large = 0x1p950;
    if (!(fabs(value) < too_large)) return value;
#pragma unroll
    for (int i = 0; i < terms; ++i) {
      const math::Pair sum = math::exact_sum(term[i], value);
      term[i] = sum.high;
      value = sum.low;
      if (value == 0) break;
    }
    return value;
  }
};

// Lane 0's expansion becomes that of all 32 lanes; rests are added to `sum`.
__device__ __forceinline__ void add_lanes(Expansion& mine, LongAccumulator& sum) {
  const int lane = threadIdx.x % warp_size;
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2) {
    double theirs[Expansion::terms];
#pragma unroll
    for (int i = 0; i < Expansion::terms; ++i) {
      theirs[i] = __shfl_down_sync(0xffffffffu, mine.term[i], lanes);
    }
    if (lane >= lanes) continue;  // other lanes count these values
#pragma unroll
    for (int i = 0; i < Expansion::terms; ++i) {
      if (const double rest = mine.add(theirs[i]); rest != 0) add_value(sum, rest);
    }
  }
}

// Adds the values of this block's threads to sum[0], sum[1], ...: each thread calls visit(add), which calls
// add(value) for its values, or add(value, which) of several sums. Call once per kernel, by all threads.
template <int threads, int sums = 1, class Visit>
__device__ __forceinline__ void add_block(LongAccumulator* sum, Visit visit) {
  static_assert(threads >= LongAccumulator::words && threads % warp_size == 0);
  __shared__ LongAccumulator of_block[sums];
  const int me = threadIdx.x;
#pragma unroll
  for (int i = 0; i < sums; ++i) {
    if (me < LongAccumulator::words) of_block[i].word[me] = 0;
  }
  __syncthreads();

  Expansion mine[sums];
  visit([&](double value, int which = 0) {
    if (const double rest = mine[which].add(value); rest != 0)
      add_value(of_block[which], rest);  // a NaN, too
  });
#pragma unroll
  for (int i = 0; i < sums; ++i) {
    add_lanes(mine[i], of_block[i]);
    if (me % warp_size == 0) {
      for (double term : mine[i].term) add_value(of_block[i], term);
    }
  }
  __syncthreads();
  if (me < sums) normalise(of_block[me]);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < sums; ++i) {
    if (me < LongAccumulator::words) add_word(&sum[i].word[me], of_block[i].word[me]);
  }
}

static __global__ void __launch_bounds__(LongAccumulator::words) clear_sum(LongAccumulator* sum) {
  sum[blockIdx.x].word[threadIdx.x] = 0;
}

// A block for each sum. Each thread loads one word; one thread carries and rounds. Either result may be null,
// and `unrounded` may be `sum`.
static __global__ void __launch_bounds__(LongAccumulator::words)
    finish_sum(const LongAccumulator* sum, double* rounded, LongAccumulator* unrounded) {
  __shared__ LongAccumulator total;
  const int me = threadIdx.x;
  total.word[me] = sum[blockIdx.x].word[me];
  __syncthreads();
  if (me == 0) {
    total.normalise();
    if (rounded) rounded[blockIdx.x] = total.rounded();
  }
  __syncthreads();
  if (unrounded) unrounded[blockIdx.x].word[me] = total.word[me];
}

// Sets the sums to zero, calls launch_add(), which launches the kernels that add to them, if any, and stores
// the results as finish_sum does.
template <class LaunchAdd>
void sum_exactly(LongAccumulator* sum, LaunchAdd launch_add, double* rounded, LongAccumulator* unrounded,
                 Stream stream, unsigned sums = 1) {
  launch("clear_sum", clear_sum, {sums, LongAccumulator::words}, stream, sum);
  launch_add();
  launch("finish_sum", finish_sum, {sums, LongAccumulator::words}, stream, sum, rounded, unrounded);
}

}  // namespace isotherm::cuda
