// The per-cell work around a halo exchange on the GPU: kernels that gather and scatter boxes of cells, and
// the ghosts beyond boundaries. One thread per cell. A box is a face or a ghost layer, so its time is that of
// the launch. The cells of an x face are a whole row apart and cost a 32-byte sector each in any mapping.
#include "kernels/cuda/launch.hpp"
#include "kernels/face_copy.hpp"

namespace isotherm::cuda {
namespace {

constexpr dim3 wide(warp_size, 8, 1);
constexpr int threads = warp_size * 8;

__device__ __forceinline__ Index dense_offset(Int3 cell, Box box) {
  const Int3 n = box.extent(), at = cell - box.lo;
  return at.x + n.x * (at.y + n.y * at.z);
}

template <class T>
__global__ void __launch_bounds__(threads)
    pack_cells(FieldView<const T> field, Box box, Int3 first, T* dense) {
  const Int3 cell = cell_of_thread(first);
  if (!beyond(cell, box.hi)) dense[dense_offset(cell, box)] = field(cell);
}

template <class T>
__global__ void __launch_bounds__(threads)
    unpack_cells(const T* dense, FieldView<T> field, Box box, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (!beyond(cell, box.hi)) field(cell) = dense[dense_offset(cell, box)];
}

template <class T>
__global__ void __launch_bounds__(threads)
    copy_cells(FieldView<T> field, Int3 first, Int3 hi, Int3 to_target) {
  const Int3 cell = cell_of_thread(first);
  if (!beyond(cell, hi)) field(cell + to_target) = field(cell);
}

template <class T>
__global__ void __launch_bounds__(threads) fill_cells(FieldView<T> field, Int3 first, Int3 hi, T value) {
  const Int3 cell = cell_of_thread(first);
  if (!beyond(cell, hi)) field(cell) = value;
}

template <class T>
void pack(FieldView<const T> field, Box box, T* dense, Stream stream) {
  over_cells(box, wide, [&](const Threads& blocks, Int3 first) {
    launch("pack_cells", pack_cells<T>, blocks, stream, field, box, first, dense);
  });
}

template <class T>
void unpack(const T* dense, FieldView<T> field, Box box, Stream stream) {
  over_cells(box, wide, [&](const Threads& blocks, Int3 first) {
    launch("unpack_cells", unpack_cells<T>, blocks, stream, dense, field, box, first);
  });
}

template <class T>
void copy_within(FieldView<T> field, Box from, Box to, Stream stream) {
  over_cells(from, wide, [&](const Threads& blocks, Int3 first) {
    launch("copy_cells", copy_cells<T>, blocks, stream, field, first, from.hi, to.lo - from.lo);
  });
}

template <class T>
void fill(FieldView<T> field, T value, Stream stream) {
  Box box = field.padded();
  box.hi.x = field.pitch_y - field.ghosts;  // padding of rows included: wide loads read it
  if (value == 0) {                         // memset takes two thirds of the time
    T* const from = &field(box.lo);
    const auto bytes = static_cast<std::size_t>(&field(box.hi - Int3{1, 1, 1}) + 1 - from) * sizeof(T);
    return check(cudaMemsetAsync(from, 0, bytes, native(stream)), "cudaMemsetAsync");
  }
  over_cells(box, wide, [&](const Threads& blocks, Int3 first) {
    launch("fill_cells", fill_cells<T>, blocks, stream, field, first, box.hi, value);
  });
}

// The ghost layer beyond one boundary, as tangential indices lo <= p, q < lo + extent, and the blocks of the
// grid that fill it. p runs fastest.
struct BoundaryLayer {
  int face = 0;
  Index p_lo = 0, p_extent = 0, q_lo = 0, q_extent = 0;
  Index first_block = 0;
};

// All boundaries of a subdomain, so that one launch fills them all: on small grids six launches would take
// longer than the sweep. Boundaries write disjoint cells and read none that another writes, because the
// region, and so each layer, has no ghosts beyond another boundary.
struct BoundaryLayers {
  BoundaryLayer layers[face_count];
  int count = 0;
  Index blocks = 0;
};

// Tangential axes of the faces of an axis, in the order of Boundary::b_field.
constexpr int p_axis[3] = {1, 0, 0};
constexpr int q_axis[3] = {2, 2, 1};

template <class T>
BoundaryLayers boundary_layers(const FieldView<T>& field, const Boundaries<T>& boundaries, Box region) {
  const auto ends_at = [&](int axis, bool max) {
    return max ? region.hi[axis] == field.extent[axis] : region.lo[axis] == 0;
  };
  BoundaryLayers all;
  for (int f = 0; f < face_count && !region.empty(); ++f) {
    if (!boundaries.faces[f].is_boundary || !ends_at(f / 2, f % 2 == 1)) continue;
    const int p = p_axis[f / 2], q = q_axis[f / 2];
    BoundaryLayer& layer = all.layers[all.count++];
    layer.face = f;
    layer.p_lo = region.lo[p];
    layer.q_lo = region.lo[q];
    layer.p_extent = region.extent()[p];
    layer.q_extent = region.extent()[q];
    layer.first_block = all.blocks;
    all.blocks += ceil_div(layer.p_extent * layer.q_extent, threads);
  }
  return all;
}

__device__ __forceinline__ Int3 cell_on_axis(int axis, Index normal, Index p, Index q) {
  if (axis == 0) return {normal, p, q};
  if (axis == 1) return {p, normal, q};
  return {p, q, normal};
}

template <class T>
__global__ void __launch_bounds__(threads)
    fill_boundary_ghosts(FieldView<T> field, Boundaries<T> boundaries, BoundaryLayers all) {
  int i = all.count - 1;
  while (blockIdx.x < all.layers[i].first_block) --i;
  const BoundaryLayer& layer = all.layers[i];
  const Index at = (blockIdx.x - layer.first_block) * threads + threadIdx.x;
  if (at >= layer.p_extent * layer.q_extent) return;
  const Index p = layer.p_lo + at % layer.p_extent, q = layer.q_lo + at / layer.p_extent;

  const int axis = layer.face / 2;
  const Index n = axis == 0 ? field.extent.x : axis == 1 ? field.extent.y : field.extent.z;
  const bool max = layer.face % 2 == 1;
  const T centre = field(cell_on_axis(axis, max ? n - 1 : 0, p, q));
  const Boundary<T>& boundary = boundaries.faces[layer.face];
  field(cell_on_axis(axis, max ? n : -1, p, q)) = boundary.ghost(p, q, centre);
}

template <class T>
void fill_boundaries(FieldView<T> field, Boundaries<T> boundaries, Box region, Stream stream) {
  const BoundaryLayers all = boundary_layers(field, boundaries, region);
  if (all.blocks == 0) return;
  launch("fill_boundary_ghosts", fill_boundary_ghosts<T>, {static_cast<unsigned>(all.blocks), threads},
         stream, field, boundaries, all);
}

}  // namespace

ISOTHERM_FUNCTIONS(functions, FaceCopy, pack<T>, unpack<T>, copy_within<T>, fill_boundaries<T>, fill<T>)

}  // namespace isotherm::cuda
