// What rows of wide tiles have in common: how a region, and a step in two parts, becomes columns of tiles,
// and what is left to thin boxes. For .cu files only.
//
// A step in two parts keeps the columns of the whole: the interior is the columns that need nothing an
// exchange brings, but for the layers below and above them, and the rest is the other columns from end to
// end, and these layers. No tile is cut, so both parts together move what one sweep moves; layers along z are
// whole rows, and cost what they hold. Shells one cell thick on all faces took a tenth of a sweep
// (TUNING.md).
#pragma once

#include "kernels/cuda/policy.hpp"
#include "kernels/cuda/rows.hpp"
#include "kernels/cuda/tile_update.hpp"

namespace isotherm::cuda {

// `Way<T, tile>`: of one of the row's tiles,
//     static WideTile<T> chunk(Box region, Box hole);   planes chosen for the columns without `hole`
//     static void sweep(const SweepArgs<T>&, const Columns&, Stream);
template <class T, const auto& tiles, template <class, auto> class Way>
struct WideRow {
  static void complete(StencilKernel<T>& row) {
    static constexpr RestSweep<T> rest{interior, sweep_rest, rest_scratch_bytes};
    row.launch = sweep;
    row.own_boundaries = {true, true, true};
    row.policies = names_of<tiles>();
    row.norm_scratch_bytes = norm_scratch_bytes;
    row.rest = &rest;
  }

 private:
  static void sweep(const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
    with_tile<tiles>(
        plan.policy, [&]<auto tile>() {
          const WideTile<T> chunk = Way<T, tile>::chunk(args.region, {});
          if (!chunk.fits(args.region)) return sweep_thin(args, {&args.region, 1}, stream);
          Way<T, tile>::sweep(args, chunk.columns(args.region), stream);
        });
  }
  static std::size_t norm_scratch_bytes(Box region, int policy) {
    return with_tile<tiles>(
        policy, [&]<auto tile>() {
          const WideTile<T> chunk = Way<T, tile>::chunk(region, {});
          return chunk.fits(region) ? scratch_bytes(chunk.columns(region))
                                    : thin_scratch_bytes<T>({&region, 1});
        });
  }
  // Of partial results of a norm, one a block.
  static std::size_t scratch_bytes(const Columns& columns) { return columns.blocks() * sizeof(double); }

  static Box interior(Box region, Box at_hand, int policy) {
    return with_tile<tiles>(
        policy, [&]<auto tile>() {
          const WideTile<T> chunk = Way<T, tile>::chunk(region, {});
          return chunk.fits(region) ? chunk.interior(region, at_hand)
                                    : thin_rest<T>().interior(region, at_hand, policy);
        });
  }
  static void sweep_rest(const SweepArgs<T>& args, Box interior, SweepPlan plan, Stream stream) {
    with_tile<tiles>(
        plan.policy, [&]<auto tile>() {
          const WideTile<T> chunk = Way<T, tile>::chunk(args.region, interior);
          if (!chunk.fits(args.region)) return thin_rest<T>().launch(args, interior, plan, stream);
          SweepArgs<T> rest = args;
          if (const Columns beside = chunk.columns(args.region).without(interior); beside.blocks() > 0) {
            Way<T, tile>::sweep(rest, beside, stream);
            rest.norm.accumulate = true;
          }
          const std::vector<Box> layers = layers_of(args.region, interior);
          if (!layers.empty()) sweep_thin(rest, layers, stream);
        });
  }
  static std::size_t rest_scratch_bytes(Box region, Box interior, int policy) {
    return with_tile<tiles>(
        policy, [&]<auto tile>() {
          const WideTile<T> chunk = Way<T, tile>::chunk(region, interior);
          if (!chunk.fits(region)) return thin_rest<T>().norm_scratch_bytes(region, interior, policy);
          return std::max(scratch_bytes(chunk.columns(region).without(interior)),
                          thin_scratch_bytes<T>(layers_of(region, interior)));
        });
  }
  // Below and above the interior.
  static std::vector<Box> layers_of(Box region, Box interior) {
    const Box middle{{interior.lo.x, interior.lo.y, region.lo.z},
                     {interior.hi.x, interior.hi.y, region.hi.z}};
    return boxes_around(middle, interior);
  }
};

}  // namespace isotherm::cuda
