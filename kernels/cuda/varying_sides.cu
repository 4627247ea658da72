// Recomputes the cells next to an x or y boundary whose b varies over the face: the tiles of the kernel
// `temporal` use one b per face. Sweeps as many layers of cells as a launch has sweeps, from the same field.
//
// Algebra   each sweep stencil_update() of the previous result; boundaries on all faces are applied.
// Mapping   a thread owns a line of cells from the face inwards, two cells per sweep; a thread block owns a
//           patch of 32 x 32 adjacent lines. Each sweep makes the valid lines one cell shorter and the valid
//           patch one line narrower on every side: after four sweeps 24 x 24 lines of 4 cells are valid and
//           are stored. Warps read and write memory along x, also where the lines run along y. A patch that
//           touches no other boundary skips the tests for boundaries.
// Storage   registers: the line, and b at its boundary for all sweeps, loaded at once. Shared memory: two
//           buffers that hold the lines before each sweep, for the neighbouring threads along the face.
// Traffic   reads twice as many layers as are stored, each 1.8 times for four sweeps: about a fiftieth of the
//           traffic of a launch over 512^3 cells.
#include "kernels/cuda/hopper.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/production/tile_update.hpp"

namespace isotherm::cuda {
namespace {

constexpr int patch = 32;  // lines of a block along either axis of the face
constexpr int longest_line = 8;

template <class T, int sweeps>
struct Lines {
  // Where lines run along x, a warp writes to several layers at once: the padding avoids bank conflicts.
  static constexpr int padding = 16 / sizeof(T);
  T cell[4 * sweeps - 2][patch * patch + padding];

  // Layer k of the lines before sweep s, 0 <= k < 2 * sweeps - s.
  __device__ __forceinline__ T* layer(int s, int k) { return cell[s % 2 * 2 * sweeps + k]; }
};

// A half-open range of indices.
struct Range {
  int from, to;
  __device__ __forceinline__ bool has(int i) const { return from <= i && i < to; }
};

// A block's patch of lines from the face across `axis`, x or y. `along`: the face's axis other than z.
template <class T, int axis, int sweeps>
class LinePatch {
  static constexpr int along = 1 - axis, length = 2 * sweeps;  // cells of a line
  static_assert(length <= longest_line);

 public:
  __device__ __forceinline__ LinePatch(const SweepArgs<T>& a, int upper, int patches)
      : a_(a),
        shared_(*reinterpret_cast<Lines<T, sweeps>*>(dynamic_shared())),
        upper_(upper),
        lane_(static_cast<int>(threadIdx.x % patch)),
        row_(static_cast<int>(threadIdx.x / patch)) {
    constexpr int stored = patch - 2 * sweeps;  // lines along either axis
    const int block = static_cast<int>(blockIdx.x);
    const Box& region = a.region;
    const Index end = a.in.extent[axis] - 1;  // the last cell along the axis
    corner_[axis] = upper != 0 ? end : 0;
    corner_[along] = region.lo[along] + block % patches * stored - sweeps;
    corner_.z = region.lo.z + block / patches * stored - sweeps;
    // The lines end at the opposite boundary.
    if (face(axis, 1 - upper).is_boundary) length_ = static_cast<int>(min(Index{length}, end + 1));
    stored_layers_ = upper != 0 ? Range{static_cast<int>(end + 1 - region.hi[axis]),
                                        static_cast<int>(end + 1 - region.lo[axis])}
                                : Range{static_cast<int>(region.lo[axis]), static_cast<int>(region.hi[axis])};
    read_lanes_ = read(along);
    read_rows_ = read(2);
    stored_lanes_ = {sweeps, static_cast<int>(min(Index{patch - sweeps}, region.hi[along] - corner_[along]))};
    stored_rows_ = {sweeps, static_cast<int>(min(Index{patch - sweeps}, region.hi.z - corner_.z))};
  }

  __device__ __forceinline__ void sweep(FusedNorm& norm) {
    T line[length], b[sweeps];
    load(line, b);
    // Uniform over the block. Most patches touch no other boundary and skip the tests.
    const bool touches_others = touches_boundaries(along) || touches_boundaries(2) || length_ < length;
    if (a_.source.empty())
      touches_others ? sweep_all<true, false>(b, line, norm) : sweep_all<false, false>(b, line, norm);
    else
      touches_others ? sweep_all<true, true>(b, line, norm) : sweep_all<false, true>(b, line, norm);
    store();
  }

 private:
  __device__ __forceinline__ const Boundary<T>& face(int across, int upper) const {
    return a_.boundaries.faces[2 * across + upper];
  }
  __device__ __forceinline__ bool touches_boundaries(int across) const {
    return (face(across, 0).is_boundary && corner_[across] <= 0) ||
           (face(across, 1).is_boundary && corner_[across] + patch >= a_.in.extent[across]);
  }
  // The lines of the patch along that axis on which any stored line depends.
  __device__ __forceinline__ Range read(int across) const {
    Index lo = a_.region.lo[across] - sweeps, hi = a_.region.hi[across] + sweeps;
    if (face(across, 0).is_boundary) lo = max(lo, Index{0});
    if (face(across, 1).is_boundary) hi = min(hi, a_.in.extent[across]);
    return {static_cast<int>(max(lo - corner_[across], Index{0})),
            static_cast<int>(min(hi - corner_[across], Index{patch}))};
  }
  __device__ __forceinline__ bool is_read(int lane, int row, int k) const {
    return read_lanes_.has(lane) && read_rows_.has(row) && k < length_;
  }
  __device__ __forceinline__ bool is_stored(int lane, int row, int k) const {
    return stored_lanes_.has(lane) && stored_rows_.has(row) && stored_layers_.has(k);
  }
  // Cell k of a line, from the face inwards.
  __device__ __forceinline__ Int3 at(int lane, int row, int k) const {
    Int3 cell = corner_;
    cell[axis] += upper_ != 0 ? -k : k;
    cell[along] += lane;
    cell.z += row;
    return cell;
  }
  __device__ __forceinline__ int here() const { return row_ * patch + lane_; }

  // Calls f(cell, lane, row, k) for the first `count` cells of all lines in a field. Neighbouring threads
  // take neighbouring cells along x.
  template <int count, class View, class F>
  __device__ __forceinline__ void for_each_cell(const View& field, F f) const {
    if constexpr (axis == 0) {
      constexpr unsigned width = count > 4 ? 8 : 4, rows = patch / width;  // cells along x; rows at a time
      const unsigned k = threadIdx.x % width, lane = threadIdx.x / width % patch,
                     row = threadIdx.x / width / patch;
      auto* cell = &field(at(static_cast<int>(lane), static_cast<int>(row), static_cast<int>(k)));
#pragma unroll
      for (unsigned i = 0; i < width; ++i, cell += rows * field.pitch_z)
        if (k < count) f(cell, static_cast<int>(lane), static_cast<int>(row + i * rows), static_cast<int>(k));
    } else {
      auto* cell = &field(at(lane_, row_, 0));
      const Index inwards = upper_ != 0 ? -field.pitch_y : field.pitch_y;
#pragma unroll
      for (int k = 0; k < count; ++k, cell += inwards) f(cell, lane_, row_, k);
    }
  }

  __device__ __forceinline__ void load(T (&line)[length], T (&b)[sweeps]) {
    const Boundary<T>& near = face(axis, upper_);
    const T* const of_line = near.b_field + (corner_[along] + lane_) + (corner_.z + row_) * near.pitch;
#pragma unroll
    for (int s = 0; s < sweeps; ++s) b[s] = is_read(lane_, row_, 0) ? of_line[s * near.sweep_pitch] : T{0};
    for_each_cell<length>(a_.in, [&](const T* cell, int lane, int row, int k) {
      shared_.layer(0, k)[row * patch + lane] = is_read(lane, row, k) ? *cell : T{0};
    });
    __syncthreads();
#pragma unroll
    for (int k = 0; k < length; ++k) line[k] = shared_.layer(0, k)[here()];
  }

  template <bool at_boundaries, bool sources>
  __device__ __forceinline__ void sweep_all(const T (&b)[sweeps], T (&line)[length], FusedNorm& norm) {
    T before[sweeps];
#pragma unroll
    for (int s = 0; s < sweeps; ++s) {
#pragma unroll
      for (int k = 0; k < sweeps; ++k) before[k] = line[k];
      // A row is one warp. Rows at the edge of the patch are no longer valid.
      if (s < row_ && row_ < patch - 1 - s) {
        sweep_once<at_boundaries, sources>(s, b[s], line);
        const int needed = s + 1 < sweeps ? length - 2 - s : sweeps;
#pragma unroll
        for (int k = 0; k < needed; ++k) shared_.layer(s + 1, k)[here()] = line[k];
      }
      __syncthreads();
    }
    if (!a_.norm.result) return;
    norm.add(a_.norm.op, [&](auto add) {
#pragma unroll
      for (int k = 0; k < sweeps; ++k) {
        if (is_stored(lane_, row_, k)) add(line[k], before[k]);
      }
    });
  }
  // Cells at the edge of the patch have no valid neighbour, and are never stored.
  template <bool at_boundaries, bool sources>
  __device__ __forceinline__ void sweep_once(int s, T b, T (&line)[length]) {
    const Coefficients<T> c = a_.c[s];
    const int x_prev = row_ * patch + max(lane_ - 1, 0), x_next = row_ * patch + min(lane_ + 1, patch - 1),
              below = here() - patch, above = here() + patch;
    T nearer = boundary_ghost(face(axis, upper_).a, b, line[0]);
#pragma unroll
    for (int k = 0; k < length - 1 - s; ++k) {
      const T* const layer = shared_.layer(s, k);
      const T centre = line[k];
      T further = line[k + 1], lo = layer[x_prev], hi = layer[x_next], z_lo = layer[below],
        z_hi = layer[above];
      if constexpr (at_boundaries) {
        const auto put = [&](int across, int upper, T& next) {
          if (is_at(across, upper, k)) next = beyond(across, upper, k, s, centre);
        };
        put(axis, 1 - upper_, further);
        put(along, 0, lo);
        put(along, 1, hi);
        put(2, 0, z_lo);
        put(2, 1, z_hi);
      }
      T source = c.heat;
      if constexpr (sources) {
        if (is_read(lane_, row_, k)) source = scaled_source(c, a_.source(at(lane_, row_, k)));
      }
      line[k] = axis == 0 ? stencil_update(c, centre, nearer, further, lo, hi, z_lo, z_hi, source)
                          : stencil_update(c, centre, lo, hi, nearer, further, z_lo, z_hi, source);
      nearer = centre;
    }
  }
  // b may be undefined for lines that are not read.
  __device__ __forceinline__ bool is_at(int across, int upper, int k) const {
    return is_read(lane_, row_, k) && face(across, upper).is_boundary &&
           at(lane_, row_, k)[across] == (upper != 0 ? a_.in.extent[across] - 1 : 0);
  }
  __device__ __forceinline__ T beyond(int across, int upper, int k, int s, T centre) const {
    const Int3 cell = at(lane_, row_, k);
    const Boundary<T>& boundary = face(across, upper);
    return boundary_ghost(
        boundary.a, boundary.b_at(across == 0 ? cell.y : cell.x, across == 2 ? cell.y : cell.z, s), centre);
  }

  __device__ __forceinline__ void store() {
    for_each_cell<sweeps>(a_.out, [&](T* cell, int lane, int row, int k) {
      if (is_stored(lane, row, k)) *cell = shared_.layer(sweeps, k)[row * patch + lane];
    });
  }

  const SweepArgs<T>& a_;
  Lines<T, sweeps>& shared_;
  const int upper_, lane_, row_;
  Int3 corner_;          // the cell of the patch's first line at the face
  int length_ = length;  // cells of a line that are read
  Range read_lanes_, read_rows_, stored_lanes_, stored_rows_, stored_layers_;
};

template <class T, int axis, int sweeps>
__global__ void __launch_bounds__(patch* patch)
    sweep_lines(const __grid_constant__ SweepArgs<T> a, int upper, int patches) {
  FusedNorm norm;
  LinePatch<T, axis, sweeps>(a, upper, patches).sweep(norm);
  if (a.norm.result) norm.template store<patch * patch>(a.norm);
}

Index patches_of(Index lines, int sweeps) { return ceil_div(lines, Index{patch} - 2 * sweeps); }

template <class T, int axis, int sweeps>
void sweep_face(const SweepArgs<T>& args, int upper, Stream stream) {
  constexpr auto kernel = sweep_lines<T, axis, sweeps>;
  constexpr std::size_t bytes = sizeof(Lines<T, sweeps>);
  const Int3 n = args.region.extent();
  const Index across = patches_of(n[1 - axis], sweeps), blocks = across * patches_of(n.z, sweeps);
  launch("sweep_lines", kernel, {dim3(static_cast<unsigned>(blocks)), dim3(patch * patch), bytes}, stream,
         args, upper, static_cast<int>(across));
  finish_norm(args.norm, static_cast<unsigned>(blocks), stream);
}

}  // namespace

template <class T>
void sweep_varying_side(const SweepArgs<T>& args, int face, int sweeps, Stream stream) {
  constexpr const char* unknown = "cells at a side that varies were asked for an unknown time block";
  with_number<2, longest_line / 2>(sweeps, unknown, [&]<int n>() {
    face / 2 == 0 ? sweep_face<T, 0, n>(args, face % 2, stream) : sweep_face<T, 1, n>(args, face % 2, stream);
  });
}

Index most_blocks_at_sides(Box region) {
  const Int3 n = region.extent();
  return patches_of(std::max(n.x, n.y), longest_line / 2) * patches_of(n.z, longest_line / 2);
}

template void sweep_varying_side(const SweepArgs<float>&, int, int, Stream);
template void sweep_varying_side(const SweepArgs<double>&, int, int, Stream);

}  // namespace isotherm::cuda
