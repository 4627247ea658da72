// A cell by its number in the region: what reductions of a plain sequence ask of rows with ghosts between
// them. For .cu files only.
#pragma once

#include <algorithm>

#include "kernels/cuda/fast_divide.hpp"
#include "kernels/cuda/reduction_operators.hpp"

namespace isotherm::cuda {

// A cell's number to its part of the result; cells are numbered x fastest, so that neighbouring threads read
// neighbouring cells. Two divisions by multiplication a cell.
template <class T, ReductionOp op>
class PartOfCell {
 public:
  explicit PartOfCell(const ReductionArgs<T>& args)
      : a_(args.a),
        b_(args.b),
        lo_(args.region.lo),
        extent_(args.region.extent()),
        by_x_(std::max<Index>(extent_.x, 1)),
        by_y_(std::max<Index>(extent_.y, 1)) {}

  __device__ __forceinline__ double operator()(Index number) const {
    const Index row = by_x_(number);
    const Index z = by_y_(row);
    const Int3 cell{lo_.x + number - row * extent_.x, lo_.y + row - z * extent_.y, lo_.z + z};
    return part<op>(difference(&a_(cell), b_.empty() ? nullptr : &b_(cell)));
  }

 private:
  FieldView<const T> a_, b_;
  Int3 lo_, extent_;
  FastDivide by_x_, by_y_;
};

}  // namespace isotherm::cuda
