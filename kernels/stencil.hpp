// What a stencil row is: its arguments, its entry in the table.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "core/box.hpp"
#include "core/device.hpp"
#include "core/field_view.hpp"
#include "kernels/host_info.hpp"
#include "kernels/kernel_resources.hpp"
#include "kernels/peer_links.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil_update.hpp"

namespace isotherm {

inline constexpr std::array<std::string_view, 1> one_policy = {"-"};

// One boundary of this rank's block, or no boundary (`is_boundary` false: the ghosts come from a neighbour).
// b: kelvin. Where `b_field` is null, b is the same over the face; else b of the cell with tangential indices
// (p, q) is b_field[p + q * pitch]. (p, q) are (y, z) on x faces, (x, z) on y faces, (x, y) on z faces,
// interior indices; they run from -ghosts to extent + ghosts - 1, and b_field points at (0, 0). It lies in
// the device's memory.
template <class T>
struct Boundary {
  bool is_boundary = false;
  T a = 0, b = 0;
  const T* b_field = nullptr;
  Index pitch = 0;

  ISOTHERM_HOST_DEVICE T b_at(Index p, Index q) const { return b_field ? b_field[p + q * pitch] : b; }
};

template <class T>
struct Boundaries {
  Boundary<T> faces[face_count];  // by Face
};

// Where a sweep puts what it leaves at a face of the block beside `out`, for the neighbour there, whom
// another device may hold: cell (p, q), indices as a boundary's, goes to to[p + q * pitch]; null: nowhere.
// Across y and z these are the neighbour's ghosts. Across x, where a ghost stands alone in its row and would
// cross the link as a packet of its own, they are a column for each plane, beside the field. Rows start at
// multiples of 16 bytes.
template <class T>
struct FaceStore {
  T* to = nullptr;
  Index pitch = 0;
  int link = 0;  // to the neighbour
};
// Cells of a column that may be read, whatever the length of the face.
inline constexpr Index column_unit = 64;
// Of all faces that have a neighbour. The k-th sweep with them tells all neighbours that the (k-1)-th has
// ended, and goes on when they have told it the same: their cells are in its ghosts then, and theirs of the
// field that it writes have been read. So neighbours take such sweeps alike, in two fields that alternate, or
// a sweep follows an exchange. It waits on the device: each of its ranks has a device of its own.
template <class T>
struct FaceStores {
  FaceStore<T> faces[face_count];  // by Face
  // What the neighbours have left for this device beyond the lower and the upper face across x of `in`, in
  // place of ghosts: cell (y, z) at columns[upper][y + z * column_pitch]. Null where there is none.
  const T* columns[2] = {};
  Index column_pitch = 0;
  PeerLinks links = {};

  ISOTHERM_HOST_DEVICE const FaceStore<T>& at(Face f) const { return faces[static_cast<int>(f)]; }
  bool any() const { return links.count > 0; }
};

// A norm of the update out - in over the region, of fused sweeps the last one's, which a row that
// `fuses_norm` returns from the sweep itself: no second pass over the fields. Differences and sums in fp64,
// as in a reduction row.
struct UpdateNorm {
  ReductionOp op = ReductionOp::max_abs;
  double* result = nullptr;  // one value in this device's memory, written in stream order; null: no norm
  void* scratch = nullptr;   // norm_scratch_bytes(region, policy) of this device's memory
  bool accumulate = false;   // joined with the value that is there: a step in several regions has one norm
};

// How a row goes about it; the bits of the field depend on neither.
struct SweepPlan {
  int depth = 1;   // sweeps that the launch fuses
  int policy = 0;  // of the row's policies
};

// `depth` Jacobi sweeps of `region`; cells of `out` outside `region` stay untouched.
template <class T>
struct SweepArgs {
  FieldView<const T> in;  // kelvin; valid `depth` cells around the region, beyond boundaries one
  FieldView<T> out;       // same shape as in, other memory
  // Interior indices: the block, its interior, a box beside that. It may reach into the ghosts, `depth`
  // layers short of the last, where these hold a neighbour's cells: never beyond a boundary.
  Box region;
  Coefficients<T> c;
  Boundaries<T> boundaries;  // applied by the row across its own_boundaries; across other axes boundaries are
                             // in the ghosts
  FieldView<const T> source;  // kelvin a sweep; may be empty; ghosts as deep as those of `in`
  UpdateNorm norm;
  FaceStores<T> stores = {};  // only to a row that stores_faces(), of the whole block, and without a norm
};

// How a row goes about a step in two parts, of one sweep: the interior, which needs nothing that an exchange
// brings, and the rest of the region, once it is there. Cells as a row's; boundaries of all axes are applied.
template <class T>
struct RestSweep {
  // The part of `at_hand`, which lies in `region`, that is best swept first; may be empty.
  Box (*interior)(Box region, Box at_hand, int policy);
  // Sweeps args.region without `interior`, one of that function's and not empty.
  void (*launch)(const SweepArgs<T>& args, Box interior, SweepPlan plan, Stream stream);
  std::size_t (*norm_scratch_bytes)(Box region, Box interior, int policy);
};

// Memory beside the fields that launches of a row keep for those that follow, in the thread that launches.
struct LaunchMemory {
  std::size_t (*bytes)(Box region, SweepPlan plan);  // that a launch needs
  std::size_t (*held)();                             // by this thread, now
  void (*release)();                                 // until the next launch
};

// One row of the table. Asynchronous on `stream`; holds no state but LaunchMemory; allocates and synchronises
// nothing else.
template <class T>
struct StencilKernel {
  std::string_view name;  // the deck's word, the report's, the test's
  Backend backend;
  std::string_view remark;
  void (*launch)(const SweepArgs<T>& args, SweepPlan plan,
                 Stream stream) = nullptr;  // null: not in this build
  // Sweeps that one launch can fuse. Where more than one, the row applies the boundaries of all axes itself:
  // between its sweeps nobody fills ghosts.
  int max_depth = 1;
  // The axes across which the row applies the boundary rule itself: nobody fills those ghosts for it. A ghost
  // beyond an x boundary costs a cache line or two a row of cells.
  std::array<bool, 3> own_boundaries{};
  // Ways to cut the work (block shapes, rows a thread, chunks of z), by name; the first is the one to take
  // unasked. Which is fastest depends on device and shape: `auto` tries them.
  std::span<const std::string_view> policies = one_policy;
  // Null where the row cannot return the norm of its update.
  std::size_t (*norm_scratch_bytes)(Box region, int policy) = nullptr;
  // Null: the row sweeps the boxes around the interior one after another.
  const RestSweep<T>* rest = nullptr;
  // Does a sweep of this block store its faces where SweepArgs::stores says? `column_above`: the upper face
  // across x is one of them. Null: the row never does.
  bool (*stores_faces)(Box block, bool column_above, int policy) = nullptr;
  // Why the current device cannot run the row in this policy; empty where it can. Null: every device can.
  std::string (*unsupported)(int policy) = nullptr;
  KernelResources (*resources)(int policy) = nullptr;  // null on the host
  const LaunchMemory* memory = nullptr;                // null: launches keep none
  // The most cells that a block may have along an axis.
  Index longest_axis = std::numeric_limits<Index>::max();

  // Whether `auto` may take it. A row that others are compared with, or explained by, need not cost a trial.
  bool on_trial = true;

  bool available() const { return launch != nullptr; }
  bool fuses_norm() const { return norm_scratch_bytes != nullptr; }
  std::string why_unsupported(int policy) const { return unsupported ? unsupported(policy) : ""; }
};

// The host's rows with their functions for that instruction set, which this processor must have.
template <class T>
std::span<const StencilKernel<T>> stencil_kernels(InstructionSet set = instruction_set());

// The boundaries whose ghosts must be filled before this row sweeps.
template <class T>
Boundaries<T> boundaries_in_ghosts(const StencilKernel<T>& row, Boundaries<T> boundaries) {
  for (int f = 0; f < face_count; ++f) {
    if (row.own_boundaries[static_cast<std::size_t>(f / 2)]) boundaries.faces[f].is_boundary = false;
  }
  return boundaries;
}

// Does a step in two parts go the row's own way? Fused sweeps take boxes, each with margins of its own.
template <class T>
bool has_rest(const StencilKernel<T>& row, SweepPlan plan) {
  return row.rest && plan.depth == 1;
}
// What of `region` this row sweeps before an exchange is over, out of what is at hand by then; may be empty.
template <class T>
Box interior_of(const StencilKernel<T>& row, Box region, Box at_hand, SweepPlan plan) {
  return has_rest(row, plan) && !at_hand.empty() ? row.rest->interior(region, at_hand, plan.policy) : at_hand;
}
// Sweeps args.region without that, into one norm.
template <class T>
void sweep_rest(const StencilKernel<T>& row, SweepArgs<T> args, Box interior, SweepPlan plan, Stream stream) {
  if (has_rest(row, plan) && !interior.empty()) return row.rest->launch(args, interior, plan, stream);
  for (const Box& box : boxes_around(args.region, interior)) {
    args.region = box;
    row.launch(args, plan, stream);
    args.norm.accumulate = true;
  }
}
// For their norm, interior and rest, where the row fuses it.
template <class T>
std::size_t parts_scratch_bytes(const StencilKernel<T>& row, Box region, Box interior, SweepPlan plan) {
  std::size_t most = 0;
  const auto count = [&](Box box) { most = std::max(most, row.norm_scratch_bytes(box, plan.policy)); };
  if (!interior.empty()) count(interior);
  if (has_rest(row, plan) && !interior.empty())
    return std::max(most, row.rest->norm_scratch_bytes(region, interior, plan.policy));
  for (const Box& box : boxes_around(region, interior)) count(box);
  return most;
}

// Least traffic of `depth` sweeps a cell, in bytes: one read and one write, and one read of the source if
// there is one.
template <class T>
constexpr double least_bytes_per_cell(bool has_source) {
  return sizeof(T) * (has_source ? 3.0 : 2.0);
}

}  // namespace isotherm
