// Shared by the kernels with wide tiles and the exterior: the arguments of their kernels, the update of one
// pack of cells, and the norm of the update. For .cu files only.
#pragma once

#include <span>

#include "kernels/cuda/combine.hpp"
#include "kernels/production/columns.hpp"
#include "kernels/stencil.hpp"

namespace isotherm::cuda {

// The norm of an update while its values are in registers: each thread sums its cells, a thread block stores
// one partial, and a last kernel of one block combines these in order, so the bits are the same in every run.

// For a sweep without a norm.
struct NoNorm {
  template <class T>
  __device__ __forceinline__ void add(T, T, int = 0) {}
  template <int threads>
  __device__ __forceinline__ void store(double*) {}
};

// The partial norm of a thread. A kernel takes it as a template argument: an operation selected at run time
// would cost more instructions per cell than the update.
template <ReductionOp op>
class UpdateSum {
 public:
  // One sum per cell of a pack: each addition waits for the one before it, some 16 cycles in fp64.
  template <class T>
  __device__ __forceinline__ void add(T value, T centre, int cell_of_pack = 0) {
    double& total = totals_[cell_of_pack];
    const double d = difference(&value, &centre);
    if constexpr (op == ReductionOp::sum_squares) {
      total = fused_multiply_add(d, d, total);
    } else {
      total = Combine<op>{}(total, part<op>(d));
    }
  }
  // Call once, by all threads of the block.
  template <int threads>
  __device__ __forceinline__ void store(double* partials) {
    double total = totals_[0];
#pragma unroll
    for (int i = 1; i < most_cells; ++i) total = Combine<op>{}(total, totals_[i]);
    const double combined = combine_block<threads>(total, Combine<op>{});
    if (threadIdx.x == 0) partials[blockIdx.x] = combined;
  }

 private:
  static constexpr int most_cells = Pack<float>::cells;
  double totals_[most_cells] = {};
};

// Calls body.operator()<Norm>(): NoNorm, or UpdateSum for norm.op.
template <class Body>
void with_norm(const UpdateNorm& norm, Body body) {
  if (!norm.result) return body.template operator()<NoNorm>();
  with_norm_operation(norm.op, [&]<ReductionOp op>() { body.template operator()<UpdateSum<op>>(); });
}

// The partial norm of a thread, where the operation is selected once for many cells.
class FusedNorm {
 public:
  // for_each(add) calls add(value, before) for each cell of this thread.
  template <class ForEach>
  __device__ __forceinline__ void add(ReductionOp op, ForEach for_each) {
    const auto with = [&](auto part, auto combine) {
      for_each([&](auto value, auto before) { total_ = combine(total_, part(difference(&value, &before))); });
    };
    const auto plus = [](double p, double q) { return p + q; };
    if (op == ReductionOp::sum_abs) return with([](double d) { return fabs(d); }, plus);
    if (op == ReductionOp::sum_squares) return with([](double d) { return d * d; }, plus);
    with([](double d) { return fabs(d); }, Combine<ReductionOp::max_abs>{});
  }
  // Call once, by all threads of the block.
  template <int threads>
  __device__ __forceinline__ void store(const UpdateNorm& norm) {
    const auto combine = [op = norm.op](double p, double q) {
      return op == ReductionOp::max_abs ? Combine<ReductionOp::max_abs>{}(p, q) : p + q;
    };
    const double of_block = combine_block<threads>(total_, combine);
    if (threadIdx.x == 0) static_cast<double*>(norm.scratch)[blockIdx.x] = of_block;
  }

 private:
  double total_ = 0;
};

// Combines the partials of `blocks` thread blocks in norm.scratch into norm.result, if there is one, by one
// block. In exterior.cu.
void finish_norm(const UpdateNorm& norm, unsigned blocks, Stream stream);

// The kernel's parameters, in constant memory: read by all threads at once.
template <class T>
struct TileArgs {
  FieldView<const T> in;
  FieldView<T> out;
  FieldView<const T> source;
  Coefficients<T> c;
  Boundaries<T> boundaries;
  Columns columns;  // .box is the region
  UpdateNorm norm;
  Materials<T> materials = {};  // only with several materials

  __device__ __forceinline__ const Boundary<T>& face(Face f) const {
    return boundaries.faces[static_cast<int>(f)];
  }
  // Is row y, or plane z, beyond a boundary?
  __device__ __forceinline__ bool beyond_y_boundary(int y) const {
    return (y < 0 && face(Face::y_min).is_boundary) || (y >= in.extent.y && face(Face::y_max).is_boundary);
  }
  __device__ __forceinline__ bool beyond_z_boundary(int z) const {
    return (z < 0 && face(Face::z_min).is_boundary) || (z >= in.extent.z && face(Face::z_max).is_boundary);
  }
};

// The classes of the packs in a row of a tile, as TMA copies them: from multiples of 16 bytes on.
struct ClassRow {
  static constexpr int unit = 16;
  // start(): the first pack that is copied for a tile whose first cell is at tile_x; place(): the index of
  // the pack at x among the copied ones.
  template <class T>
  __device__ __forceinline__ static int start(int tile_x) {
    return static_cast<int>(floor_div(tile_x / Pack<T>::cells, unit)) * unit;
  }
  template <class T>
  __device__ __forceinline__ static int place(int x, int tile_x) {
    return x / Pack<T>::cells - start<T>(tile_x);
  }
  static constexpr int packs_of(int packs) { return packs + unit; }  // for `packs` from any start
};

// Where a kernel variant finds the source of a cell. A choice at run time costs registers.
enum class Source {
  none,
  heat,          // Coefficients::heat
  stored_field,  // weights are the unit weight
  field,         // if there is one, or else none
  any            // a field if there is one, or else heat
};

// A pack and its neighbours. The x neighbours inside the pack are in `centre`.
template <class T>
struct Neighbours {
  Pack<T> centre, y_lo, y_hi, z_lo, z_hi;
  T x_lo, x_hi;  // next to the first and the last cell
};

// Updates a pack; n already has the ghosts of boundaries. update(centre, x_lo, x_hi, y_lo, ..., z_hi, source)
// updates a cell.
template <class T, class Update>
__device__ __forceinline__ Pack<T> updated_pack(const Neighbours<T>& n, const Pack<T>& source,
                                                const Update& update) {
  constexpr int cells = Pack<T>::cells;
  Pack<T> value;
#pragma unroll
  for (int i = 0; i < cells; ++i) {
    value.v[i] =
        update(n.centre.v[i], i > 0 ? n.centre.v[i - 1] : n.x_lo, i < cells - 1 ? n.centre.v[i + 1] : n.x_hi,
               n.y_lo.v[i], n.y_hi.v[i], n.z_lo.v[i], n.z_hi.v[i], source.v[i]);
  }
  return value;
}
// `source` is scaled.
template <class T>
__device__ __forceinline__ Pack<T> updated_pack(const Coefficients<T>& c, const Neighbours<T>& n,
                                                const Pack<T>& source) {
  return updated_pack(n, source, [&](auto... values) { return stencil_update(c, values...); });
}
// `source` is as stored.
template <class T>
__device__ __forceinline__ Pack<T> updated_pack(const InterfaceCoefficients<T>& c, const Neighbours<T>& n,
                                                const Pack<T>& source) {
  return updated_pack(n, source, [&](auto... values) { return interface_update(c, values...); });
}

// The ghosts beyond a boundary across z whose rule differs by cell, for the pack at (x, y), which may be
// outside the face.
template <class T>
__device__ __forceinline__ Pack<T> beyond_z_by_cell(const Boundary<T>& boundary, const FieldView<const T>& in,
                                                    int x, int y, const Pack<T>& centre, int sweep) {
  const auto within = [&](int i, Index extent) {
    return min(max(i, -in.ghosts), static_cast<int>(extent) + in.ghosts - 1);
  };
  Pack<T> ghosts;
#pragma unroll
  for (int i = 0; i < Pack<T>::cells; ++i)
    ghosts.v[i] = boundary.ghost(within(x + i, in.extent.x), within(y, in.extent.y), centre.v[i], sweep);
  return ghosts;
}

// Updates a pack by a source of the unit weight.
template <class T>
struct UnitWeight {
  const Coefficients<T>& c;

  __device__ __forceinline__ Pack<T> operator()(int, const Neighbours<T>& n, const Pack<T>& source) const {
    return updated_pack(c, n, source);
  }
};

// With several materials: the rows of a lane in a plane that is a layer. Mostly all rows of a warp have the
// same coefficients, which are then read once. All lanes must call. `sweep`: of the launch.
template <class T, int rows>
class LayerRows {
 public:
  // Classes of the packs in the rows, and of those below and above them.
  struct Classes {
    int own[rows], below[rows], above[rows];
  };

  __device__ __forceinline__ LayerRows(const Materials<T>& m, const Classes& classes, int sweep)
      : m_(m), of_(classes), sweep_(sweep) {
    const int own = __shfl_sync(0xffffffffu, of_.own[0], 0),
              below = __shfl_sync(0xffffffffu, of_.below[0], 0),
              above = __shfl_sync(0xffffffffu, of_.above[0], 0);
    bool is_one = true;
#pragma unroll
    for (int r = 0; r < rows; ++r)
      is_one = is_one && of_.own[r] == own && of_.below[r] == below && of_.above[r] == above;
    is_one_ = __all_sync(0xffffffffu, is_one) != 0;
    if (is_one_ && is_interface(0)) of_all_ = of_row(0);
  }
  // `source` is as stored.
  __device__ __forceinline__ Pack<T> updated(int r, const Neighbours<T>& n, const Pack<T>& source) const {
    if (is_interface(r)) return updated_pack(is_one_ ? of_all_ : of_row(r), n, source);
    const Coefficients<T> c = m_.coefficients[sweep_][of_.own[r]];
    return updated_pack(c, n, scaled_source(c, source));
  }

 private:
  __device__ __forceinline__ bool is_interface(int r) const {
    return of_.below[r] != of_.own[r] || of_.above[r] != of_.own[r];
  }
  __device__ __forceinline__ InterfaceCoefficients<T> of_row(int r) const {
    const int own = of_.own[r], near[] = {own, own, own, own, of_.below[r], of_.above[r]};
    return interface_coefficients(m_, own, near, sweep_);
  }

  const Materials<T>& m_;
  const Classes of_;
  const int sweep_;
  bool is_one_;
  InterfaceCoefficients<T> of_all_{};
};

// Sweeps boxes too thin for a wide tile, at most six; ignores args.region. In exterior.cu, with the exterior
// of kernels that have none of their own.
template <class T>
void sweep_thin(const SweepArgs<T>& args, std::span<const Box> boxes, Stream stream);
template <class T>
std::size_t thin_scratch_bytes(std::span<const Box> boxes);
template <class T>
const ExteriorSweep<T>& thin_exterior();

// After a launch of `sweeps` sweeps of args.region, sweeps its mixed cells again, from args.in, by the
// formula of materials, and applies the boundaries of all axes. In mixed_cells.cu.
template <class T>
void sweep_mixed(const SweepArgs<T>& args, int sweeps, Stream stream);
// Sweeps all cells of args.region in that way once, for regions that are too thin for tiles.
template <class T>
void sweep_cell_by_cell(const SweepArgs<T>& args, Stream stream);

// Sweeps args.region, layers of cells next to a face across x or y, again: the first launch used one value of
// b for that face. Computes their part of the norm. One material, two to four sweeps. In varying_sides.cu.
template <class T>
void sweep_varying_side(const SweepArgs<T>& args, int face, int sweeps, Stream stream);
// The most thread blocks of one such launch; each stores a partial of the norm.
Index most_blocks_at_sides(Box region);

// The chunk of a thread block: 32 packs along x for each of its warps along x, `y` rows, `planes` planes.
template <class T>
struct WideTile {
  static constexpr Index warp_x = warp_size * Pack<T>::cells;
  Index warps_x, y, planes;

  Index x() const { return warps_x * warp_x; }
  // False where a tile would be mostly idle, or where the box is too long for 32-bit coordinates.
  bool fits(Box region) const {
    constexpr Index longest = Index{1} << 30;
    const Int3 n = region.extent();
    return !region.empty() && 4 * n.x >= x() && 4 * n.y >= y && region.hi.x <= longest &&
           region.hi.y <= longest && region.hi.z <= longest;
  }
  Columns columns(Box region) const { return Columns::of(region, x(), y, planes, Pack<T>::cells); }

  // The whole columns of the region inside `available`, with the ends of `available` along z.
  Box interior(Box region, Box available) const {
    const Index first_x = columns(region).first_x;
    const auto up = [](Index n, Index unit) { return ceil_div(n, unit) * unit; };
    const auto down = [](Index n, Index unit) { return floor_div(n, unit) * unit; };
    Box box = available;
    if (box.lo.x > region.lo.x) box.lo.x = first_x + up(box.lo.x - first_x, x());
    if (box.hi.x < region.hi.x) box.hi.x = first_x + down(box.hi.x - first_x, x());
    if (box.lo.y > region.lo.y) box.lo.y = region.lo.y + up(box.lo.y - region.lo.y, y);
    if (box.hi.y < region.hi.y) box.hi.y = region.lo.y + down(box.hi.y - region.lo.y, y);
    return box;
  }
};

}  // namespace isotherm::cuda
