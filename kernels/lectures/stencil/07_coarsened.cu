// Stencil kernel `coarsened`: each thread owns several cells.
//
// Algebra   one sweep, stencil_update(); boundaries are in the ghosts.
// Mapping   a thread takes 16 bytes along x, 4 cells in fp32 and 2 in fp64, in several rows of y. It loads
//           its rows and a row more on either side, and the rows below and above, all as 16-byte words; only
//           the cells on either side of a word are loaded singly. If a box starts or ends within a word, the
//           cells of the word outside the box are not stored.
// Storage   registers: z + 2 words of the plane, and a word below and above at a time. No shared memory, no
//           barrier.
// Traffic   a naive thread issues seven loads for one cell; here 4 rows of 4 cells take 6 + 8 wide and 8
//           narrow loads for 16 cells, a fifth of the instructions and of the requests to L1. Device memory
//           still moves one read and one write per cell. Coarsening reduces the resident threads; each has
//           more loads in flight.
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

// x by y threads; z: rows that a thread owns.
constexpr std::array tiles = {Tile{32, 4, 4}, Tile{32, 8, 2}, Tile{32, 2, 8}, Tile{64, 4, 4}};

template <class T, int tile_x, int tile_y, int tile_z>
__global__ void __launch_bounds__(tile_x* tile_y)
    coarsened(FieldView<const T> in, FieldView<T> out, FieldView<const T> source, Coefficients<T> c,
              Int3 first, Box region) {
  constexpr Tile tile{tile_x, tile_y, tile_z};
  constexpr int cells = Pack<T>::cells, rows = tile.z;
  const Index x = first.x + (Index{blockIdx.x} * tile.x + threadIdx.x) * cells;
  const Index y = first.y + (Index{blockIdx.y} * tile.y + threadIdx.y) * rows;
  const Index z = first.z + blockIdx.z;
  if (x >= region.hi.x || y >= region.hi.y) return;
  const T* g = &in(x, y, z);
  Pack<T> row[rows + 2];
#pragma unroll
  for (int r = -1; r <= rows; ++r) {
    if (y + r <= region.hi.y) row[r + 1] = Pack<T>::load(g + r * in.pitch_y);
  }
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    if (y + r >= region.hi.y) break;
    const T* at = g + r * in.pitch_y;
    const Pack<T> below = Pack<T>::load(at - in.pitch_z), above = Pack<T>::load(at + in.pitch_z);
    const Pack<T> s =
        scaled_source(c, source.empty() ? Pack<T>::all(c.heat) : Pack<T>::load(&source(x, y + r, z)));
    const T x_lo = at[-1], x_hi = at[cells];
    Pack<T> value;
#pragma unroll
    for (int i = 0; i < cells; ++i) {
      const Pack<T>& centre = row[r + 1];
      value.v[i] = stencil_update(c, centre.v[i], i > 0 ? centre.v[i - 1] : x_lo,
                                  i < cells - 1 ? centre.v[i + 1] : x_hi, row[r].v[i], row[r + 2].v[i],
                                  below.v[i], above.v[i], s.v[i]);
    }
    T* to = &out(x, y + r, z);
    if (x >= region.lo.x && x + cells <= region.hi.x) {
      value.store(to);
    } else {
      for (int i = 0; i < cells; ++i) {
        if (x + i >= region.lo.x && x + i < region.hi.x) to[i] = value.v[i];
      }
    }
  }
}

// The box for cover(), which counts threads, is in packs and rows.
template <class T>
void sweep(const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
  if (args.region.empty()) return;
  with_tile<tiles>(plan.tile, [&]<Tile tile>() {
    constexpr Index cells = Pack<T>::cells;
    const Box box = args.region;
    const Index packs = ceil_div(box.hi.x - pack_floor<T>(box.lo.x), cells);
    const Box threads{{0, 0, 0}, {packs, ceil_div(box.extent().y, tile.z), box.extent().z}};
    cover(threads, dim3(tile.x, tile.y), [&](dim3 grid, Int3 at) {
      const Int3 first{pack_floor<T>(box.lo.x) + at.x * cells, box.lo.y + at.y * tile.z, box.lo.z + at.z};
      coarsened<T, tile.x, tile.y, tile.z><<<grid, dim3(tile.x, tile.y), 0, native(stream)>>>(
          args.in, args.out, args.source, args.c[0], first, box);
      check_launch("coarsened");
    });
  });
}

}  // namespace

template <class T>
void stencil_coarsened(StencilKernel<T>& kernel) {
  kernel.launch = sweep<T>;
  kernel.tiles = names_of<tiles>();
  kernel.resources = by_tile<tiles>(
      []<Tile tile>() { return resources_of(coarsened<T, tile.x, tile.y, tile.z>, tile.x * tile.y); });
}

ISOTHERM_BOTH_PRECISIONS(stencil_coarsened, StencilKernel);

}  // namespace isotherm::cuda
