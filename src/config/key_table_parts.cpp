// The key table's rows of what is written beside whole snapshots.
#include "config/key_makers.hpp"

// Laid out by hand: a key is a row.
// clang-format off
namespace isotherm {
namespace {

using key_makers::axes, key_makers::choice, key_makers::counts, key_makers::list_of, key_makers::positions,
    key_makers::times;

// The two keys of everything that is written again and again.
void add_times(Keys& keys, OutputTimes& when) {
  keys.push_back({.name = "every_steps", .target = &when.every_steps,
                  .doc = "Steps or sweeps from one to the next.", .range = counts, .example = "10",
                  .absent = "only the last state"});
  keys.push_back({.name = "every_time", .target = &when.every_time,
                  .doc = "Time from one to the next, instead of every_steps; transient problems only.", .unit = "s",
                  .range = times, .example = "0.1", .absent = "only the last state"});
}

Keys describe_point(ProbePoint& point) {
  return {
      {.name = "at", .target = &point.at, .doc = "Where it is.", .unit = "m", .range = positions,
       .need = Need::required, .example = "[0.05, 0.05, 0.05]"},
      {.name = "name", .target = &point.name, .doc = "Of its column in probes.csv.", .example = "tip",
       .absent = "p and its number in the list, from 0"},
  };
}

}  // namespace

Keys describe_slice(SliceConfig& slice) {
  Keys keys{
      {.name = "axis", .target = choice(slice.axis, axes), .doc = "The direction that the plane is normal to."},
      {.name = "position", .target = &slice.position,
       .doc = "Where it cuts the axis: the plane of the cells that hold this position is written.", .unit = "m",
       .range = positions, .need = Need::one_of_two, .example = "0.05", .partner = "cell"},
      {.name = "cell", .target = &slice.cell, .doc = "Instead of position: the cells' index along the axis, from 0.",
       .range = {0, 1e12}, .need = Need::one_of_two, .example = "12", .partner = "position"},
      {.name = "name", .target = &slice.name, .doc = "Of its files, NAME_slice_THIS_00000100.hdf.",
       .example = "midplane", .absent = "axis and cell, such as z12"},
  };
  add_times(keys, slice.times);
  return keys;
}

Keys describe(RegionConfig& region) {
  Keys keys{
      {.name = "from", .target = &region.from,
       .doc = "The corner with the least x, y and z: all cells that the box overlaps are written.", .unit = "m",
       .range = positions, .example = "[0.02, 0.02, 0.02]", .absent = "no region"},
      {.name = "to", .target = &region.to, .doc = "The opposite corner.", .unit = "m", .range = positions,
       .example = "[0.05, 0.05, 0.05]", .absent = "no region"},
      {.name = "first_cell", .target = &region.first_cell,
       .doc = "Instead of from and to: the cell with the least indices along x, y and z, from 0.", .range = {0, 1e12},
       .example = "[0, 0, 0]", .absent = "no region"},
      {.name = "last_cell", .target = &region.last_cell, .doc = "The opposite cell, itself within the region.",
       .range = {0, 1e12}, .example = "[15, 15, 15]", .absent = "no region"},
  };
  add_times(keys, region.times);
  return keys;
}

Keys describe(CoarseConfig& coarse) {
  Keys keys{
      {.name = "factor", .target = &coarse.factor,
       .doc = "Cells along x, y and z whose mean makes one; one number for all. Must divide grid.cells.",
       .range = {1, 64}, .example = "[4, 4, 4]", .absent = "no coarse field", .one_for_all = true},
  };
  add_times(keys, coarse.times);
  return keys;
}

Keys describe(ProbesConfig& probes) {
  Keys keys{
      {.name = "points", .target = list_of("points, each [x, y, z] or with a name", probes.points, describe_point, "at"),
       .doc = "Points whose temperature is interpolated between cell centres, and near a wall with the wall's own value.",
       .absent = "none"},
  };
  add_times(keys, probes.times);
  return keys;
}

}  // namespace isotherm
// clang-format on
