// The host's side of the lecture rungs: launches over a region, names of policies, resources. What the rungs
// differ in, the kernels, stands in their own files. For .cu files only.
//
// A rung is a struct with `name`, `tiles` and kernel<T, tile>(); its kernel takes (in, out, source, c) and
// where it works.
#pragma once

#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/rows.hpp"

namespace isotherm::cuda {

// One thread a cell, blocks of a tile that cover the region: (..., Int3 first, Int3 hi).
template <class Rung>
struct Covering {
  static constexpr int threads(Tile tile) { return tile.product(); }

  template <class T, Tile tile>
  static void sweep(const SweepArgs<T>& args, Stream stream) {
    const dim3 block(tile.x, tile.y, tile.z);
    cover(args.region, block, [&](dim3 grid, Int3 first) {
      launch(Rung::name, Rung::template kernel<T, tile>(), {grid, block}, stream, args.in, args.out,
             args.source, args.c, first, args.region.hi);
    });
  }
};

// Blocks of x by y threads that walk along z, z planes each: (..., Columns columns).
template <class Rung>
struct Walking {
  static constexpr int threads(Tile tile) { return tile.x * tile.y; }

  template <class T, Tile tile>
  static void sweep(const SweepArgs<T>& args, Stream stream) {
    if (args.region.empty()) return;
    const Columns columns = Columns::of(args.region, tile.x, tile.y, tile.z);
    launch(Rung::name, Rung::template kernel<T, tile>(), {columns.blocks(), dim3(tile.x, tile.y)}, stream,
           args.in, args.out, args.source, args.c, columns);
  }
};

// `Way`: Covering or Walking.
template <template <class> class Way, class Rung, class T>
void complete(StencilKernel<T>& row) {
  row.launch = [](const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
    with_tile<Rung::tiles>(plan.policy,
                           [&]<Tile tile>() { Way<Rung>::template sweep<T, tile>(args, stream); });
  };
  row.policies = names_of<Rung::tiles>();
  row.resources = [](int policy) {
    return with_tile<Rung::tiles>(policy, [&]<Tile tile>() {
      return resources_of(Rung::template kernel<T, tile>(), Way<Rung>::threads(tile));
    });
  };
}

}  // namespace isotherm::cuda
