// The formula of a cell and the ghost beyond a boundary, written once: all kernels and backends call them.
//
// One Jacobi sweep of the 7-point operator on a uniform grid (cell-centred finite volumes; LeVeque, Finite
// Difference Methods for Ordinary and Partial Differential Equations, SIAM 2007, chapters 3 and 9):
//
//     out = c0 T + cx (T[x-1] + T[x+1]) + cy (T[y-1] + T[y+1]) + cz (T[z-1] + T[z+1]) + sigma s
//
// A method gives each sweep its own weight (solver/method.hpp): the coefficients are those of that weight,
// and sigma is the weight over the unit weight, for which the source s is stored. A source that is the same
// in every cell is not stored: s is then `heat`, and sigma 1.
//
// Explicit fma in a fixed order, and no contraction by the compiler (-ffp-contract=off, --fmad=false), give
// the same bits from every compiler, instruction set and device that follows IEEE 754.
//
// This file also has the arguments of a stencil kernel, and its entry in the registry.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "core/box.hpp"
#include "core/field_view.hpp"
#include "core/stream.hpp"
#include "kernels/host_info.hpp"
#include "kernels/peer_copy.hpp"
#include "kernels/reduction.hpp"

namespace isotherm {

// Coefficients of one sweep, the same in every cell. c0 weights the cell itself, cx, cy, cz its neighbours
// along an axis, sigma the source.
template <class T>
struct Coefficients {
  T c0, cx, cy, cz, sigma;
  T heat = 0;  // kelvin: the source where no field has it; then sigma is 1
};

ISOTHERM_HOST_DEVICE float fused_multiply_add(float a, float b, float c) { return ::fmaf(a, b, c); }
ISOTHERM_HOST_DEVICE double fused_multiply_add(double a, double b, double c) { return ::fma(a, b, c); }

// Contribution of a source to a sweep. Kernels scale source values as they read them.
template <class T>
ISOTHERM_HOST_DEVICE T scaled_source(const Coefficients<T>& c, T source) {
  return c.sigma * source;
}

// The sum without the neighbours along z. A kernel that walks along z keeps it until it reads the next plane.
// T: all temperatures in kelvin; s: scaled_source() in kelvin (0 where there is none).
template <class T>
ISOTHERM_HOST_DEVICE T stencil_in_plane(const Coefficients<T>& c, T centre, T x_lo, T x_hi, T y_lo, T y_hi,
                                        T s) {
  T sum = fused_multiply_add(c.c0, centre, s);
  sum = fused_multiply_add(c.cx, x_lo + x_hi, sum);
  return fused_multiply_add(c.cy, y_lo + y_hi, sum);
}
template <class T>
ISOTHERM_HOST_DEVICE T stencil_add_z(const Coefficients<T>& c, T in_plane, T z_lo, T z_hi) {
  return fused_multiply_add(c.cz, z_lo + z_hi, in_plane);
}

template <class T>
ISOTHERM_HOST_DEVICE T stencil_update(const Coefficients<T>& c, T centre, T x_lo, T x_hi, T y_lo, T y_hi,
                                      T z_lo, T z_hi, T s) {
  return stencil_add_z(c, stencil_in_plane(c, centre, x_lo, x_hi, y_lo, y_hi, s), z_lo, z_hi);
}

// Ghost value at a boundary: a T + b, with T of the cell there. (a, b) express the kind of boundary, its
// value and the mesh width; config/config.hpp has the table.
template <class T>
ISOTHERM_HOST_DEVICE T boundary_ghost(T a, T b, T centre) {
  return fused_multiply_add(a, centre, b);
}

// A value for each sweep of a launch, in order. Constructed from one value, it is the same for all sweeps.
inline constexpr int most_sweeps_per_launch = 8;
template <class Value>
struct PerSweep {
  Value sweep[most_sweeps_per_launch];

  PerSweep() : PerSweep(Value{}) {}
  PerSweep(const Value& all) { std::fill(std::begin(sweep), std::end(sweep), all); }
  ISOTHERM_HOST_DEVICE const Value& operator[](int i) const { return sweep[i]; }
};

// Tiled GPU kernels treat the cells in 16 bytes of a row as cells of one class, that of the first. They
// assume that neighbours have the same class; in planes that are layers, neighbours across z have the class
// of their own 16 bytes. Mixed cells, for which this is wrong, are swept again, one by one: cells at other
// interfaces, in 16 bytes of several classes, or at a boundary across x or y that differs by cell. After a
// launch of n sweeps the n - 1 cells around these are wrong too. Indices are those of the fields.
struct MixedCells {
  static constexpr int most_sweeps = 4, most_distance = 2 * (most_sweeps - 1);
  static constexpr Int3 flat_brick{32, 4, 1}, cubic_brick{8, 4, 4};  // cells
  static constexpr int cells_of_brick = 128;                         // of both

  FieldView<const std::uint8_t> packs;  // the class of each 16 bytes; x in units of 16 bytes
  FieldView<const std::uint8_t>
      distance;  // to the nearest mixed cell, in cells, along the axis where it is largest
  Int3 brick{};  // its cells
  // Bricks cover the padded subdomain from its lower corner on, x fastest. `bricks` lists the lowest cell of
  // each brick, sorted by distance: the first within[0] bricks contain a mixed cell, the first within[d]
  // contain a cell at a distance of d or less.
  const Int3* bricks = nullptr;
  std::int32_t within[most_distance + 1] = {};
  // Layers are planes in which many 16 bytes have another class than those below or above them. next_layer[z]
  // is, for each plane z, ghosts included, the lowest layer at or above z, or else a large number.
  const std::int32_t* next_layer = nullptr;
  ISOTHERM_HOST_DEVICE bool is_layer(int z) const { return next_layer[z] == z; }
};

// The materials of a domain that has several: a byte for each cell, its class, and tables by class. Cells
// with neighbours of their own class are swept by the formula above, others by interface_update(). A void is
// a class too: its cells keep their values, which the cells of materials next to them read.
template <class T>
struct Materials {
  // Ghosts as in the fields; beyond a boundary, the class of the cell at the boundary. Empty: one material.
  FieldView<const std::uint8_t> classes;
  int count = 0;                                  // of classes
  PerSweep<const Coefficients<T>*> coefficients;  // by class
  // Conductance of a face, [axis][class of a cell][class of its neighbour], in W/(m^3 K) over the unit of the
  // tables, as that cell uses it; 0 if the cell is in a void.
  const T* conductance = nullptr;
  bool is_symmetric = false;     // do both sides of every face use the same value?
  const T* capacity = nullptr;   // rho c over that unit and the unit weight; null in a steady problem
  PerSweep<T> weight;            // read in a steady problem
  PerSweep<const T*> step;       // by class: weight over capacity, 0 for a void; null in a steady problem
  T source = 0;                  // factor of a stored source: its heat over the unit
  const double* heat = nullptr;  // rho c over that of class 0; 0 for a void
  const T* held = nullptr;       // K, by class: value of a void, NaN for a material. Null: there is no void
  MixedCells mixed;              // on a GPU
  FieldView<T> between[2];       // on a GPU, for launches of several sweeps: same layout as the fields

  ISOTHERM_HOST_DEVICE bool empty() const { return classes.empty(); }
  ISOTHERM_HOST_DEVICE T face(int axis, int own, int near) const {
    return conductance[(axis * count + own) * count + near];
  }
  ISOTHERM_HOST_DEVICE bool is_void(int of_class) const { return held && held[of_class] == held[of_class]; }
};

// Weights of a cell at an interface in one sweep: of differences to its neighbours, and of a stored source.
template <class T>
struct InterfaceCoefficients {
  T face[6], source;  // faces as the neighbours: x_lo, x_hi, y_lo, ...
};
// Computes them from the conductances of the cell's faces in c.face.
template <class T>
ISOTHERM_HOST_DEVICE InterfaceCoefficients<T> interface_coefficients(const Materials<T>& m, int own,
                                                                     InterfaceCoefficients<T> c, int sweep) {
  T step, sum = 0;
  if (m.step[sweep]) {
    step = m.step[sweep][own];
  } else {
    for (int f = 0; f < 6; ++f) sum = sum + c.face[f];
    step = sum > 0 ? m.weight[sweep] / sum : 0;  // 0 in a void, or in a cell that voids enclose
  }
  for (int f = 0; f < 6; ++f) c.face[f] = step * c.face[f];
  c.source = step * m.source;
  return c;
}
template <class T>
ISOTHERM_HOST_DEVICE InterfaceCoefficients<T> interface_coefficients(const Materials<T>& m, int own,
                                                                     const int (&near)[6], int sweep) {
  InterfaceCoefficients<T> c{};
  for (int f = 0; f < 6; ++f) c.face[f] = m.face(f / 2, own, near[f]);
  return interface_coefficients(m, own, c, sweep);
}

// Adds the heat through the faces of a cell to it: a uniform field stays uniform, and neighbours exchange the
// same heat. T: a number, or a vector of cells with the same coefficients.
template <class T>
ISOTHERM_HOST_DEVICE T interface_update(const InterfaceCoefficients<T>& c, T centre, T x_lo, T x_hi, T y_lo,
                                        T y_hi, T z_lo, T z_hi, T s) {
  const T beyond[] = {x_lo, x_hi, y_lo, y_hi, z_lo, z_hi};
  T change = c.source * s;
  for (int f = 0; f < 6; ++f) change = fused_multiply_add(c.face[f], beyond[f] - centre, change);
  return centre + change;
}

// Updates a cell in a domain of several materials, in sweep `sweep` of a launch; `s` is as stored.
// `interface()` returns its interface_coefficients().
template <class T, class Interface>
ISOTHERM_HOST_DEVICE T material_update(const Materials<T>& m, int own, const int (&near)[6],
                                       const Interface& interface, T centre, T x_lo, T x_hi, T y_lo, T y_hi,
                                       T z_lo, T z_hi, T s, int sweep = 0) {
  bool is_among_own = true;
  for (const int other : near) is_among_own = is_among_own && other == own;
  if (is_among_own) {
    const Coefficients<T> c = m.coefficients[sweep][own];
    return stencil_update(c, centre, x_lo, x_hi, y_lo, y_hi, z_lo, z_hi, scaled_source(c, s));
  }
  return interface_update(interface(), centre, x_lo, x_hi, y_lo, y_hi, z_lo, z_hi, s);
}
template <class T>
ISOTHERM_HOST_DEVICE T material_update(const Materials<T>& m, Index x, Index y, Index z, T centre, T x_lo,
                                       T x_hi, T y_lo, T y_hi, T z_lo, T z_hi, T s, int sweep = 0) {
  const std::uint8_t* const at = &m.classes(x, y, z);
  const Index py = m.classes.pitch_y, pz = m.classes.pitch_z;
  const int own = at[0], near[] = {at[-1], at[1], at[-py], at[py], at[-pz], at[pz]};
  const auto interface = [&] { return interface_coefficients(m, own, near, sweep); };
  return material_update(m, own, near, interface, centre, x_lo, x_hi, y_lo, y_hi, z_lo, z_hi, s, sweep);
}

inline constexpr std::array<std::string_view, 1> one_tile = {"-"};

// A boundary cell in a domain of several materials: its ghost is a T + slope times the boundary's b.
template <class T>
struct CellBoundary {
  T a, slope;
  double conductance;  // k of the cell along the normal, over that of the first class
};

// One boundary of this rank's subdomain, or no boundary (`is_boundary` false: the ghosts come from a
// neighbour). b: kelvin. Where `b_field` is null, b is the same over the face; else b of the cell with
// tangential indices (p, q) is b_field[p + q * pitch], and in the n-th sweep of a launch n * sweep_pitch
// further on. (p, q) are (y, z) on x faces, (x, z) on y faces, (x, y) on z faces, interior indices; they run
// from -ghosts to extent + ghosts - 1, and b_field points at (0, 0). b_field and a_field are in the device's
// memory. Only kernels with takes_varying_a() read a_field: a of each cell, in all sweeps of a launch.
template <class T>
struct Boundary {
  bool is_boundary = false;
  T a = 0;
  PerSweep<T> b = {};
  const T* b_field = nullptr;
  Index pitch = 0, sweep_pitch = 0;
  const T* a_field = nullptr;              // with the pitch of b_field
  const CellBoundary<T>* cells = nullptr;  // as b_field; null with one material
  Index cells_pitch = 0;
  bool differs_by_cell = false;  // of several materials: else a and b hold for all cells

  ISOTHERM_HOST_DEVICE T b_at(Index p, Index q, int sweep = 0) const {
    return b_field ? b_field[p + q * pitch + sweep * sweep_pitch] : b[sweep];
  }
  // For any domain; kernels for one material may read a and b directly.
  ISOTHERM_HOST_DEVICE T ghost(Index p, Index q, T centre, int sweep = 0) const {
    if (!cells) return boundary_ghost(a_field ? a_field[p + q * pitch] : a, b_at(p, q, sweep), centre);
    const CellBoundary<T>& cell = cells[p + q * cells_pitch];
    return boundary_ghost(cell.a, cell.slope * b_at(p, q, sweep), centre);
  }
  bool is_uniform() const { return !a_field && !b_field && !cells; }
  ISOTHERM_HOST_DEVICE double conductance_at(Index p, Index q) const {
    return cells ? cells[p + q * cells_pitch].conductance : 1;
  }
};

template <class T>
struct Boundaries {
  Boundary<T> faces[face_count];  // by Face

  bool have_varying_a() const {
    return std::any_of(std::begin(faces), std::end(faces),
                       [](const Boundary<T>& each) { return each.a_field != nullptr; });
  }
  // A box of a subdomain of that extent, with `by` more cells on each side, but none beyond a boundary.
  ISOTHERM_HOST_DEVICE Box widened(Box box, Index by, Int3 extent) const {
    for (int axis = 0; axis < 3; ++axis) {
      Index &lo = box.lo[axis], &hi = box.hi[axis];
      lo -= by;
      hi += by;
      if (faces[2 * axis].is_boundary && lo < 0) lo = 0;
      if (faces[2 * axis + 1].is_boundary && hi > extent[axis]) hi = extent[axis];
    }
    return box;
  }
};

// A second destination of the cells at a face: memory of the neighbour there, perhaps on another device. Cell
// (p, q), indices as in Boundary, is stored in to[p + q * pitch]; null: not stored. Across y and z these are
// the neighbour's ghosts; across x, where ghosts are not contiguous, an x-face buffer outside the field with
// a column for each plane. Rows start at multiples of 16 bytes.
template <class T>
struct FaceStore {
  T* to = nullptr;
  Index pitch = 0;
  int link = 0;  // to the neighbour
};
// Columns are padded to multiples of this many cells, and the padding may be read.
inline constexpr Index column_unit = 64;
// Stores of all faces that have a neighbour. The k-th sweep with face stores signals to all neighbours that
// the (k-1)-th has ended, and continues when they have signalled the same (production/face_stores.hpp). So
// neighbours must run the same such sweeps, in two alternating fields. The wait needs one device per rank.
template <class T>
struct FaceStores {
  FaceStore<T> faces[face_count];  // by Face
  // The columns that the neighbours have stored for this device, instead of ghosts beyond the lower and the
  // upper x face of `in`: cell (y, z) at columns[upper][y + z * column_pitch]. Null where there is none.
  const T* columns[2] = {};
  Index column_pitch = 0;
  PeerLinks links = {};

  ISOTHERM_HOST_DEVICE const FaceStore<T>& at(Face f) const { return faces[static_cast<int>(f)]; }
  bool any() const { return links.count > 0; }
};

// A norm of the update out - in over the region, of the last sweep of a time block. A kernel that
// `fuses_norm` computes it in the sweep itself. Differences and sums in fp64, as in a reduction kernel.
struct UpdateNorm {
  ReductionOp op = ReductionOp::max_abs;  // or sum_abs, sum_squares
  double* result = nullptr;  // one value in this device's memory, written in stream order; null: no norm
  void* scratch = nullptr;   // norm_scratch_bytes(region, tile) of this device's memory
  bool accumulate = false;   // combine with the value in `result`: a step in several regions has one norm
};

// Launch configuration of a kernel; the bits of the field do not depend on it.
struct SweepPlan {
  int time_block = 1;  // sweeps per launch
  int tile = 0;        // of the kernel's tiles
};

// `time_block` Jacobi sweeps of `region`; cells of `out` outside `region` stay untouched.
template <class T>
struct SweepArgs {
  FieldView<const T> in;  // kelvin; valid `time_block` cells around the region, one beyond boundaries
  FieldView<T> out;       // same shape as in, other memory
  // Interior indices: the subdomain, its interior, or a box next to that. It may include ghosts that hold a
  // neighbour's cells, except the last `time_block` layers; never cells beyond a boundary.
  Box region;
  PerSweep<Coefficients<T>> c;
  Boundaries<T> boundaries;   // the kernel applies those across its own_boundaries; those across other axes
                              // are in the ghosts
  FieldView<const T> source;  // kelvin per sweep of the unit weight, with as many ghosts as `in` has; empty:
                              // Coefficients::heat
  UpdateNorm norm;
  Materials<T> materials = {};  // only for a kernel that sweeps_materials
  FaceStores<T> stores = {};    // only for a kernel that stores_faces(), the whole subdomain, without a norm
};

// Runs one sweep in two parts: the interior, which reads no exchanged ghost, and after the exchange the
// exterior, the rest of the region. Boundaries of all axes are applied.
template <class T>
struct ExteriorSweep {
  // Returns the part of `available`, a box in `region`, that is best swept first; may be empty.
  Box (*interior)(Box region, Box available, int tile);
  // Sweeps args.region without `interior`, a box that interior() has returned and that is not empty.
  void (*launch)(const SweepArgs<T>& args, Box interior, SweepPlan plan, Stream stream);
  std::size_t (*norm_scratch_bytes)(Box region, Box interior, int tile);
};

// Memory that launches of a kernel keep for later ones of the same thread.
struct LaunchMemory {
  std::size_t (*bytes)(Box region, SweepPlan plan);  // needed by a launch
  std::size_t (*held)();                             // by this thread, at present
  void (*release)();                                 // frees it; the next launch allocates it again
};

// One kernel of the registry. Asynchronous on `stream`. Its only state is LaunchMemory; it allocates and
// synchronises nothing else.
template <class T>
struct StencilKernel : KernelEntry {
  void (*launch)(const SweepArgs<T>& args, SweepPlan plan,
                 Stream stream) = nullptr;  // null: not in this build
  // The most sweeps per launch. If more than one, the kernel applies the boundaries of all axes itself.
  int max_time_block = 1;
  // The axes across which the kernel computes boundary ghosts itself: those ghosts are not filled for it.
  std::array<bool, 3> own_boundaries{};
  // Tiles (block shapes, rows per thread, chunks of z), by name; the first is the default.
  std::span<const std::string_view> tiles = one_tile;
  // Null where the kernel cannot return the norm of its update.
  std::size_t (*norm_scratch_bytes)(Box region, int tile) = nullptr;
  // Null: the kernel sweeps the exterior as boxes, one after another.
  const ExteriorSweep<T>* exterior = nullptr;
  // Does a sweep of this subdomain store its faces as SweepArgs::stores requests? `column_above`: the upper x
  // face is one of them. Null: the kernel never does.
  bool (*stores_faces)(Box block, bool column_above, int tile) = nullptr;
  // Why the current device cannot run the kernel with this tile; empty where it can. Null: every device can.
  std::string (*unsupported)(int tile) = nullptr;
  KernelResources (*resources)(int tile) = nullptr;  // null on the host
  const LaunchMemory* memory = nullptr;              // null: launches keep none
  // The most cells that a subdomain may have along an axis.
  Index longest_axis = std::numeric_limits<Index>::max();
  // The most in a plane across z, with 64 beyond each of its edges: ghosts, the rest of a tile.
  Index largest_plane = std::numeric_limits<Index>::max();

  bool sweeps_materials = false;    // several materials; on a GPU without a norm
  bool calls_ghost = false;         // calls Boundary::ghost() across its own_boundaries
  bool suits_small_blocks = false;  // on a GPU: kernels that walk along z leave most of it idle

  bool available() const { return launch != nullptr; }
  bool fuses_norm() const { return norm_scratch_bytes != nullptr; }
  // Whether the a of boundary ghosts may differ by cell, in a domain of one material.
  bool takes_varying_a() const { return calls_ghost || own_boundaries == std::array<bool, 3>{}; }
  std::string why_unsupported(int tile) const { return unsupported ? unsupported(tile) : ""; }
};

// The kernels of the registry, those of the host compiled for `set`, which this processor must support.
template <class T>
std::span<const StencilKernel<T>> stencil_kernels(InstructionSet set = instruction_set());

// The boundaries whose ghosts must be filled before a kernel with these `own_boundaries`.
template <class T>
Boundaries<T> boundaries_in_ghosts(const std::array<bool, 3>& own_boundaries, Boundaries<T> boundaries) {
  for (int f = 0; f < face_count; ++f) {
    if (own_boundaries[static_cast<std::size_t>(f / 2)]) boundaries.faces[f].is_boundary = false;
  }
  return boundaries;
}

// Does the kernel's `exterior` run a step in two parts? With temporal blocking the exterior is swept as
// boxes, each with its margins.
template <class T>
bool has_exterior(const StencilKernel<T>& kernel, SweepPlan plan) {
  return kernel.exterior && plan.time_block == 1;
}
// The part of `region` that this kernel sweeps before an exchange ends, among the cells available then; may
// be empty.
template <class T>
Box interior_of(const StencilKernel<T>& kernel, Box region, Box available, SweepPlan plan) {
  return has_exterior(kernel, plan) && !available.empty()
             ? kernel.exterior->interior(region, available, plan.tile)
             : available;
}
// Sweeps the rest of args.region and adds its update to the same norm.
template <class T>
void launch_exterior(const StencilKernel<T>& kernel, SweepArgs<T> args, Box interior, SweepPlan plan,
                     Stream stream) {
  if (has_exterior(kernel, plan) && !interior.empty() && args.materials.empty() &&
      !args.boundaries.have_varying_a())
    return kernel.exterior->launch(args, interior, plan, stream);
  for (const Box& box : boxes_around(args.region, interior)) {
    args.region = box;
    kernel.launch(args, plan, stream);
    args.norm.accumulate = true;
  }
}
// Bytes of scratch for the norm of interior and exterior, if the kernel fuses it.
template <class T>
std::size_t split_scratch_bytes(const StencilKernel<T>& kernel, Box region, Box interior, SweepPlan plan) {
  std::size_t most = 0;
  const auto count = [&](Box box) { most = std::max(most, kernel.norm_scratch_bytes(box, plan.tile)); };
  if (!interior.empty()) count(interior);
  if (has_exterior(kernel, plan) && !interior.empty())
    return std::max(most, kernel.exterior->norm_scratch_bytes(region, interior, plan.tile));
  for (const Box& box : boxes_around(region, interior)) count(box);
  return most;
}

// Least traffic of `time_block` sweeps per cell, in bytes: one read and one write, and one read of the source
// if there is one.
template <class T>
constexpr double least_bytes_per_cell(bool has_source) {
  return sizeof(T) * (has_source ? 3.0 : 2.0);
}

}  // namespace isotherm
