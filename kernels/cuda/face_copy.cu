// The per-cell work around a halo exchange on the GPU: kernels that gather and scatter boxes of cells, and
// the ghosts beyond boundaries. One thread per cell. A box is a face or a ghost layer, so its time is that of
// the launch. The cells of an x face are a whole row apart and cost a 32-byte sector each in any mapping.
#include "kernels/cuda/launch.hpp"
#include "kernels/face_copy.hpp"

namespace isotherm::cuda {
namespace {

// Copies all cells of a view to another of the same extent.
template <class T>
void copy(const char* name, FieldView<const T> from, FieldView<T> to, Stream stream) {
  launch_for_cells(name, from.interior(), stream, [=] __device__(Int3 cell) { to(cell) = from(cell); });
}

template <class T>
void pack(FieldView<const T> field, Box box, T* dense, Stream stream) {
  copy("pack_cells", field.part(box), dense_view(dense, box.extent()), stream);
}

template <class T>
void unpack(const T* dense, FieldView<T> field, Box box, Stream stream) {
  copy("unpack_cells", dense_view(dense, box.extent()), field.part(box), stream);
}

template <class T>
void copy_within(FieldView<T> field, Box from, Box to, Stream stream) {
  copy<T>("copy_cells", field.part(from), field.part(to), stream);
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
  launch_for_cells("fill_cells", box, stream, [=] __device__(Int3 cell) { field(cell) = value; });
}

constexpr int threads = 256;  // of a block for boundaries

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
