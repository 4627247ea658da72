// Stencil kernel `streaming_25d_single`: 2.5-D blocking with a single slice in shared memory.
//
// Algebra   one sweep, stencil_in_plane() and stencil_add_z(), the two halves of stencil_update(); boundaries
//           stand in the ghosts.
// Mapping   as in `streaming_25d`: one thread per cell of the slice, the block walks along z. But a cell's z
//           neighbours are cells of its own thread, so they need no shared memory: the thread keeps the sum
//           of its plane without z, the value below it, and when the plane above arrives it adds the last
//           term and stores. Only the plane at work is shared, for its neighbours in x and y.
// Storage   shared memory: one slice of (x + 2)(y + 2) cells, 32x16 in fp32: 2.4 KB, a third of
//           `streaming_25d`, so that more blocks fit; registers: three values.
// Traffic   1 + 2/x + 2/y reads per cell, as in `streaming_25d`, and a third of its shared memory traffic
//           for the z neighbours gone. (Micikevicius, 3D Finite Difference Computation on GPUs using
//           CUDA, GPGPU-2, 2009.)
#include "kernels/cuda/stencil_variant.hpp"

namespace isotherm::cuda {
namespace {

// x by y threads, which are the cells of a slice, and the planes of a chunk.
constexpr std::array tile_list = {Tile{32, 16, 64}, Tile{32, 8, 64}, Tile{64, 8, 64}, Tile{32, 16, 128}};

template <class T, int tile_x, int tile_y, int tile_z>
__global__ void __launch_bounds__(tile_x* tile_y)
    streaming_25d_single(FieldView<const T> in, FieldView<T> out, FieldView<const T> source,
                         Coefficients<T> c, Columns columns) {
  constexpr Tile tile{tile_x, tile_y, tile_z};
  __shared__ T t[tile.y + 2][tile.x + 2];
  const Box chunk = columns.of_block();
  const Int3 hi = columns.box.hi;
  const int x = threadIdx.x + 1, y = threadIdx.y + 1;
  Int3 cell{chunk.lo.x + threadIdx.x, chunk.lo.y + threadIdx.y, chunk.lo.z};
  const bool active = cell.x < hi.x && cell.y < hi.y;
  T below = T{0}, centre = T{0};
  if (active) {
    below = in(cell.x, cell.y, cell.z - 1);
    centre = in(cell);
  }
  for (; cell.z < chunk.hi.z; ++cell.z) {
    T above = T{0};
    if (active) {
      const T* g = &in(cell);
      above = g[in.pitch_z];
      t[y][x] = centre;
      if (x == 1) t[y][0] = g[-1];
      if (x == tile.x || cell.x == hi.x - 1) t[y][x + 1] = g[1];
      if (y == 1) t[0][x] = g[-in.pitch_y];
      if (y == tile.y || cell.y == hi.y - 1) t[y + 1][x] = g[in.pitch_y];
    }
    __syncthreads();
    T in_plane = T{0};
    if (active) {
      const T s = scaled_source(c, source.empty() ? T{0} : source(cell));
      in_plane = stencil_in_plane(c, centre, t[y][x - 1], t[y][x + 1], t[y - 1][x], t[y + 1][x], s);
    }
    __syncthreads();
    if (active) out(cell) = stencil_add_z(c, in_plane, below, above);
    below = centre;
    centre = above;
  }
}

struct Streaming25dSingle {
  static constexpr const char* name = "streaming_25d_single";
  static constexpr const auto& tiles = tile_list;
  template <class T, Tile tile>
  static constexpr auto kernel() {
    return streaming_25d_single<T, tile.x, tile.y, tile.z>;
  }
};

}  // namespace

template <class T>
void stencil_streaming_25d_single(StencilKernel<T>& kernel) {
  complete<Walking, Streaming25dSingle>(kernel);
}

template void stencil_streaming_25d_single(StencilKernel<float>&);
template void stencil_streaming_25d_single(StencilKernel<double>&);

}  // namespace isotherm::cuda
