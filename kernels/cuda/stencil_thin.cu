// What the rows of wide tiles do with boxes too thin for them: one thread a cell, as in `naive`, but cells
// are counted through the box, x fastest, so that warps stay full on faces one cell thick; and all walls are
// applied here. No row of its own: its time is that of a launch.
#include "kernels/cuda/fast_divide.hpp"
#include "kernels/cuda/tile_update.hpp"

namespace isotherm::cuda {
namespace {

constexpr int threads = 256;

template <class T>
__device__ __forceinline__ T neighbour(const TileArgs<T>& a, Int3 cell, T centre, int axis, int step) {
  const Face face = static_cast<Face>(2 * axis + (step > 0 ? 1 : 0));
  const Index at = axis == 0 ? cell.x : axis == 1 ? cell.y : cell.z;
  const Index extent = axis == 0 ? a.in.extent.x : axis == 1 ? a.in.extent.y : a.in.extent.z;
  const Wall<T>& wall = a.wall(face);
  if (wall.is_wall && at + step == (step > 0 ? extent : Index{-1})) {
    const Index p = axis == 0 ? cell.y : cell.x, q = axis == 2 ? cell.y : cell.z;
    return wall_ghost(wall.a, wall.b_at(p, q), centre);
  }
  const Index pitch = axis == 0 ? 1 : axis == 1 ? a.in.pitch_y : a.in.pitch_z;
  return *(&a.in(cell) + step * pitch);
}

template <class T, class Norm>
__global__ void __launch_bounds__(threads) thin_cells(TileArgs<T> a, FastDivide by_x, FastDivide by_y) {
  const Box box = a.columns.box;
  const Int3 n = box.extent();
  const Index number = Index{blockIdx.x} * threads + threadIdx.x;
  Norm norm;
  if (number < n.x * n.y * n.z) {
    const Index row = by_x(number), plane = by_y(row);
    const Int3 cell{box.lo.x + number - row * n.x, box.lo.y + row - plane * n.y, box.lo.z + plane};
    const T centre = a.in(cell), s = a.source.empty() ? T{0} : a.source(cell);
    const T value =
        stencil_update(a.c, centre, neighbour(a, cell, centre, 0, -1), neighbour(a, cell, centre, 0, 1),
                       neighbour(a, cell, centre, 1, -1), neighbour(a, cell, centre, 1, 1),
                       neighbour(a, cell, centre, 2, -1), neighbour(a, cell, centre, 2, 1), s);
    a.out(cell) = value;
    norm.add(value, centre);
  }
  norm.template leave<threads>(static_cast<double*>(a.norm.scratch));
}

}  // namespace

unsigned thin_blocks(Box region) {
  return static_cast<unsigned>(ceil_div(region.cells(), threads));
}

template <class T>
void sweep_thin(const SweepArgs<T>& args, Stream stream) {
  const Int3 n = args.region.extent();
  const unsigned blocks = thin_blocks(args.region);
  if (blocks > 0) {
    const TileArgs<T> a{args.in, args.out, args.source, args.c, args.walls, Columns{args.region}, args.norm};
    with_norm(args.norm, [&]<class Norm>() {
      launch("thin_cells", thin_cells<T, Norm>, {blocks, threads}, stream, a, FastDivide(n.x),
             FastDivide(n.y));
    });
  }
  finish_norm(args.norm, blocks, stream);
}

template void sweep_thin(const SweepArgs<float>&, Stream);
template void sweep_thin(const SweepArgs<double>&, Stream);

}  // namespace isotherm::cuda
