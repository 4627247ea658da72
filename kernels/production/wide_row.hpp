// Host code of the kernels with wide tiles: how they split a region, and a step in two parts, into columns of
// tiles. For .cu files only.
#pragma once

#include "kernels/production/tile_boundaries.hpp"

namespace isotherm::cuda {

// A sweep that scales its source uses the kernel for thin boxes: in wide tiles fp64 fills the registers, and
// code for it costs every other sweep a tenth (docs/tuning-log). Sweeps that store their faces always scale.
template <class T>
bool scales_source(const SweepArgs<T>& args) {
  return !args.source.empty() && args.c[0].sigma != T{1} && !args.stores.any() && args.materials.empty();
}

// A step in two parts keeps the columns of the whole sweep. The interior is the columns that need no
// exchanged ghost, without the layers below and above. The exterior is the other columns from end to end, and
// these layers. No tile is cut, so both parts together move as many bytes as one sweep. An exterior of layers
// one cell thick on all faces took a tenth of a sweep (docs/tuning-log).

// `Way<T, tile>`: the launch with one of the kernel's tiles. It has
//     static WideTile<T> chunk(Box region, Box hole);   planes chosen for the columns without `hole`
//     static void sweep(const SweepArgs<T>&, const Columns&, Stream);
template <class T, const auto& tiles, template <class, auto> class Way>
struct WideRow {
  static void complete(StencilKernel<T>& kernel) {
    static constexpr ExteriorSweep<T> exterior{interior, launch_exterior, exterior_scratch_bytes};
    kernel.launch = sweep;
    kernel.own_boundaries = {true, true, true};
    kernel.tiles = names_of<tiles>();
    kernel.norm_scratch_bytes = norm_scratch_bytes;
    kernel.exterior = &exterior;
  }

 private:
  static WideTile<T> chunk_of(int tile_index, Box region, Box hole = {}) {
    return with_tile<tiles>(
        tile_index, [&]<auto tile>() { return Way<T, tile>::chunk(region, hole); });
  }
  static void sweep_columns(int tile_index, const SweepArgs<T>& args, const Columns& columns, Stream stream) {
    with_tile<tiles>(
        tile_index, [&]<auto tile>() { Way<T, tile>::sweep(args, columns, stream); });
  }

  static void sweep(const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
    const WideTile<T> chunk = chunk_of(plan.tile, args.region);
    if (!chunk.fits(args.region) && !args.materials.empty()) return sweep_cell_by_cell(args, stream);
    if (!chunk.fits(args.region) || scales_source(args)) return sweep_thin(args, {&args.region, 1}, stream);
    sweep_columns(plan.tile, args, chunk.columns(args.region), stream);
    if (!args.materials.empty()) sweep_mixed(args, 1, stream);
  }
  static std::size_t norm_scratch_bytes(Box region, int tile_index) {
    const WideTile<T> chunk = chunk_of(tile_index, region);
    return std::max(chunk.fits(region) ? scratch_bytes(chunk.columns(region)) : 0,
                    thin_scratch_bytes<T>({&region, 1}));
  }
  // For the partials of a norm, one per thread block.
  static std::size_t scratch_bytes(const Columns& columns) { return columns.blocks() * sizeof(double); }

  static Box interior(Box region, Box available, int tile_index) {
    const WideTile<T> chunk = chunk_of(tile_index, region);
    return chunk.fits(region) ? chunk.interior(region, available)
                              : thin_exterior<T>().interior(region, available, tile_index);
  }
  static void launch_exterior(const SweepArgs<T>& args, Box interior, SweepPlan plan, Stream stream) {
    const WideTile<T> chunk = chunk_of(plan.tile, args.region, interior);
    if (!chunk.fits(args.region) || scales_source(args))
      return thin_exterior<T>().launch(args, interior, plan, stream);
    SweepArgs<T> exterior = args;
    if (const Columns around = chunk.columns(args.region).without(interior); around.blocks() > 0) {
      sweep_columns(plan.tile, exterior, around, stream);
      exterior.norm.accumulate = true;
    }
    const std::vector<Box> layers = layers_of(args.region, interior);
    if (!layers.empty()) sweep_thin(exterior, layers, stream);
  }
  static std::size_t exterior_scratch_bytes(Box region, Box interior, int tile_index) {
    const WideTile<T> chunk = chunk_of(tile_index, region, interior);
    const std::size_t thin = thin_exterior<T>().norm_scratch_bytes(region, interior, tile_index);
    if (!chunk.fits(region)) return thin;
    return std::max({thin, thin_scratch_bytes<T>(layers_of(region, interior)),
                     scratch_bytes(chunk.columns(region).without(interior))});
  }
  // The layers below and above the interior.
  static std::vector<Box> layers_of(Box region, Box interior) {
    const Box middle{{interior.lo.x, interior.lo.y, region.lo.z},
                     {interior.hi.x, interior.hi.y, region.hi.z}};
    return boxes_around(middle, interior);
  }
};

}  // namespace isotherm::cuda
