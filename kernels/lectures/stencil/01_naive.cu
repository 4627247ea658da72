// Stencil kernel `naive`: the plainest sweep, and the baseline of the ladder.
//
// Algebra   out = c0 T + cx (T[x-1] + T[x+1]) + cy (T[y-1] + T[y+1]) + cz (T[z-1] + T[z+1]) + s, once; the
//           formula is stencil_update(). Boundaries are in the ghosts: the kernel has no branch for them.
// Mapping   one thread per cell, x fastest: the 32 lanes of a warp take 32 neighbours in x, so each of the
//           seven reads and the write is one contiguous run of 128 (fp32) or 256 (fp64) bytes per warp. The
//           runs at x - 1 and x + 1 straddle two cache lines. Only blocks at the region's upper ends have
//           idle threads.
// Storage   registers: the seven values. Shared memory: nothing. Constant memory: coefficients, addresses,
//           pitches and the region's end, as they are parameters of the kernel. All threads read them at
//           once, which suits the constant cache.
// Traffic   seven reads and a write are issued per cell: 32 bytes in fp32, 64 in fp64. x neighbours are read
//           from lines that the warp already has in L1; y neighbours from L1 where the block has several
//           rows, else from L2; z neighbours from L2 as long as it holds three planes. Device memory then
//           moves the least that is possible: one read and one write per cell, 8 or 16
//           bytes, and 4 or 8 more with a source. The number of narrow accesses, not of bytes, keeps the
//           kernel below the copy bandwidth.
#include "kernels/lectures/lecture.hpp"

namespace isotherm::cuda {
namespace {

// Threads of a block; the first is the best of 17 shapes on an H200 at 512^3, where the worst is 25 % slower.
// Boxes thinner than this get a block that fits them (fit_block).
template <class T>
constexpr std::array tiles = {Tile{32, 8, 1}, Tile{64, 4, 1}, Tile{128, 2, 1}, Tile{32, 4, 2}};
template <>
constexpr std::array tiles<double> = {Tile{32, 4, 1}, Tile{64, 2, 1}, Tile{128, 2, 1}, Tile{32, 4, 2}};

template <class T, int threads>
__global__ void __launch_bounds__(threads)
    naive(FieldView<const T> in, FieldView<T> out, FieldView<const T> source, Coefficients<T> c, Int3 first,
          Int3 hi) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, hi)) return;
  const T* t = &in(cell);
  const T s = scaled_source(c, source.empty() ? c.heat : source(cell));  // the same branch in the whole grid
  out(cell) =
      stencil_update(c, t[0], t[-1], t[1], t[-in.pitch_y], t[in.pitch_y], t[-in.pitch_z], t[in.pitch_z], s);
}

// With several materials a cell also reads seven classes, and at an interface the conductances of its faces.
// A thread takes eight cells along z, so a cell reads only its upper neighbour along z. If materials are
// mixed, L1 is the limit, and 1024 threads per multiprocessor, of 64 registers each, hide its latency best.
constexpr int cells_along_z = 8;
template <class T, int threads>
__global__ void __launch_bounds__(threads, 1024 / threads)
    naive_materials(FieldView<const T> in, FieldView<T> out, FieldView<const T> source,
                    const __grid_constant__ Materials<T> m, Int3 first, Int3 hi) {
  Int3 cell = cell_of_thread(first);
  cell.z = first.z + (cell.z - first.z) * cells_along_z;
  if (beyond(cell, hi)) return;
  const T* t = &in(cell);
  const std::uint8_t* of = &m.classes(cell);
  T below = t[-in.pitch_z], centre = t[0];
  int lower = of[-m.classes.pitch_z], own = of[0];
  T lower_face = m.face(2, own, lower);
#pragma unroll
  for (int i = 0; i < cells_along_z; ++i, ++cell.z, t += in.pitch_z, of += m.classes.pitch_z) {
    if (cell.z >= hi.z) return;
    const T above = t[in.pitch_z], s = source.empty() ? T{0} : source(cell);
    const int upper = of[m.classes.pitch_z],
              near[] = {of[-1], of[1], of[-m.classes.pitch_y], of[m.classes.pitch_y], lower, upper};
    const T upper_face = m.face(2, own, upper);
    const auto interface = [&] {
      const InterfaceCoefficients<T> c{
          {m.face(0, own, near[0]), m.face(0, own, near[1]), m.face(1, own, near[2]), m.face(1, own, near[3]),
           lower_face, upper_face},
          T{0}};
      return interface_coefficients(m, own, c, 0);
    };
    out(cell) = material_update(m, own, near, interface, centre, t[-1], t[1], t[-in.pitch_y], t[in.pitch_y],
                                below, above, s);
    lower_face = m.is_symmetric ? upper_face : m.face(2, upper, own);
    below = std::exchange(centre, above);
    lower = std::exchange(own, upper);
  }
}

template <class T>
void sweep(const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
  with_tile<tiles<T>>(plan.tile, [&]<Tile tile>() {
    Box threads = args.region;
    if (!args.materials.empty()) threads.hi.z = threads.lo.z + ceil_div(threads.extent().z, cells_along_z);
    const dim3 block = fit_block(dim3(tile.x, tile.y, tile.z), threads.extent());
    cover(threads, block, [&](dim3 grid, Int3 first) {
      first.z = threads.lo.z + (first.z - threads.lo.z) * (args.materials.empty() ? 1 : cells_along_z);
      if (args.materials.empty()) {
        naive<T, tile.product()><<<grid, block, 0, native(stream)>>>(args.in, args.out, args.source,
                                                                     args.c[0], first, args.region.hi);
        check_launch("naive");
      } else {
        naive_materials<T, tile.product()><<<grid, block, 0, native(stream)>>>(
            args.in, args.out, args.source, args.materials, first, args.region.hi);
        check_launch("naive_materials");
      }
    });
  });
}

}  // namespace

template <class T>
void stencil_naive(StencilKernel<T>& kernel) {
  kernel.launch = sweep<T>;
  kernel.tiles = names_of<tiles<T>>();
  kernel.resources =
      by_tile<tiles<T>>([]<Tile tile>() { return resources_of(naive<T, tile.product()>, tile.product()); });
  kernel.sweeps_materials = true;
}

ISOTHERM_BOTH_PRECISIONS(stencil_naive, StencilKernel);

}  // namespace isotherm::cuda
