// Sweeps thin boxes, all in one launch: the exterior of an overlapped step, and boxes that are too thin for
// kernels with wide tiles. It has no entry in the kernel registry.
//
// Algebra   one sweep, stencil_update(); all boundaries are applied here.
// Mapping   a thread takes a pack of 16 bytes along x and walks up to eight planes along z. The threads of a
//           block cover the box along x first, then along y, then along z: warps stay full on faces that are
//           one cell thick.
// Storage   registers: the pack below, the current one and the one above.
// Traffic   a read and a write of the lines that the box touches; neighbours are read from the caches.
#include "core/error.hpp"
#include "kernels/production/tile_update.hpp"

namespace isotherm::cuda {
namespace {

constexpr unsigned threads = 256, widest = 64;  // packs along x
constexpr Index longest_walk = 8;               // planes
constexpr std::size_t most_boxes = 6;           // around another box

// How a box is cut into thread blocks.
struct Cut {
  Box box;
  Index first_x = 0;              // of the first pack
  Index walk = 1;                 // planes that a thread takes
  unsigned log_x = 0, log_y = 0;  // threads of a block along x and y, as powers of two
  unsigned count_x = 0, count_y = 0;
  unsigned begin = 0, end = 0;  // range of its blocks in the grid

  Cut() = default;
  Cut(Box of, Index cells, unsigned first_block) : box(of), begin(first_block) {
    const auto log2_up = [](Index n) {
      return static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
    };
    const Int3 n = box.extent();
    first_x = floor_div(box.lo.x, cells) * cells;
    const Index packs = ceil_div(box.hi.x - first_x, cells);
    log_x = log2_up(std::min<Index>(packs, widest));
    log_y = log2_up(std::min<Index>(n.y, threads >> log_x));
    walk = std::min(n.z, longest_walk);
    count_x = static_cast<unsigned>(ceil_div(packs, Index{1} << log_x));
    count_y = static_cast<unsigned>(ceil_div(n.y, Index{1} << log_y));
    const Index count_z = ceil_div(n.z, walk * (threads >> (log_x + log_y)));
    end = begin + static_cast<unsigned>(count_x * count_y * count_z);
  }
};

// The boxes of a launch. The blocks of a box follow those of the previous one in the grid.
struct Cuts {
  unsigned blocks = 0;
  Cut cut[most_boxes];

  Cuts(std::span<const Box> boxes, Index cells) {
    std::size_t count = 0;
    for (const Box& box : boxes) {
      if (box.empty()) continue;
      if (count == most_boxes)
        throw Error(ExitCode::internal, "more boxes than surround another; please report it");
      cut[count] = Cut(box, cells, blocks);
      blocks = cut[count++].end;
    }
  }
};

// A pack of a box. Cells outside the box are not stored: their neighbours and ghosts may be invalid.
template <class T>
struct ThinPack {
  static constexpr int cells = Pack<T>::cells;
  Index x, y;
  unsigned mine = 0;  // a bit for each cell of the box

  __device__ __forceinline__ ThinPack(const Box& box, Index first_x, Index at_y) : x(first_x), y(at_y) {
#pragma unroll
    for (int i = 0; i < cells; ++i) mine |= (box.lo.x <= x + i && x + i < box.hi.x ? 1u : 0u) << i;
  }

  // The ghost values beyond a boundary across y or z, at (x, q) of the face.
  __device__ __forceinline__ Pack<T> beyond(const Boundary<T>& boundary, const Pack<T>& centre,
                                            Index q) const {
    Pack<T> ghost;
#pragma unroll
    for (int i = 0; i < cells; ++i) {
      const T b = (mine >> i & 1u) != 0 ? boundary.b_at(x + i, q) : T{0};
      ghost.v[i] = boundary_ghost(boundary.a, b, centre.v[i]);
    }
    return ghost;
  }

  __device__ __forceinline__ void apply_boundaries(const TileArgs<T>& a, Neighbours<T>& n, Index z) const {
    const Int3 end = a.in.extent;
    const auto at = [&](Face face, bool here) { return a.face(face).is_boundary && here; };
    if (at(Face::y_min, y == 0)) n.y_lo = beyond(a.face(Face::y_min), n.centre, z);
    if (at(Face::y_max, y == end.y - 1)) n.y_hi = beyond(a.face(Face::y_max), n.centre, z);
    if (at(Face::z_min, z == 0)) n.z_lo = beyond(a.face(Face::z_min), n.centre, y);
    if (at(Face::z_max, z == end.z - 1)) n.z_hi = beyond(a.face(Face::z_max), n.centre, y);
    const Boundary<T>&x_min = a.face(Face::x_min), &x_max = a.face(Face::x_max);
    if (at(Face::x_min, x == 0)) n.x_lo = boundary_ghost(x_min.a, x_min.b_at(y, z), n.centre.v[0]);
#pragma unroll
    for (int i = 0; i < cells; ++i) {
      if (!at(Face::x_max, x + i == end.x - 1)) continue;
      T& next = i < cells - 1 ? n.centre.v[i + 1] : n.x_hi;
      next = boundary_ghost(x_max.a, x_max.b_at(y, z), n.centre.v[i]);
    }
  }

  template <class Norm>
  __device__ __forceinline__ void update(const TileArgs<T>& a, Neighbours<T> n, Index z, T* to,
                                         Norm& norm) const {
    apply_boundaries(a, n, z);
    const Pack<T> s = scaled_source(
        a.c, a.source.empty() ? Pack<T>::all(a.c.heat) : Pack<T>::load_constant(&a.source(x, y, z)));
    const Pack<T> value = updated_pack(a.c, n, s);
    const bool all = mine == (1u << cells) - 1;
    if (all) value.store(to);
#pragma unroll
    for (int i = 0; i < cells; ++i) {
      if ((mine >> i & 1u) == 0) continue;
      if (!all) to[i] = value.v[i];
      norm.add(value.v[i], n.centre.v[i], i);
    }
  }
};

template <class T, class Norm>
__global__ void __launch_bounds__(threads)
    thin_boxes(const __grid_constant__ TileArgs<T> a, const __grid_constant__ Cuts cuts) {
  constexpr int cells = Pack<T>::cells;
  int i = 0;
  while (blockIdx.x >= cuts.cut[i].end) ++i;
  const Cut& cut = cuts.cut[i];
  const unsigned block = blockIdx.x - cut.begin, row = block / cut.count_x, layer = row / cut.count_y;
  const unsigned in_x = threadIdx.x & ((1u << cut.log_x) - 1);
  const unsigned in_y = threadIdx.x >> cut.log_x & ((1u << cut.log_y) - 1);
  const unsigned in_z = threadIdx.x >> (cut.log_x + cut.log_y), deep = threads >> (cut.log_x + cut.log_y);
  const Index x = cut.first_x + (Index{block - row * cut.count_x} << cut.log_x | in_x) * cells;
  const Index y = cut.box.lo.y + (Index{row - layer * cut.count_y} << cut.log_y | in_y);
  const Index z = cut.box.lo.z + (Index{layer} * deep + in_z) * cut.walk;
  const Index end = z + cut.walk < cut.box.hi.z ? z + cut.walk : cut.box.hi.z;
  Norm norm;
  if (x < cut.box.hi.x && y < cut.box.hi.y && z < end) {
    const ThinPack<T> pack(cut.box, x, y);
    const T* from = &a.in(x, y, z);
    T* to = &a.out(x, y, z);
    Pack<T> below = Pack<T>::load(from - a.in.pitch_z), at = Pack<T>::load(from);
    for (Index plane = z; plane < end; ++plane) {
      const Pack<T> above = Pack<T>::load(from + a.in.pitch_z);
      pack.update(a,
                  {at, Pack<T>::load(from - a.in.pitch_y), Pack<T>::load(from + a.in.pitch_y), below, above,
                   from[-1], from[cells]},
                  plane, to, norm);
      below = at;
      at = above;
      from += a.in.pitch_z;
      to += a.out.pitch_z;
    }
  }
  norm.template store<threads>(static_cast<double*>(a.norm.scratch));
}

// The interior begins and ends along x at a memory line where the region allows it. Otherwise interior and
// exterior would both transfer the line that they share.
Box between_lines(Box region, Box available, Index line) {
  Box box = available;
  if (box.lo.x > region.lo.x) box.lo.x = ceil_div(box.lo.x, line) * line;
  if (box.hi.x < region.hi.x) box.hi.x = floor_div(box.hi.x, line) * line;
  return box;
}

}  // namespace

void finish_norm(const UpdateNorm& norm, unsigned blocks, Stream stream) {
  if (!norm.result) return;
  with_norm_operation(norm.op, [&]<ReductionOp op>() {
    launch("join_updates", combine_values<op>, {1, CombineShape::threads}, stream,
           static_cast<const double*>(norm.scratch), Index{blocks}, norm.result, norm.accumulate);
  });
}

template <class T>
std::size_t thin_scratch_bytes(std::span<const Box> boxes) {
  return Cuts(boxes, Pack<T>::cells).blocks * sizeof(double);
}

template <class T>
void sweep_thin(const SweepArgs<T>& args, std::span<const Box> boxes, Stream stream) {
  const Cuts cuts(boxes, Pack<T>::cells);
  if (cuts.blocks > 0) {
    const TileArgs<T> a{args.in, args.out, args.source, args.c[0], args.boundaries, {}, args.norm};
    with_norm(args.norm, [&]<class Norm>() {
      launch("thin_boxes", thin_boxes<T, Norm>, {cuts.blocks, threads}, stream, a, cuts);
    });
  }
  finish_norm(args.norm, cuts.blocks, stream);
}

template <class T>
const ExteriorSweep<T>& thin_exterior() {
  static constexpr ExteriorSweep<T> functions{
      [](Box region, Box available, int) { return between_lines(region, available, line_cells<T>); },
      [](const SweepArgs<T>& args, Box interior, SweepPlan, Stream stream) {
        sweep_thin(args, boxes_around(args.region, interior), stream);
      },
      [](Box region, Box interior, int) { return thin_scratch_bytes<T>(boxes_around(region, interior)); }};
  return functions;
}

template std::size_t thin_scratch_bytes<float>(std::span<const Box>);
template std::size_t thin_scratch_bytes<double>(std::span<const Box>);
template void sweep_thin(const SweepArgs<float>&, std::span<const Box>, Stream);
template void sweep_thin(const SweepArgs<double>&, std::span<const Box>, Stream);
template const ExteriorSweep<float>& thin_exterior();
template const ExteriorSweep<double>& thin_exterior();

}  // namespace isotherm::cuda
