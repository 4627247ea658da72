// The host's side of the lecture kernels: launches over a region, names of tiles, resources. What the kernels
// differ in, the kernels, stands in their own files. For .cu files only.
//
// A kernel is a struct with `name`, `tiles` and kernel<T, tile>(); its kernel takes (in, out, source, c) and
// where it works.
#pragma once

#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {

// One thread per cell, blocks of a tile that cover the region: (..., Int3 first, Int3 hi).
template <class Variant>
struct Covering {
  static constexpr int threads(Tile tile) { return tile.product(); }

  template <class T, Tile tile>
  static void sweep(const SweepArgs<T>& args, Stream stream) {
    const dim3 block(tile.x, tile.y, tile.z);
    cover(args.region, block, [&](dim3 grid, Int3 first) {
      launch(Variant::name, Variant::template kernel<T, tile>(), {grid, block}, stream, args.in, args.out,
             args.source, args.c[0], first, args.region.hi);
    });
  }
};

// Blocks of x by y threads that walk along z, z planes each: (..., Columns columns).
template <class Variant>
struct Walking {
  static constexpr int threads(Tile tile) { return tile.x * tile.y; }

  template <class T, Tile tile>
  static void sweep(const SweepArgs<T>& args, Stream stream) {
    if (args.region.empty()) return;
    const Columns columns = Columns::of(args.region, tile.x, tile.y, tile.z);
    launch(Variant::name, Variant::template kernel<T, tile>(), {columns.blocks(), dim3(tile.x, tile.y)},
           stream, args.in, args.out, args.source, args.c[0], columns);
  }
};

// `Way`: Covering or Walking.
template <template <class> class Way, class Variant, class T>
void complete(StencilKernel<T>& entry) {
  entry.launch = [](const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
    with_tile<Variant::tiles>(plan.tile,
                              [&]<Tile tile>() { Way<Variant>::template sweep<T, tile>(args, stream); });
  };
  entry.tiles = names_of<Variant::tiles>();
  entry.resources = [](int tile_index) {
    return with_tile<Variant::tiles>(tile_index, [&]<Tile tile>() {
      return resources_of(Variant::template kernel<T, tile>(), Way<Variant>::threads(tile));
    });
  };
}

}  // namespace isotherm::cuda
