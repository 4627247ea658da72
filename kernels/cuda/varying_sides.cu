// The cells next to a boundary across x or y whose b varies over it, for the kernel `temporal`, whose tiles
// take one value for the face: as many layers of cells as sweeps, swept once more from the same field.
//
// Algebra   each sweep stencil_update() of what the one before it left; boundaries on all faces are applied.
// Mapping   a thread owns a line of cells from the face inwards, twice as many as there are sweeps; a block
//           owns 32 x 32 lines next to each other. Each sweep leaves lines a cell shorter, and the block's
//           patch of lines a line narrower on every side: after four sweeps 24 x 24 lines of 4 cells are due.
//           Patches that meet no other boundary look for none.
// Storage   registers: the line, and b at its end for each sweep, all asked for at once. Shared memory: the
//           lines before each sweep, twice, for the neighbours along the face.
// Traffic   twice the layers that are due, 1.8 times each for four sweeps; of 512^3 cells a fiftieth.
#include "kernels/cuda/hopper.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/production/tile_update.hpp"

namespace isotherm::cuda {
namespace {

constexpr int most_line_sweeps = 4, most_line = 2 * most_line_sweeps;
constexpr int patch = 32;  // lines of a block along either axis of the face

template <class T>
struct Lines {
  T cell[2][most_line - 1][patch][patch];
};

// b of a cell at that face.
template <class T>
__device__ __forceinline__ T beyond_face(const Boundary<T>& boundary, int across, Int3 cell, int sweep,
                                         T centre) {
  const Index p = across == 0 ? cell.y : cell.x, q = across == 2 ? cell.y : cell.z;
  return boundary_ghost(boundary.a, boundary.b_at(p, q, sweep), centre);
}

// A block's patch of lines from the face across `axis`, x or y. `along`: the face's other axis but z.
template <class T, int axis>
class LinePatch {
  static constexpr int along = 1 - axis;

 public:
  __device__ __forceinline__ LinePatch(const SweepArgs<T>& a, int upper, int sweeps)
      : a_(a),
        shared_(*reinterpret_cast<Lines<T>*>(dynamic_shared())),
        upper_(upper),
        sweeps_(sweeps),
        lane_(static_cast<int>(threadIdx.x)),
        row_(static_cast<int>(threadIdx.y)) {
    const int due = patch - 2 * sweeps;  // lines along either axis
    const Index patches = ceil_div(a.region.extent()[along], Index{due});
    corner_[axis] = upper != 0 ? a.in.extent[axis] - 1 : 0;
    corner_[along] = a.region.lo[along] + blockIdx.x % patches * due - sweeps;
    corner_.z = a.region.lo.z + blockIdx.x / patches * due - sweeps;
    first_ = corner_;
    first_[along] += lane_;
    first_.z += row_;
    is_read_ = is_read(along) && is_read(2);
    is_due_ =
        is_inside(lane_) && is_inside(row_) && first_[along] < a.region.hi[along] && first_.z < a.region.hi.z;
    // Beyond a boundary at the other end of the lines there is nothing.
    length_ = 2 * sweeps;
    if (far().is_boundary) length_ = static_cast<int>(min(Index{length_}, a.in.extent[axis]));
  }

  __device__ __forceinline__ void sweep() {
    T line[most_line], b[most_line_sweeps];
    load(line, b);
    // The same for all threads. Most patches meet no other boundary, and need not look for one.
    if (meets_boundaries(along) || meets_boundaries(2) || length_ < 2 * sweeps_)
      sweep_all<true>(b, line);
    else
      sweep_all<false>(b, line);
    if (is_due_) store(line);
  }

 private:
  __device__ __forceinline__ const Boundary<T>& face(int across, int upper) const {
    return a_.boundaries.faces[2 * across + upper];
  }
  __device__ __forceinline__ const Boundary<T>& far() const { return face(axis, 1 - upper_); }
  __device__ __forceinline__ bool is_inside(int line) const {
    return sweeps_ <= line && line < patch - sweeps_;
  }
  __device__ __forceinline__ bool meets_boundaries(int across) const {
    return (face(across, 0).is_boundary && corner_[across] <= 0) ||
           (face(across, 1).is_boundary && corner_[across] + patch >= a_.in.extent[across]);
  }
  // Does any line that is due depend on this one's?
  __device__ __forceinline__ bool is_read(int across) const {
    const bool lower = face(across, 0).is_boundary, upper = face(across, 1).is_boundary;
    const Index lo = a_.region.lo[across] - sweeps_, hi = a_.region.hi[across] + sweeps_;
    return first_[across] >= (lower ? max(lo, Index{0}) : lo) &&
           first_[across] < (upper ? min(hi, a_.in.extent[across]) : hi);
  }
  __device__ __forceinline__ Int3 at(int k) const {
    Int3 cell = first_;
    cell[axis] += upper_ != 0 ? -k : k;
    return cell;
  }
  // Between cells of a line, from the face inwards.
  __device__ __forceinline__ Index step(Index pitch_y) const {
    const Index upwards = axis == 0 ? 1 : pitch_y;
    return upper_ != 0 ? -upwards : upwards;
  }

  __device__ __forceinline__ void load(T (&line)[most_line], T (&b)[most_line_sweeps]) const {
    const T* const from = &a_.in(is_read_ ? first_ : a_.region.lo);
    const Index inwards = step(a_.in.pitch_y);
#pragma unroll
    for (int k = 0; k < most_line; ++k) line[k] = is_read_ && k < length_ ? from[k * inwards] : T{0};
#pragma unroll
    for (int s = 0; s < most_line_sweeps; ++s)
      b[s] = is_read_ && s < sweeps_ ? face(axis, upper_).b_at(first_[along], first_.z, s) : T{0};
  }

  template <bool at_boundaries>
  __device__ __forceinline__ void sweep_all(const T (&b)[most_line_sweeps], T (&line)[most_line]) const {
#pragma unroll
    for (int s = 0; s < most_line_sweeps; ++s) {
      if (s < sweeps_) sweep_once<at_boundaries>(s, b[s], line);
    }
  }
  // Cells without a neighbour of their own are nobody's.
  template <bool at_boundaries>
  __device__ __forceinline__ void sweep_once(int s, T b, T (&line)[most_line]) const {
    const Coefficients<T> c = a_.c[s];
    const int last = min(2 * sweeps_ - 2 - s, length_ - 1);
    auto& shared = shared_.cell[s % 2];
#pragma unroll
    for (int k = 0; k < most_line - 1; ++k) {
      if (k <= last) shared[k][row_][lane_] = line[k];
    }
    __syncthreads();
    const int before = max(lane_ - 1, 0), behind = min(lane_ + 1, patch - 1), below = max(row_ - 1, 0),
              above = min(row_ + 1, patch - 1);
    const T* const source = a_.source.empty() || !is_read_ ? nullptr : &a_.source(first_);
    const Index inwards = step(a_.source.pitch_y);
    T nearer = boundary_ghost(face(axis, upper_).a, b, line[0]);
#pragma unroll
    for (int k = 0; k < most_line - 1; ++k) {
      if (k > last) break;
      const T centre = line[k];
      T further = line[k + 1], lo = shared[k][row_][before], hi = shared[k][row_][behind],
        z_lo = shared[k][below][lane_], z_hi = shared[k][above][lane_];
      if constexpr (at_boundaries) {
        const Int3 cell = at(k);
        // Of lines that nobody reads a boundary may have no b.
        const auto put = [&](int across, int upper, T& next) {
          const Boundary<T>& boundary = face(across, upper);
          if (is_read_ && boundary.is_boundary && cell[across] == (upper != 0 ? a_.in.extent[across] - 1 : 0))
            next = beyond_face(boundary, across, cell, s, centre);
        };
        put(axis, 1 - upper_, further);
        put(along, 0, lo);
        put(along, 1, hi);
        put(2, 0, z_lo);
        put(2, 1, z_hi);
      }
      const T scaled = scaled_source(c, source ? source[k * inwards] : T{0});
      line[k] = axis == 0 ? stencil_update(c, centre, nearer, further, lo, hi, z_lo, z_hi, scaled)
                          : stencil_update(c, centre, lo, hi, nearer, further, z_lo, z_hi, scaled);
      nearer = centre;
    }
  }

  __device__ __forceinline__ void store(const T (&line)[most_line]) const {
    T* const to = &a_.out(first_);
    const Index inwards = step(a_.out.pitch_y);
#pragma unroll
    for (int k = 0; k < most_line_sweeps; ++k) {
      const Index cell = at(k)[axis];
      if (cell >= a_.region.lo[axis] && cell < a_.region.hi[axis]) to[k * inwards] = line[k];
    }
  }

  const SweepArgs<T>& a_;
  Lines<T>& shared_;
  const int upper_, sweeps_, lane_, row_;
  Int3 corner_, first_;  // cells at the face: of the patch's first line, and of this thread's
  int length_;           // of a line: cells that are read
  bool is_read_, is_due_;
};

template <class T, int axis>
__global__ void __launch_bounds__(patch* patch)
    sweep_lines(const __grid_constant__ SweepArgs<T> a, int upper, int sweeps) {
  LinePatch<T, axis>(a, upper, sweeps).sweep();
}

template <class T, int axis>
void sweep_face(const SweepArgs<T>& args, int upper, int sweeps, Stream stream) {
  const Int3 n = args.region.extent();
  const Index due = patch - 2 * sweeps;
  check(cudaFuncSetAttribute(sweep_lines<T, axis>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(sizeof(Lines<T>))),
        "cudaFuncSetAttribute");
  launch("sweep_lines", sweep_lines<T, axis>,
         {dim3(static_cast<unsigned>(ceil_div(n[1 - axis], due) * ceil_div(n.z, due))), dim3(patch, patch),
          sizeof(Lines<T>)},
         stream, args, upper, sweeps);
}

}  // namespace

template <class T>
void sweep_varying_side(const SweepArgs<T>& args, int face, int sweeps, Stream stream) {
  SweepArgs<T> side = args;
  const int axis = face / 2, upper = face % 2;
  if (upper != 0)
    side.region.lo[axis] = std::max(side.region.lo[axis], args.in.extent[axis] - sweeps);
  else
    side.region.hi[axis] = std::min<Index>(side.region.hi[axis], sweeps);
  if (axis == 0)
    sweep_face<T, 0>(side, upper, sweeps, stream);
  else
    sweep_face<T, 1>(side, upper, sweeps, stream);
}

template void sweep_varying_side(const SweepArgs<float>&, int, int, Stream);
template void sweep_varying_side(const SweepArgs<double>&, int, int, Stream);

}  // namespace isotherm::cuda
