// How the cells of a region are assigned to threads: by number, or by segments of rows. For .cu files only.
#pragma once

#include <algorithm>

#include "kernels/cuda/combine.hpp"
#include "kernels/cuda/grids.hpp"

namespace isotherm::cuda {

// Maps a cell's number to its contribution. Cells are numbered x fastest, so that neighbouring threads read
// neighbouring cells. Two divisions by multiplication per cell.
template <class T, ReductionOp op>
class CellTerm {
 public:
  explicit CellTerm(const ReductionArgs<T>& args)
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

// The cells of a region as segments of its rows, one warp each: coalesced reads and few divisions.
struct RowSegments {
  static constexpr Index cells = 1024;  // of a segment
  Index a_row, count;                   // segments of one row, and of the region

  ISOTHERM_HOST_DEVICE static RowSegments of(Box region) {
    const Int3 n = region.extent();
    const Index a_row = (n.x + cells - 1) / cells;
    return {a_row, region.empty() ? 0 : a_row * n.y * n.z};
  }
  // The number of blocks that gives each warp one segment; at most `most`, then warps take several.
  static Index blocks(Box region, int threads, Index most) {
    return std::min(ceil_div(of(region).count, threads / warp_size), most);
  }
};

// Calls visit(x, end, y, z) for the parts of rows of this thread: cells x, x + 32, ... below end. Warps take
// segments in grid strides; the 32 lanes read 32 neighbours in x at a time. A lane divides once per 32 reads
// to find its segment.
template <int threads, class Visit>
__device__ __forceinline__ void visit_segments(const Box& region, Visit visit) {
  constexpr int warps_per_block = threads / warp_size;
  const RowSegments segments = RowSegments::of(region);
  const Index rows_y = region.extent().y;
  const Index lane = threadIdx.x % warp_size;
  const Index warps = Index{gridDim.x} * warps_per_block;
  for (Index i = Index{blockIdx.x} * warps_per_block + threadIdx.x / warp_size; i < segments.count;
       i += warps) {
    const Index row = i / segments.a_row;
    const Index y = region.lo.y + row % rows_y, z = region.lo.z + row / rows_y;
    const Index x = region.lo.x + (i - row * segments.a_row) * RowSegments::cells;
    const Index end = x + RowSegments::cells < region.hi.x ? x + RowSegments::cells : region.hi.x;
    visit(x + lane, end, y, z);
  }
}

// Calls visit(d) for the cells of this thread, d as in ReductionArgs. Each lane loads four cells before it
// uses the first.
template <int threads, class T, class Visit>
__device__ __forceinline__ void visit_cells(const FieldView<const T>& a, const FieldView<const T>& b,
                                            const Box& region, Visit visit) {
  visit_segments<threads>(region, [&](Index x, Index end, Index y, Index z) {
    const T* row_a = &a(0, y, z);
    const T* row_b = b.empty() ? nullptr : &b(0, y, z);
#pragma unroll 4
    for (Index cell = x; cell < end; cell += warp_size) {
      visit(difference(row_a + cell, row_b ? row_b + cell : nullptr));
    }
  });
}

}  // namespace isotherm::cuda
