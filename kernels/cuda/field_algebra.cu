// Linear combinations, defects and changes of fields on the GPU.
//
// Mapping   combinations: a thread takes a cell; changes: a pack of cells. Defects: a thread walks up along z
//           with a pack in each of two rows. Planes stay in registers, x neighbours are exchanged by warp
//           shuffle, neighbouring rows are read from L1.
// Traffic   a combination: a read and a write of each field; a defect: a read of the field and its source, a
//           write of the defect; a change: its read, a read and a write of the field.
#include "kernels/cuda/launch.hpp"
#include "kernels/field_algebra.hpp"
#include "kernels/production/tile_update.hpp"

namespace isotherm::cuda {
namespace {

template <class T>
void combine(const FieldPair<T>& pair, Stream stream) {
  launch_for_cells("combine_cells", pair.region, stream,
                   [=] __device__(Int3 cell) { combine_cell(pair, pair.x(cell), pair.y(cell)); });
}

constexpr int threads = 256, rows = 2;  // rows of a thread; two blocks share an SM

// The thread blocks along each axis, and the planes that a block walks through.
struct Walk {
  unsigned blocks_x, blocks_y, blocks_z;
  Index planes;

  template <class T>
  static Walk over(Int3 cells) {
    const auto blocks = [](Index n, Index of_block) { return static_cast<unsigned>(ceil_div(n, of_block)); };
    const Index planes = cells.product() < Index{1} << 21 ? 2 : 16;
    return {blocks(cells.x, warp_size * Pack<T>::cells), blocks(cells.y, rows * threads / warp_size),
            blocks(cells.z, planes), planes};
  }
  unsigned blocks() const { return blocks_x * blocks_y * blocks_z; }
};

// A number for each cell of a pack of T.
template <class T, class Number>
struct alignas(Pack<T>::cells * sizeof(Number)) OfPack {
  Number v[Pack<T>::cells];

  static __device__ __forceinline__ OfPack load(const Number* from) {
    return *reinterpret_cast<const OfPack*>(from);
  }
  // Stores the first `count` numbers.
  __device__ __forceinline__ void store(Index count, Number* to) const {
    if (count >= Pack<T>::cells) {
      *reinterpret_cast<OfPack*>(to) = *this;
      return;
    }
#pragma unroll
    for (int i = 0; i < Pack<T>::cells; ++i)
      if (i < count) to[i] = v[i];
  }
};

// Lanes beyond the region repeat its last pack and store nothing: shuffles need all lanes.
template <class T, class Change, class Norm>
__global__ void __launch_bounds__(threads, 2) find_columns(Defect<T, Change> d, Walk walk) {
  constexpr int cells = Pack<T>::cells, warps = threads / warp_size;
  const Int3 n = d.region.hi;
  const int lane = threadIdx.x % warp_size;
  const unsigned row_of_blocks = blockIdx.x / walk.blocks_x;
  const Index own_x = (Index{blockIdx.x % walk.blocks_x} * warp_size + lane) * cells;
  const Index y = (Index{row_of_blocks % walk.blocks_y} * warps + threadIdx.x / warp_size) * rows;
  const Index z_lo = row_of_blocks / walk.blocks_y * walk.planes, z_hi = min(z_lo + walk.planes, n.z);
  const Index x = min(own_x, pack_floor<T>(n.x - 1)), pitch_y = d.field.pitch_y, pitch_z = d.field.pitch_z;
  const bool is_first = lane == 0, is_last = lane == warp_size - 1 || x + cells >= n.x;
  const Index kept = own_x == x ? n.x - x : 0;  // cells of the pack that are stored
  Norm norm;
  if (y < n.y) {  // a whole warp
    const T* from = &d.field(x, y, z_lo);
    const T* source = d.source.empty() ? nullptr : &d.source(x, y, z_lo);
    const auto plane = [](const T* first, Index pitch, Pack<T>(&packs)[rows]) {
#pragma unroll
      for (int j = 0; j < rows; ++j) packs[j] = Pack<T>::load(first + j * pitch);
    };
    Pack<T> below[rows], at[rows], above[rows],
        sources[rows] = {Pack<T>::all(d.unit.heat), Pack<T>::all(d.unit.heat)};
    plane(from - pitch_z, pitch_y, below);
    plane(from, pitch_y, at);
    for (Index z = z_lo; z < z_hi; ++z, from += pitch_z) {
      plane(from + pitch_z, pitch_y, above);
      if (source) plane(source + (z - z_lo) * d.source.pitch_z, d.source.pitch_y, sources);
      const Pack<T> y_prev = Pack<T>::load(from - pitch_y), y_next = Pack<T>::load(from + rows * pitch_y);
#pragma unroll
      for (int j = 0; j < rows; ++j) {
        T x_lo = __shfl_up_sync(0xffffffffu, at[j].v[cells - 1], 1);
        T x_hi = __shfl_down_sync(0xffffffffu, at[j].v[0], 1);
        if (is_first) x_lo = from[j * pitch_y - 1];
        if (is_last) x_hi = from[j * pitch_y + cells];
        const Neighbours<T> near{
            at[j], j > 0 ? at[j - 1] : y_prev, j < rows - 1 ? at[j + 1] : y_next, below[j], above[j], x_lo,
            x_hi};
        const Pack<T> made = updated_pack(d.unit, near, scaled_source(d.unit, sources[j]));
        const Index count = y + j < n.y ? kept : 0;
        OfPack<T, Change> defects;
#pragma unroll
        for (int i = 0; i < cells; ++i) {
          defects.v[i] = defect_of(d, made.v[i] - at[j].v[i]);
          if (i < count) norm.add(made.v[i], at[j].v[i], i);
        }
        if (!d.defect.empty()) defects.store(count, &d.defect(x, y + j, z));
      }
#pragma unroll
      for (int j = 0; j < rows; ++j) {
        below[j] = at[j];
        at[j] = above[j];
      }
    }
  }
  norm.template store<threads>(static_cast<double*>(d.norm.scratch));
}

template <class T>
std::size_t norm_scratch_bytes(Box region) {
  return Walk::over<T>(region.hi).blocks() * sizeof(double);
}

template <class T, class Change>
void find_defect(const Defect<T, Change>& d, Stream stream) {
  const Walk walk = Walk::over<T>(d.region.hi);
  with_norm(d.norm, [&]<class Norm>() {
    launch("find_defect", find_columns<T, Change, Norm>, {walk.blocks(), threads}, stream, d, walk);
  });
  finish_norm(d.norm, walk.blocks(), stream);
}

template <class T, class Change>
void add(FieldView<const Change> change, FieldView<T> field, Box region, Stream stream) {
  constexpr int cells = Pack<T>::cells;
  Box packs = region;
  packs.hi.x = ceil_div(region.hi.x, cells);
  launch_for_cells("add_change", packs, stream, [=] __device__(Int3 pack) {
    const Int3 cell{pack.x * cells, pack.y, pack.z};
    const auto changes = OfPack<T, Change>::load(&change(cell));
    auto sum = OfPack<T, T>::load(&field(cell));
#pragma unroll
    for (int i = 0; i < cells; ++i) sum.v[i] += static_cast<T>(changes.v[i]);
    sum.store(region.hi.x - cell.x, &field(cell));
  });
}

}  // namespace

ISOTHERM_FUNCTIONS(functions, FieldAlgebra, combine<T>)
ISOTHERM_FUNCTIONS(functions, OwnChange, norm_scratch_bytes<T>, find_defect<T, T>, add<T, T>)
ISOTHERM_FUNCTIONS_OF(double, functions, FloatChange, norm_scratch_bytes<T>, find_defect<T, float>,
                      add<T, float>)

}  // namespace isotherm::cuda
