// What a fused sweep may have beside boundaries of one value a face beside its tiles: a kernel for each lot
// of them. For .cu files only.
#pragma once

#include "kernels/cuda/join.hpp"
#include "kernels/cuda/temporal_boundaries.hpp"

namespace isotherm::cuda {

// `any_boundaries`: boundaries anywhere in a tile, with b of every cell; regions that end within a pack.
template <bool any_boundaries_, bool sources_, bool norm_>
struct FusedExtras {
  static constexpr bool any_boundaries = any_boundaries_, sources = sources_, norm = norm_;
};
// All there is, asked for while the kernel runs.
using AllExtras = FusedExtras<true, true, true>;

// Of the pack at (x, y, z); nothing where no cell depends on it.
template <class T>
__device__ __forceinline__ Pack<T> source_of(const FusedArgs<T>& a, int x, int y, int z) {
  const Box& r = a.read;
  const bool any = !a.source.empty() && x + Pack<T>::cells > r.lo.x && x < r.hi.x && y >= r.lo.y &&
                   y < r.hi.y && z >= r.lo.z && z < r.hi.z;
  return any ? Pack<T>::load_constant(&a.source(x, y, z)) : Pack<T>::zero();
}

// What a thread sums of the last level's updates, with an operation that is chosen once a plane.
class FusedNorm {
 public:
  // for_each(add) calls add(value, before) for each cell of the thread's.
  template <class ForEach>
  __device__ __forceinline__ void add(ReductionOp op, ForEach for_each) {
    const auto with = [&](auto part, auto join) {
      for_each([&](auto value, auto before) { total_ = join(total_, part(difference(&value, &before))); });
    };
    const auto plus = [](double p, double q) { return p + q; };
    switch (op) {
      case ReductionOp::sum:
        return with([](double d) { return d; }, plus);
      case ReductionOp::sum_abs:
        return with([](double d) { return fabs(d); }, plus);
      case ReductionOp::sum_squares:
        return with([](double d) { return d * d; }, plus);
      case ReductionOp::max_abs:
        return with([](double d) { return fabs(d); }, Join<ReductionOp::max_abs>{});
    }
  }
  // By all threads of the block, once.
  template <int threads>
  __device__ __forceinline__ void leave(const UpdateNorm& norm) {
    const auto join = [op = norm.op](double p, double q) {
      return op == ReductionOp::max_abs ? Join<ReductionOp::max_abs>{}(p, q) : p + q;
    };
    const double of_block = join_block<threads>(total_, join);
    if (threadIdx.x == 0) static_cast<double*>(norm.scratch)[blockIdx.x] = of_block;
  }

 private:
  double total_ = 0;
};

}  // namespace isotherm::cuda
