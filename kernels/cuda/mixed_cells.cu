// The second pass of tiled kernels in a domain of several materials: MixedCells of stencil.hpp.
#include "kernels/mixed_cells.hpp"

#include <cstdint>

#include "kernels/production/tile_update.hpp"

namespace isotherm::cuda {
namespace {

constexpr int cells_of_brick = MixedCells::cells_of_brick;
constexpr std::int32_t most_blocks = 132 * 32;  // a few times what an H200 holds at once
constexpr int beyond_all = 256;                 // more than any distance

// One sweep of a launch, of the cells of `region`.
template <class T>
struct CellSweep {
  FieldView<const T> in;
  FieldView<T> out;
  FieldView<const T> source;
  Materials<T> materials;
  Boundaries<T> boundaries;
  Box region;
  int sweep;
  int distance;  // cells further than this from a mixed cell are not swept

  __device__ __forceinline__ T beyond(Face f, bool is_last, Index p, Index q, T inside, T centre) const {
    const Boundary<T>& boundary = boundaries.faces[static_cast<int>(f)];
    return is_last && boundary.is_boundary ? boundary.ghost(p, q, centre, sweep) : inside;
  }
  __device__ __forceinline__ int away(Int3 cell) const { return materials.mixed.distance(cell); }
  // Loads all inputs of the cell at once: with few cells, the latency of memory dominates.
  __device__ __forceinline__ void update(Int3 cell, int away) const {
    const auto [x, y, z] = cell;
    const T* const t = &in(cell);
    const T centre = t[0],
            around[] = {t[-1], t[1], t[-in.pitch_y], t[in.pitch_y], t[-in.pitch_z], t[in.pitch_z]};
    const T s = source.empty() ? T{0} : source(cell);
    const int own = materials.classes(cell);
    const bool is_among_own = away > 0 && !materials.mixed.is_layer(static_cast<int>(z));
    const Int3 last = in.extent - Int3{1, 1, 1};
    const T x_lo = beyond(Face::x_min, x == 0, y, z, around[0], centre),
            x_hi = beyond(Face::x_max, x == last.x, y, z, around[1], centre),
            y_lo = beyond(Face::y_min, y == 0, x, z, around[2], centre),
            y_hi = beyond(Face::y_max, y == last.y, x, z, around[3], centre),
            z_lo = beyond(Face::z_min, z == 0, x, y, around[4], centre),
            z_hi = beyond(Face::z_max, z == last.z, x, y, around[5], centre);
    T value;
    if (is_among_own) {
      const Coefficients<T> c = materials.coefficients[sweep][own];
      value = stencil_update(c, centre, x_lo, x_hi, y_lo, y_hi, z_lo, z_hi, scaled_source(c, s));
    } else {
      value = material_update(materials, x, y, z, centre, x_lo, x_hi, y_lo, y_hi, z_lo, z_hi, s, sweep);
    }
    out(cell) = value;
  }
};

dim3 block_of(Int3 brick) {
  return dim3(static_cast<unsigned>(brick.x), static_cast<unsigned>(brick.y), static_cast<unsigned>(brick.z));
}
// This thread's cell in the brick that begins at `first`.
__device__ __forceinline__ Int3 cell_of_brick(Int3 first) {
  return first + Int3{threadIdx.x, threadIdx.y, threadIdx.z};
}

// Blocks take bricks round-robin. Before a block sweeps a brick, it loads the distances of the next brick and
// the position of the one after that: one wait per brick. Only cells that are swept read more.
template <class T>
__global__ void __launch_bounds__(cells_of_brick)
    mixed_cells(const __grid_constant__ CellSweep<T> a, std::int32_t count) {
  const auto place = [&](std::int32_t i) { return a.materials.mixed.bricks[i < count ? i : count - 1]; };
  const auto away_of = [&](Int3 cell) { return a.region.contains(cell) ? a.away(cell) : beyond_all; };
  const auto stride = static_cast<std::int32_t>(gridDim.x);
  std::int32_t i = static_cast<std::int32_t>(blockIdx.x);
  Int3 cell = cell_of_brick(place(i)), next = place(i + stride);
  int away = away_of(cell);
  for (; i < count; i += stride) {
    const Int3 next_cell = cell_of_brick(next);
    const int next_away = away_of(next_cell);
    next = place(i + 2 * stride);
    if (away <= a.distance) a.update(cell, away);
    cell = next_cell;
    away = next_away;
  }
}

// The search for mixed cells.

template <class T>
__device__ __forceinline__ std::uint8_t class_of_pack(const FieldView<const std::uint8_t>& classes, Index x,
                                                      Index y, Index z) {
  const Index first = x * Pack<T>::cells, lo = -classes.ghosts, hi = classes.extent.x + classes.ghosts - 1;
  return classes(first < lo ? lo : first > hi ? hi : first, y, z);
}

struct CellState {
  std::uint8_t of_pack;          // the class of its 16 bytes
  bool is_mixed, ends_across_z;  // mixed for another reason; have the 16 bytes below or above another class?
};
template <class T>
__device__ __forceinline__ CellState state_of(const FieldView<const std::uint8_t>& classes,
                                              const std::array<bool, face_count>& by_cell, Int3 c) {
  const Int3 n = classes.extent;
  const Index ends[] = {c.x, n.x - 1 - c.x, c.y, n.y - 1 - c.y, c.z, n.z - 1 - c.z};
  const Index to[] = {-1, 1, -classes.pitch_y, classes.pitch_y, -classes.pitch_z, classes.pitch_z};
  const std::uint8_t* const at = &classes(c);
  const Index pack = floor_div(c.x, Pack<T>::cells);
  CellState state{class_of_pack<T>(classes, pack, c.y, c.z), false, false};
  state.is_mixed = state.of_pack != *at;
  for (int f = 0; f < face_count; ++f) {
    state.is_mixed = state.is_mixed || (f < 4 && by_cell[f] && ends[f] == 0);
    if (ends[f] <= -classes.ghosts) continue;  // outermost ghosts have no neighbour outside
    std::uint8_t expected = *at;
    if (f >= 4) expected = class_of_pack<T>(classes, pack, c.y, c.z + (f % 2 == 0 ? -1 : 1));
    state.is_mixed = state.is_mixed || at[to[f]] != expected;
    state.ends_across_z = state.ends_across_z || expected != state.of_pack;
  }
  return state;
}

__global__ void __launch_bounds__(cells_of_brick)
    least_of_brick(FieldView<const std::uint8_t> distance, Int3 brick, std::uint8_t* least) {
  __shared__ int of_block;
  const bool is_first = threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0;
  if (is_first) of_block = 255;
  __syncthreads();
  const Box all = distance.padded();
  const Int3 cell = cell_of_brick(brick_of(all, brick, blockIdx.x));
  if (all.contains(cell)) atomicMin(&of_block, int{distance(cell)});
  __syncthreads();
  if (is_first) least[blockIdx.x] = static_cast<std::uint8_t>(of_block);
}

// `from`: the distance of each cell to the nearest mixed cell along the axes before `axis`. `to`: with this
// axis, as in MixedCells::distance; 255 where none is near.
void spread(int axis, FieldView<const std::uint8_t> from, FieldView<std::uint8_t> to, Stream stream) {
  const Box all = from.padded();
  launch_for_cells("spread", all, stream, [=] __device__(Int3 c) {
    int least = 255;
    for (int i = -MixedCells::most_distance; i <= MixedCells::most_distance; ++i) {
      Int3 at = c;
      at[axis] += i;
      if (at[axis] < all.lo[axis] || at[axis] >= all.hi[axis]) continue;
      const int there = from(at), away = i < 0 ? -i : i;
      least = min(least, max(there, away));
    }
    to(c) = static_cast<std::uint8_t>(least);
  });
}

template <class T>
void find(FieldView<const std::uint8_t> classes, const std::array<bool, face_count>& by_cell,
          FieldView<std::uint8_t> packs, FieldView<std::uint8_t> distance, FieldView<std::uint8_t> work,
          unsigned* layers, Stream stream) {
  const Box all = classes.padded();
  // Tiles reach beyond the ghosts, and bulk copies load packs before a row: any valid class will do there.
  const int ghosts = packs.ghosts;
  const Index lead = ceil_div(ghosts, 16) * 16;
  check(cudaMemsetAsync(&packs(-lead, -ghosts, -ghosts), 0,
                        static_cast<std::size_t>(packs.pitch_z * packs.padded().extent().z), native(stream)),
        "cudaMemsetAsync");
  if (layers) {
    check(cudaMemsetAsync(layers, 0, static_cast<std::size_t>(all.extent().z) * sizeof(unsigned),
                          native(stream)),
          "cudaMemsetAsync");
    // Counts in each plane, from the lowest ghosts on, the cells that are mixed unless the plane is a layer.
    launch_for_cells("count_layers", all, stream, [=] __device__(Int3 c) {
      const CellState state = state_of<T>(classes, by_cell, c);
      if (state.ends_across_z && !state.is_mixed) atomicAdd(&layers[c.z + classes.ghosts], 1u);
    });
  }
  // In `work`: 0 at mixed cells, elsewhere the largest value.
  launch_for_cells("mark_mixed", all, stream, [=] __device__(Int3 c) {
    const CellState state = state_of<T>(classes, by_cell, c);
    const bool is_layer = layers && is_layer_of(layers[c.z + classes.ghosts], classes.extent);
    work(c) = state.is_mixed || (state.ends_across_z && !is_layer) ? 0 : 255;
    packs(floor_div(c.x, Pack<T>::cells), c.y, c.z) = state.of_pack;
  });
  spread(0, work, distance, stream);
  spread(1, distance, work, stream);
  spread(2, work, distance, stream);
}

void of_bricks(FieldView<const std::uint8_t> distance, Int3 brick, std::uint8_t* least, Stream stream) {
  const Int3 bricks = bricks_of(distance.padded(), brick);
  launch("least_of_brick", least_of_brick, {dim3(static_cast<unsigned>(bricks.product())), block_of(brick)},
         stream, distance, brick, least);
}

template <class T>
void hold_voids(FieldView<T> field, const Materials<T>& materials, Stream stream) {
  launch_for_cells("hold_void", field.interior(), stream, [=] __device__(Int3 c) {
    const int own = materials.classes(c);
    if (materials.is_void(own)) field(c) = materials.held[own];
  });
}

}  // namespace

template <class T>
void sweep_mixed(const SweepArgs<T>& args, int sweeps, Stream stream) {
  const MixedCells& mixed = args.materials.mixed;
  CellSweep<T> a{args.in, args.out, args.source, args.materials, args.boundaries, args.region, 0, 0};
  for (a.sweep = 0; a.sweep < sweeps; ++a.sweep) {
    const int left = sweeps - 1 - a.sweep;
    a.distance = sweeps - 1 + left;
    a.region = args.boundaries.widened(args.region, left, args.in.extent);  // cells that later sweeps read
    a.out = left == 0 ? args.out : args.materials.between[a.sweep % 2];
    const std::int32_t count = mixed.within[a.distance];
    if (count > 0)
      launch("mixed_cells", mixed_cells<T>,
             {dim3(static_cast<unsigned>(std::min(count, most_blocks))), block_of(mixed.brick)}, stream, a,
             count);
    a.in = a.out;
  }
}

template <class T>
void sweep_cell_by_cell(const SweepArgs<T>& args, Stream stream) {
  const CellSweep<T> a{args.in, args.out, args.source, args.materials, args.boundaries, args.region, 0, 0};
  launch_for_cells<128>("each_cell", args.region, stream,
                        [=] __device__(Int3 cell) { a.update(cell, a.away(cell)); });
}

ISOTHERM_FUNCTIONS(functions, MixedCellSearch, find<T>, of_bricks, hold_voids<T>)

template void sweep_mixed(const SweepArgs<float>&, int, Stream);
template void sweep_mixed(const SweepArgs<double>&, int, Stream);
template void sweep_cell_by_cell(const SweepArgs<float>&, Stream);
template void sweep_cell_by_cell(const SweepArgs<double>&, Stream);

}  // namespace isotherm::cuda
