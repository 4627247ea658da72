#include "config/key_table.hpp"

#include <fmt/format.h>

#include <cmath>

#include "config/text.hpp"

// Laid out by hand: a key is a row.
// clang-format off
namespace isotherm {
namespace {

constexpr std::string_view axes[] = {"x", "y", "z"};
constexpr std::string_view off_on[] = {"false", "true"}, auto_true_false[] = {"auto", "true", "false"};
constexpr std::string_view overlaps[] = {"auto", "true", "false", "in_kernel"};
constexpr std::string_view devices[] = {"auto", "cpu", "cuda", "gpu"};  // gpu is another word for cuda

constexpr Range positions{-1e12, 1e12, "m"}, extents{1e-12, 1e12, "m"}, times{1e-30, 1e18, "s"};
constexpr Range kelvins{-1e12, 1e12, "K"}, counts{1, 1e15};

// `Value`: an enum that numbers its words from 0, a bool, or an int. Words after `last` mean the last value.
template <class Value>
Choice choice(Value& value, std::span<const std::string_view> words, int last = 1 << 20) {
  return {words, [&value] { return static_cast<int>(value); },
          [&value, last](int index) { value = static_cast<Value>(std::min(index, last)); }};
}
template <class Enum>
Choice choice(Enum& value) {
  return choice(value, words_of<Enum>);
}

template <class Entry>
MapList list_of(std::string_view what, std::vector<Entry>& entries,
                const std::type_identity_t<std::function<Keys(Entry&)>>& describe, std::string_view lone_key = {}) {
  return {what, lone_key, [&entries] { return entries.size(); },
          [&entries, describe](std::size_t i) { return describe(entries[i]); },
          [&entries, describe] { return describe(entries.emplace_back()); }, {}};
}

// The keys of an output, and its two intervals, which need one of the keys `what`.
Keys with_times(Keys keys, OutputTimes& when, const std::vector<std::string_view>& what) {
  keys.push_back({"every_steps", &when.every_steps, "Steps, sweeps or cycles from one to the next.",
      {.range = counts, .needs = what, .example = "10", .absent = "only the last state"}});
  keys.push_back({"every_time", &when.every_time,
      "Time from one to the next, instead of every_steps; transient problems only.",
      {.range = times, .needs = what, .excludes = {"every_steps"}, .example = "0.1", .absent = "only the last state"}});
  return keys;
}

Keys describe_point(ProbePoint& point) {
  return {
      {"at", &point.at, "Position of the point.",
       {.range = positions, .is_required = true, .example = "[0.05, 0.05, 0.05]"}},
      {"name", &point.name, "Name of its column in probes.csv.",
       {.example = "tip", .absent = "p and its number in the list, from 0"}},
  };
}

Keys describe_slice(SliceConfig& slice) {
  return with_times({
      {"axis", choice(slice.axis, axes), "The direction that the plane is normal to."},
      {"position", &slice.position,
       "Where it cuts the axis: the plane of the cells that hold this position is written.",
       {.range = positions, .partner = "cell", .example = "0.05"}},
      {"cell", &slice.cell, "Instead of position: the cells' index along the axis, from 0.",
       {.range = {0, 1e12}, .partner = "position", .example = "12"}},
      {"name", &slice.name, "Name in its files, NAME_slice_THIS_00000100.hdf.",
       {.example = "midplane", .absent = "axis and cell, such as z12"}},
  }, slice.times, {});
}

Keys describe(RegionConfig& region) {
  return with_times({
      {"from", &region.from,
       "The corner with the least x, y and z: all cells that the box overlaps are written.",
       {.range = positions, .needs = {"to"}, .example = "[0.02, 0.02, 0.02]", .absent = "no region"}},
      {"to", &region.to, "The opposite corner.",
       {.range = positions, .needs = {"from"}, .example = "[0.05, 0.05, 0.05]", .absent = "no region"}},
      {"first_cell", &region.first_cell,
       "Instead of from and to: the cell with the least indices along x, y and z, from 0.",
       {.range = {0, 1e12}, .needs = {"last_cell"}, .excludes = {"from", "to"}, .example = "[0, 0, 0]",
        .absent = "no region"}},
      {"last_cell", &region.last_cell, "The opposite cell, itself within the region.",
       {.range = {0, 1e12}, .needs = {"first_cell"}, .excludes = {"from", "to"}, .example = "[15, 15, 15]",
        .absent = "no region"}},
  }, region.times, {"from", "first_cell"});
}

Keys describe(CoarseConfig& coarse) {
  return with_times({
      {"factor", &coarse.factor,
       "Cells along x, y and z per coarse cell, which has their mean; one number for all. Must divide grid.cells.",
       {.range = {1, 64}, .example = "[4, 4, 4]", .absent = "no coarse field", .one_for_all = true}},
  }, coarse.times, {"factor"});
}

Keys describe(ProbesConfig& probes) {
  return with_times({
      {"points", list_of("points, each [x, y, z] or with a name", probes.points, describe_point, "at"),
       "Points whose temperature is interpolated between cell centres; near a surface with its boundary condition, "
       "on an interface from its lower side.", {.example = "[[0.05, 0.05, 0.05]]", .absent = "none"}},
  }, probes.times, {"points"});
}

Keys describe(GridConfig& grid) {
  return {
      {"cells", &grid.cells,
       "Cells along x, y and z; one number for a cube. null along an axis with zones: their sum.",
       {.range = {1, 1e12}, .is_required = true, .example = "[64, 64, 64]", .one_for_all = true,
        .may_be_null = true}},
      {"lengths", &grid.lengths, "Edges of the box along x, y and z; one number for a cube.",
       {.range = extents, .partner = "spacing", .example = "[1, 1, 1]", .one_for_all = true}},
      {"spacing", CellSizes{&grid},
       "Edges of a cell along x, y and z; one number for cubes. Along an axis also zones, from its lower end: "
       "[[20, 1e-6], [40, 25e-6]] are 20 cells of 1 um and 40 of 25 um.",
       {.range = extents, .partner = "lengths", .example = "0.01", .one_for_all = true}},
      {"origin", &grid.origin, "The corner of the box with the least x, y and z.", {.range = positions}},
  };
}

Keys describe(MaterialConfig& material) {
  return {
      {"conductivity", &material.conductivity,
       "Thermal conductivity k; flux and convection boundaries and steady sources need it.",
       {.range = {1e-12, 1e12, "W/(m K)"}, .example = "400"}},
      {"density", &material.density, "Density; together with heat_capacity.",
       {.range = {1e-12, 1e12, "kg/m^3"}, .needs = {"heat_capacity"}, .example = "8960"}},
      {"heat_capacity", &material.heat_capacity, "Specific heat capacity c; together with density.",
       {.range = {1e-12, 1e12, "J/(kg K)"}, .needs = {"density"}, .example = "385"}},
      {"diffusivity", &material.diffusivity,
       "Thermal diffusivity alpha = k/(rho c), instead of density and heat_capacity.",
       {.range = {1e-12, 1e12, "m^2/s"}, .excludes = {"density", "heat_capacity"}, .example = "1.16e-4"}},
      {"default", &material.default_material,
       "The material, or void, of all cells that no region covers; material then has no other key.",
       {.example = "silicon", .absent = "the body is of one material, or regions cover every cell"}},
  };
}

Keys describe_material(NamedMaterial& material) {
  return {
      {"conductivity", &material.conductivity, "Thermal conductivity k, or three along x, y and z.",
       {.range = {1e-12, 1e12, "W/(m K)"}, .partner = "ambient", .example = "[20, 20, 0.4]",
        .one_for_all = true}},
      {"density", &material.density, "Density; transient problems need it, together with heat_capacity.",
       {.range = {1e-12, 1e12, "kg/m^3"}, .needs = {"heat_capacity"}, .excludes = {"ambient"}, .example = "1850"}},
      {"heat_capacity", &material.heat_capacity, "Specific heat capacity c; together with density.",
       {.range = {1e-12, 1e12, "J/(kg K)"}, .needs = {"density"}, .excludes = {"ambient"}, .example = "1100"}},
      {"ambient", &material.ambient,
       "Temperature of a void, in place of conductivity: makes the entry a void, which is no part of the body.",
       {.range = kelvins, .partner = "conductivity", .needs = {"coefficient"}, .example = "293.15"}},
      {"coefficient", &material.coefficient,
       "Of a void, together with ambient: heat transfer coefficient of the faces between it and the body.",
       {.range = {1e-12, 1e12, "W/(m^2 K)"}, .needs = {"ambient"}, .example = "10", .absent = "none, and a void requires it"}},
  };
}

Keys describe_layer(LayerConfig& layer) {
  return {
      {"material", &layer.material, "A name in materials, or void.", {.is_required = true, .example = "board"}},
      {"thickness", &layer.thickness, "Thickness of the layer.",
       {.range = extents, .is_required = true, .example = "1.6e-3"}},
  };
}

Keys describe_contact(ContactConfig& contact) {
  return {
      {"between", &contact.between, "Two entries of materials.",
       {.is_required = true, .example = "[silicon, board]"}},
      {"resistance", &contact.resistance, "Resistance of every face between cells of the two.",
       {.range = {0, 1e12, "m^2 K/W"}, .is_required = true, .example = "1e-5"}},
  };
}

// Of a region whose shape is a dataset.
Key contents_of(RegionValue& place) {
  return {"contents", &place.contents,
          "Hash of the contents when this deck was resolved; other contents are an error. Decks of users leave it out.",
          {.when = {"shape", {"dataset"}}, .example = "xxh3-00c0ffee00c0ffee", .absent = "any file will do"}};
}

Keys describe_material_region(MaterialRegion& region) {
  MapList map = list_of("materials by whole numbers, {1: board}", region.map, [](MappedId& id) -> Keys {
    return {{"material", &id.material, "A name in materials, or void.", {.is_required = true, .example = "board"}}};
  });
  map.name = [&region](std::size_t i) -> std::string& { return region.map[i].id; };
  map.lone_key = "material";
  RegionValue& place = region.place;
  const std::vector<std::string_view> round{"sphere", "cylinder"};
  return {
      {"shape", choice(region.shape), "Layers across the whole box; a shape, which has the cells with "
       "their centres in it; or a dataset with a whole number for each cell."},
      {"material", &region.material, "A name in materials, or void: no part of the body, and insulated; of a "
       "dataset the material of numbers that map does not have.",
       {.when = {"shape", {"box", "sphere", "cylinder", "dataset"}}, .example = "board",
        .absent = "none: a dataset leaves such cells as they were, other shapes require it"}},
      {"layers", list_of("layers, {material: board, thickness: 1.6e-3}", region.layers, describe_layer),
       "Layers from the lower face of the box upwards.",
       {.when = {"shape", {"layers"}}, .example = "[{material: board, thickness: 1.6e-3}]", .absent = "none"}},
      {"from", &place.from, "The corner with the least x, y and z.",
       {.range = positions, .is_required = true, .when = {"shape", {"box"}}, .example = "[0, 0, 0]"}},
      {"to", &place.to, "The opposite corner.",
       {.range = positions, .is_required = true, .when = {"shape", {"box"}}, .example = "[0.1, 0.1, 0.05]"}},
      {"centre", &place.centre, "Its centre.",
       {.range = positions, .is_required = true, .when = {"shape", round}, .example = "[0.5, 0.5, 0.5]"}},
      {"radius", &place.radius, "Its radius.",
       {.range = extents, .is_required = true, .when = {"shape", round}, .example = "0.1"}},
      {"axis", choice(place.axis, axes), "The direction of a cylinder, or the one across layers.",
       {.when = {"shape", {"layers", "cylinder"}}}},
      {"length", &place.length, "Its length along the axis, half to each side of the centre.",
       {.range = extents, .is_required = true, .when = {"shape", {"cylinder"}}, .example = "0.5"}},
      {"file", &place.file, "An HDF5 file.",
       {.is_required = true, .when = {"shape", {"dataset"}}, .example = "scan.hdf"}},
      contents_of(place),
      {"dataset", &place.dataset, "Path in the file of a dataset of whole numbers, of shape (nz, ny, nx).",
       {.is_required = true, .when = {"shape", {"dataset"}}, .example = "/ids"}},
      {"map", map, "The material, or void, of each of these numbers.",
       {.is_required = true, .when = {"shape", {"dataset"}}, .example = "{1: silicon, 2: board}"}},
  };
}

// The keys of a law: of a face, of an entry of its list, or of the area around a patch.
Keys describe_law(LawConfig& law, std::span<const std::string_view> kinds, std::string_view doc,
                  std::string_view variables) {
  return {
      {"kind", choice(law.kind, kinds), doc},
      {"value", &law.value,
       "Temperature (K) or heat flux into the body (W/m^2): a number or a formula of the face and t.",
       {.range = {-1e15, 1e15, "K or W/m^2"}, .is_required = true, .when = {"kind", {"temperature", "flux"}},
       .example = "300", .variables = variables}},
      {"ambient", &law.value,
       "Temperature of the surroundings: a number or a formula of the face and t.", {.range = kelvins,
       .is_required = true, .when = {"kind", {"convection"}}, .example = "293", .variables = variables}},
      {"coefficient", &law.coefficient,
       "Heat transfer coefficient: a number or a formula of the face and t.", {.range = {0, 1e12, "W/(m^2 K)"},
       .is_required = true, .when = {"kind", {"convection"}}, .example = "25", .variables = variables}},
  };
}

Keys describe_boundary(BoundaryConfig& boundary, std::string_view variables) {
  const std::string_view corner = variables[0] == 'y' ? "[y, z]" : variables[1] == 'y' ? "[x, y]" : "[x, z]";
  const std::span<const std::string_view> kinds = words_of<BoundaryKind>;
  Keys keys = describe_law(boundary, kinds,
      "The boundary condition; insulated and periodic (on both faces of a pair) need no map.", variables);
  const auto is_given = [&boundary] { return boundary.where.is_given(); };
  keys.push_back({"where", Section{{
      {"from", &boundary.where.from, "The corner with the least coordinates along the face's two axes, of x, y, z.",
       {.range = positions, .is_required = true, .example = "[0, 0]", .pair = corner}},
      {"to", &boundary.where.to, "The opposite corner.",
       {.range = positions, .is_required = true, .example = "[0.02, 0.02]", .pair = corner}}}, {}, true, is_given},
      "A rectangle on the face; the condition holds only there.", {.example = "{from: [0, 0], to: [0.02, 0.02]}"}});
  keys.push_back({"else", Section{
      describe_law(boundary.rest, kinds.first(kinds.size() - 1), "The boundary condition there.", variables), "kind",
      true, is_given}, "The condition around the rectangle (default: insulated).", {.needs = {"where"}}});
  return keys;
}

Keys describe_boundaries(Config& config) {
  static constexpr std::string_view variables[] = {"yzt", "xzt", "xyt"};  // by axis
  Keys keys;
  for (int f = 0; f < face_count; ++f) {
    const auto face = static_cast<std::size_t>(f), axis = face / 2;
    BoundaryConfig& boundary = config.boundaries[face];
    const std::string_view letters = variables[axis];
    const auto entry = [letters](BoundaryConfig& law) { return describe_boundary(law, letters); };
    keys.push_back({face_names[f],
        Section{describe_boundary(boundary, letters), "kind", false, {}, list_of("conditions", boundary.laws, entry, "kind")},
        "The boundary condition of this face, or a list of those that add up on it (default: insulated)."});
  }
  return keys;
}

// The keys of an entry of `initial` (temperatures) or `sources` (places and formulas may depend on time).
Keys describe_region(RegionValue& region_value, bool is_source) {
  const Range values = is_source ? Range{-1e18, 1e18, "W/m^3"} : kelvins;
  const std::vector<std::string_view> round{"sphere", "cylinder"};
  const std::vector<std::string_view> with_value{"constant", "box", "sphere", "cylinder", "gaussian"};
  std::vector<std::string_view> with_centre{"sphere", "cylinder", "gaussian"};
  if (is_source) with_centre.push_back("double_ellipsoid");
  const auto place = [&](std::string_view name, Vector3* fixed, std::array<Expression, 3>* in_time,
                         std::string_view doc, std::string_view doc_in_time,
                         const std::vector<std::string_view>& shapes, std::string_view example) {
    KeyTraits traits{.range = positions, .is_required = true, .when = {"shape", shapes}, .example = example};
    if (!is_source) return Key(name, fixed, doc, traits);
    traits.variables = "t";
    return Key(name, in_time, doc_in_time, traits);
  };
  const std::span<const std::string_view> shapes(words_of<Shape>);  // the last is of sources alone
  return {
      {"shape", choice(region_value.shape, is_source ? shapes : shapes.first(shapes.size() - 1)),
       "The shape; exact: the solution that verify names.", {.is_required = true, .example = "constant"}},
      {"mode", choice(region_value.mode),
       "Replace earlier values or add to them. Gaussians and time-dependent entries always add; time-dependent "
       "entries also to later ones.",
       {.when = {"shape", {"constant", "box", "sphere", "cylinder", "formula", "dataset", "exact"}}}},
      {"value", &region_value.value, "The value inside; of a gaussian, its peak.",
       {.range = values, .is_required = !is_source, .partner = is_source ? "power" : "",
       .when = {"shape", with_value}, .example = is_source ? "1e6" : "300"}},
      place("from", &region_value.from, &region_value.from_at, "The corner with the least x, y and z.",
            "The corner with the least x, y and z: numbers, tables or formulas of t.", {"box"}, "[0.2, 0.2, 0.2]"),
      place("to", &region_value.to, &region_value.to_at, "The opposite corner.", "The opposite corner, likewise.",
            {"box"}, "[0.4, 0.4, 0.4]"),
      place("centre", &region_value.centre, &region_value.centre_at, "Its centre.",
            "Its centre: numbers, tables or formulas of t; of a double ellipsoid on the surface that the heat enters.",
            with_centre, "[0.5, 0.5, 0.5]"),
      {"radius", &region_value.radius, "Its radius.",
       {.range = extents, .is_required = true, .when = {"shape", round}, .example = "0.1"}},
      {"axis", choice(region_value.axis, axes), "The direction of a cylinder.",
       {.when = {"shape", {"cylinder"}}}},
      {"length", &region_value.length, "Its length along the axis, half to each side of the centre.",
       {.range = extents, .is_required = true, .when = {"shape", {"cylinder"}}, .example = "0.5"}},
      {"width", &region_value.width, "Its standard deviation.",
       {.range = extents, .is_required = true, .when = {"shape", {"gaussian"}}, .example = "0.05"}},
      {"formula", &region_value.formula, is_source ? "A formula of x, y, z and t." : "A formula of x, y and z.",
       {.range = values, .is_required = true, .when = {"shape", {"formula"}},
       .example = is_source ? "\"1e6*exp(-t)\"" : "\"300 + 50*sin(pi*x)\"", .variables = is_source ? "xyzt" : "xyz"}},
      {"file", &region_value.file,
       "An HDF5 file, or the directory of a run, for its last snapshot; a relative path starts at the "
       "deck's folder.",
       {.is_required = true, .when = {"shape", {"dataset"}}, .example = "start.h5"}},
      contents_of(region_value),
      {"dataset", &region_value.dataset, "Path in the file of a dataset of shape (nz, ny, nx).",  // runs store temperatures
       {.is_required = is_source, .when = {"shape", {"dataset"}}, .example = is_source ? "/heat" : "/temperature"}},
  };
}
Keys describe_source(RegionValue& region_value) {
  Keys keys = describe_region(region_value, true);
  When with_power = keys[2].when;
  with_power.words.push_back("double_ellipsoid");  // has no one value
  keys.insert(keys.begin() + 3, {"power", &region_value.power,
      "Heat of the whole shape, instead of value: a number, a table or a formula of t; of a box also a floor plan.",
      {.range = {-1e18, 1e18, "W"}, .partner = "value", .when = with_power, .example = "16", .variables = "t"}});
  const When only{"shape", {"double_ellipsoid"}};
  const auto length = [&](std::string_view name, double* target, std::string_view doc) {
    keys.push_back({name, target, doc, {.range = extents, .is_required = true, .when = only, .example = "0.01"}});
  };
  length("front", &region_value.front, "Distance ahead of its centre at which its density is exp(-3) of that at the centre.");
  length("rear", &region_value.rear, "The same distance behind its centre.");
  length("half_width", &region_value.half_width, "The same distance to either side.");
  length("depth", &region_value.depth, "The same distance into the body.");
  keys.push_back({"front_share", &region_value.front_share, "Share of its heat that is ahead of its centre.",
      {.range = {0, 1}, .when = only, .example = "0.4", .absent = "front/(front + rear), whose density has no jump"}});
  keys.push_back({"travel", choice(region_value.travel), "The direction of its front.", {.when = only}});
  keys.push_back({"into", choice(region_value.into), "The direction of its depth.", {.when = only}});
  return keys;
}

Keys describe(ProblemConfig& problem) {
  const When transient{"kind", {"transient"}}, steady{"kind", {"steady"}}, chebyshev{"method", {"chebyshev"}},
      implicit{"method", {"implicit"}};
  return {
      {"kind", choice(problem.kind), "Follow the temperature in time, or find its steady state."},
      {"end_time", &problem.end_time, "Time at which the run ends; the last step ends there.",
       {.range = {0, 1e18, "s"}, .partner = "steps", .when = transient, .example = "1"}},
      {"steps", &problem.steps, "How many steps to take; 0 writes the initial state.",
       {.range = {0, 1e15}, .partner = "end_time", .when = transient, .example = "1000"}},
      {"dt", &problem.dt,
       "Time step: euler at most the stable limit, rkl at most that of 64 stages (fp32: 16), implicit any; "
       "whole steps end at end_time.", {.range = times, .when = transient, .example = "1e-3", .absent =
       "dt_fraction of the limit (rkl: with half of the stages); at least 32 long steps", .absent_word = "auto"}},
      {"dt_fraction", &problem.dt_fraction,
       "Fraction of the stable limit that dt: auto takes; less where the maximum principle needs it.",
       {.range = {0, 1, "", true}, .when = transient}},
      {"allow_unstable", choice(problem.allow_unstable, off_on),
       "Take a dt above the stable limit; for tests of divergence.", {.when = transient}},
      {"method", choice(problem.method),
       "Steady: V cycles over coarser grids (multigrid), cycles of Chebyshev weights, or jacobi, sweeps of one "
       "weight. Transient: euler, one sweep per step; rkl, steps hundreds of times as long in some eighty sweeps; "
       "or implicit, steps of any length by multigrid.",
       {.absent = "multigrid, or euler of transient problems"}},
      {"accelerate", choice(problem.accelerate), "Of several materials by multigrid or implicit: conjugate gradients, "
       "of five V cycles per cycle, where V cycles alone leave more than a tenth of the error; or none.", {.absent = "cg for several materials by these methods"}},
      {"scheme", choice(problem.scheme),
       "Of implicit: backward_euler, of first order, which does not overshoot; or sdirk2, of second order.",
       {.when = implicit}},
      {"cycle", &problem.cycle,
       "Sweeps per cycle, 2, 4, 8 or a multiple of 16; residuals and outputs are due at the ends of cycles, and intervals "
       "count cycles.", {.range = {2, 4096}, .when = chebyshev, .example = "256",
       .absent = "chosen from grid and boundaries", .absent_word = "auto"}},
      {"max_cycles", &problem.max_cycles, "Cycles after which a run ends, converged or not.", {.range = counts, .when = steady,
       .example = "100", .absent = "as max_sweeps allows; 100 for multigrid"}},
      {"weight", &problem.weight, "Weight of the Jacobi sweep; with 1 a checkerboard error never decays.",
       {.range = {0, 1, "", true}, .when = steady}},
      {"tolerance", &problem.tolerance,
       "Steady: residual that ends the run, K if absolute, else a fraction of the first; 0: never. Of rkl and "
       "sdirk2: error of a part of a step, K, for which steps are halved as often as needed.",
       {.range = {0, 1e12, "K or a fraction"}, .example = "1e-6",
       .absent = "1e-6 for steady problems; for transient ones, steps of one length"}},
      {"error", &problem.error,
       "Estimated error of the field, in problem.norm, that ends the run, instead of tolerance.", {.range = {0, 1e12, "K", true},
       .excludes = {"tolerance", "criterion"}, .when = steady, .example = "0.01", .absent = "tolerance ends the run"}},
      {"norm", choice(problem.norm), "Norm of the residual: largest, root mean square, mean absolute.", {.when = steady}},
      {"criterion", choice(problem.criterion),
       "What tolerance bounds: the residual, absolute or relative to the first one, or the estimated error, "
       "in K.", {.when = steady}},
      {"max_sweeps", &problem.max_sweeps, "Sweeps after which a run ends, converged or not.", {.range = counts, .when = steady}},
      {"mean_temperature", &problem.mean_temperature,
       "The mean over the box, where no boundary fixes the temperature.",
       {.range = kelvins, .when = steady, .example = "300", .absent = "the boundaries fix it"}},
      {"check_interval", &problem.check_interval,
       "Sweeps, or cycles or long steps where a method has them, between two residuals (and checks for NaN).",
       {.range = {1, 1e9}, .absent = "1 for cycles and long steps, 100 for sweeps"}},
      {"check", choice(problem.check),
       "Wait for each residual, or continue and read it when the next is due; the run then ends one interval later.",
       {.former_words = {{"lagged", "asynchronous"}}}},
  };
}

Keys describe(SolverConfig& solver) {
  return {
      {"kernel", &solver.kernel, "The stencil kernel: auto or a name that isotherm list prints.",
       {.former_words = {std::begin(former_kernels), std::end(former_kernels)}}},
      {"tile", &solver.tile,
       "The launch configuration of the kernel: auto or one of its tiles, which isotherm list names.",
       {.former_name = "policy"}},
      {"reduction", &solver.reduction,
       "The reduction of the norms: auto or a name that isotherm list prints."},
      {"histogram", &solver.histogram,
       "The histogram of the diagnostics: auto or a name that isotherm list prints."},
      {"halo_width", &solver.halo_width,
       "Layers of ghosts that a halo exchange fills, and sweeps from one exchange to the next: fewer "
       "messages, for cells near the faces that both neighbours compute.", {.range = {1, 64}, .example = "4",
       .absent = "the fastest that the autotuner finds", .absent_word = "auto", .former_name = "depth"}},
      {"time_block", &solver.time_block, "The most sweeps per launch of a temporal kernel.",
       {.range = {1, 64}, .example = "4", .absent = "the fastest that the autotuner finds",
       .absent_word = "auto"}},
      {"cuda_graph", choice(solver.cuda_graph, auto_true_false),
       "Queue the sweeps between two checks as a whole, as CUDA graphs; auto: if the autotuner finds that "
       "faster.", {.former_name = "graph"}},
      {"tuning_budget", &solver.tuning_budget,
       "Time that the autotuner may spend on measuring keys at auto, with the first steps of the run; at most "
       "5 % of the expected time of the run. 0: uses defaults, and measures nothing.",
       {.range = {0, 3600, "s"}}},
      {"tuning_file", &solver.tuning_file,
       "File for the results of the autotuner, by device, precision and shape: the next run need not measure.",
       {.example = "tuning.json", .absent = "every run measures"}},
      {"walltime", &solver.walltime,
       "Wall time that the run may take: it stops, with a checkpoint, while there is time to write it. "
       "The end of a Slurm job (SLURM_JOB_END_TIME) is a limit too.",
       {.range = {1e-3, 1e9, "s"}, .example = "3500", .absent = "no limit"}},
  };
}

Keys describe(ParallelConfig& parallel) {
  return {
      {"process_grid", &parallel.process_grid,
       "Ranks along x, y and z; their product is the number of ranks.", {.range = {1, 1e6},
       .example = "[2, 2, 1]", .absent = "the cheapest by estimate", .absent_word = "auto"}},
      {"device", choice(parallel.device, devices, static_cast<int>(DeviceChoice::cuda)),
       "Where to compute; auto takes a GPU when there is one, and gpu means cuda."},
      {"ranks_per_gpu", &parallel.ranks_per_gpu, "The most ranks that may share one GPU.",
       {.range = {1, 1024}, .example = "1", .absent = "any number, with a warning", .absent_word = "auto"}},
      {"overlap", choice(parallel.overlap, overlaps),
       "Sweep the interior while halos are under way; in_kernel: sweeps store their faces into the "
       "neighbours' ghosts (GPUs of one host); auto tries all on several GPUs.",
       {.former_words = {{"in_sweep", "in_kernel"}}}},
      {"transport", &parallel.transport,
       "How halos are sent to the neighbours (isotherm list); auto tries all and uses the fastest for each."},
      {"probe_timeout", &parallel.probe_timeout, "Time that a transport may take to answer when it is tried.",
       {.range = {0.01, 3600, "s"}}},
  };
}

Keys describe(HistogramConfig& histogram) {
  return {
      {"bins", &histogram.bins,
       "Bins of equal width; cells below, above and NaN are counted too. 0: no histogram.",
       {.range = {0, 4096}}},
      {"range", &histogram.range,
       "Ends of the range of the bins, for the whole run; auto: the least and the largest of the initial "
       "state, and of boundaries and surroundings whose temperature is a number.", {.range = kelvins,
       .example = "[290, 400]", .absent = "known before the first sweep", .absent_word = "auto"}},
  };
}

Keys describe(CheckpointConfig& checkpoint) {
  const When written{"write", {"true"}};
  return {
      {"write", choice(checkpoint.write, off_on),
       "Write checkpoints: by interval where one is given, and when a signal or the wall time stops the run. "
       "checkpoint: false is short for write: false."},
      {"every_steps", &checkpoint.every_steps, "Steps, sweeps or cycles from one checkpoint to the next.",
       {.range = counts, .when = written, .example = "10000", .absent = "none by steps"}},
      {"every_time", &checkpoint.every_time,
       "Time from one checkpoint to the next, instead of every_steps; transient problems only.",
       {.range = times, .excludes = {"every_steps"}, .when = written, .example = "10", .absent = "none by time"}},
      {"every_wall", &checkpoint.every_wall, "Wall time from one checkpoint to the next.",
       {.range = {0.1, 1e9, "s of wall time"}, .when = written, .example = "1800",
       .absent = "none by the clock"}},
      {"keep", &checkpoint.keep, "How many are kept, the newest; older ones are deleted.",
       {.range = {2, 1e6}, .when = written}},
      {"final", choice(checkpoint.final, auto_true_false),
       "Write one where the run ends, to resume from with more steps; auto: where an interval is given, and "
       "where a steady run ends above its tolerance.", {.when = written}},
  };
}

Keys describe(OutputConfig& output) {
  const When history{"history", {"true"}};
  return {
      {"directory", &output.directory,
       "Folder of the run, made if missing; a relative path starts where isotherm is started.",
       {.example = "runs/hot_box", .absent = "runs/<name of the deck>"}},
      {"overwrite", choice(output.overwrite, off_on), "Replace the run that the folder holds."},
      {"snapshots", choice(output.snapshots, off_on),
       "Write the field; false: none at all, whatever the intervals."},
      {"every_steps", &output.every_steps, "Steps, sweeps or cycles from one snapshot to the next.",
       {.range = counts, .example = "100", .absent = "only the last state"}},
      {"every_time", &output.every_time,
       "Time from one snapshot to the next, instead of every_steps; transient problems only.",
       {.range = times, .excludes = {"every_steps"}, .example = "0.1", .absent = "only the last state"}},
      {"asynchronous", choice(output.asynchronous, off_on),
       "Write snapshots, slices, the region and the coarse field while sweeps continue, from a copy, by a "
       "thread that needs its own core; false: sweeps wait."},
      {"history", choice(output.history, off_on), "Write history.csv, a line per check."},
      {"diagnostics", &output.diagnostics,
       "Steps, sweeps or cycles from one line of diagnostics in history.csv to the next: extremes, mean, heat (needs "
       "density and heat_capacity, or diffusivity, as well as conductivity), heat through each face (needs "
       "conductivity), the balance, the histogram.",
       {.range = counts, .when = history, .example = "100", .absent = "none"}},
      {"histogram", Section{describe(output.histogram)},
       "A histogram of all cells in each line of the diagnostics.", {.when = history}},
      {"precision", choice(output.precision),
       "Precision of cells in files: that of the field, or rounded to fp32 (half the size). Checkpoints keep all bits."},
      {"compression", &output.compression,
       "Level of deflate (gzip), after a shuffle of the bytes, of the cells in snapshots, slices, the "
       "region and the coarse field: 1 is the fastest, 9 the smallest, 0 does not compress. While it "
       "is written, a file needs the space of an uncompressed one. Checkpoints are never compressed, "
       "to save time.", {.range = {0, 9}, .example = "1"}},
      {"xdmf", choice(output.xdmf, off_on),
       "Write NAME.xmf as well as NAME.hdf.series: XDMF over the same files, for ParaView, PyVista and VisIt, as "
       "cells in the box that they fill; always for files one cell thick."},
      {"slices", list_of("planes", output.slices, describe_slice),
       "Planes of cells, each in files of its own next to the snapshots.", {.absent = "none"}},
      {"region", Section{describe(output.region)},
       "A box of cells in files of its own: from and to, or first_cell and last_cell."},
      {"coarse", Section{describe(output.coarse)},
       "The field in larger cells, each the mean of those within it, in files of its own."},
      {"probes", Section{describe(output.probes)},
       "The temperature at points, a line of probes.csv each time."},
      {"checkpoint", Section{describe(output.checkpoint), "write"},
       "States to resume from, with isotherm run DECK --restart latest."},
      {"on_error", choice(output.on_error),
       "If a snapshot, slice, region or coarse field cannot be written: stop the run, or warn and continue "
       "without the file; with warn, sweeps wait for all files. A checkpoint that cannot be written always "
       "stops the run."},
  };
}

Keys describe(VerifyConfig& verify) {
  const When any{"solution", {"decaying_mode", "steady_profile", "manufactured", "formula", "slab_series"}};
  return {
      {"solution", choice(verify.solution), "Exact solution to compare with."},
      {"modes", &verify.modes,
       "Half waves along x, y and z, whole ones where periodic; 0: constant along that axis.",
       {.range = {0, 1e6}, .when = {"solution", {"decaying_mode", "manufactured"}}}},
      {"amplitude", &verify.amplitude, "Amplitude of the solution.",
       {.range = kelvins, .when = {"solution", {"decaying_mode", "manufactured"}}}},
      {"formula", &verify.formula, "The solution as a formula of x, y, z and t.", {.range = kelvins,
       .is_required = true, .when = {"solution", {"formula"}}, .example = "\"300 + exp(-t)*cos(pi*x)\"",
       .variables = "xyzt"}},
      {"tolerance", &verify.tolerance, "The largest allowed error; a run with a larger one fails.",
       {.range = {0, 1e12, "K"}, .when = any, .example = "1e-3", .absent = "report only"}},
      {"order", &verify.order,
       "Cells along x (or the first axis with more than one) of a series of runs, ascending, at least three: "
       "prints the observed order.",
       {.range = {1, 1e12}, .when = any, .example = "[16, 32, 64]", .absent = "one run"}},
      {"expected_order", &verify.expected_order, "Order that the series must show.", {.range = {0, 16}, .when = any}},
      {"order_tolerance", &verify.order_tolerance, "Allowed difference from expected_order.",
       {.range = {0, 16}, .when = any}},
  };
}

Keys describe(ScalingConfig& scaling) {
  return {
      {"kind", choice(scaling.kind),
       "strong: the same grid on all counts; weak: the cells of grid for every rank, so that the body grows.",
       {.is_required = true, .example = "strong"}},
      {"ranks", &scaling.ranks, "Counts of MPI ranks. The others are compared with the smallest.",
       {.range = {1, 1e6}, .partner = "gpus", .example = "[1, 2, 4, 8]"}},
      {"gpus", &scaling.gpus, "Instead of ranks: counts of GPUs, with a rank each and no rank on a CPU.",
       {.range = {1, 1e6}, .partner = "ranks", .example = "[1, 2, 4, 8]"}},
      {"repeats", &scaling.repeats, "Runs on each count, of which the one with the median time counts.",
       {.range = {1, 1000}}},
  };
}

Keys describe(StudyConfig& study) {
  return {
      {"matrix", Written{&study.matrix, Written::Form::lists_by_key},
       "Keys of the deck by their paths, each with a list of values: every value of one with every value of "
       "the others.",
       {.example = "{grid.cells: [32, 64], solver.kernel: [reference, openmp]}", .absent = "none"}},
      {"zip", Written{&study.zip, Written::Form::lists_by_key},
       "Keys with lists of equal length: their first values together, then their second ones, and so on.",
       {.example = "{grid.cells: [32, 64], problem.steps: [100, 400]}", .absent = "none"}},
      {"list", Written{&study.list, Written::Form::maps},
       "Cases one by one: a name, and keys with one value each. Where matrix or zip is given too, each "
       "is combined with each.",
       {.example = "[{name: thin, grid.lengths: [1, 1, 0.1]}, {name: thick}]", .absent = "none"}},
      {"exclude", Written{&study.exclude, Written::Form::maps},
       "Cases to leave out: those that have all values of an entry.",
       {.example = "[{grid.cells: 64, solver.kernel: reference}]", .absent = "none"}},
      {"name", &study.name,
       "Names of the cases, and of their folders: text with varied keys, name (of the list) and ranks in "
       "braces.", {.example = "\"{solver.kernel}_{grid.cells}\"", .absent = "all that varies"}},
      {"limit", &study.limit, "More cases than this are refused.",
       {.range = {1, 1e5}, .example = "500", .absent = "200"}},
      {"ranks", &study.ranks, "MPI ranks of a case; may also be a key of matrix, zip and list.",
       {.range = {1, 1e6}, .example = "4", .absent = "1"}},
      {"launcher", &study.launcher,
       "Command that starts a case on several ranks (if given, with scaling on one too); {ranks} and, by "
       "ranks_per_node, {nodes} are replaced.",
       {.example = "\"srun -n {ranks} --exact\"", .absent = "mpirun -n {ranks}"}},
      {"ranks_per_node", &study.ranks_per_node, "Ranks per node, for {nodes} in launcher.",
       {.range = {1, 1e6}, .example = "8", .absent = "all ranks on this host"}},
      {"slurm", Section{{
          {"template", &study.slurm_template,
           "File with the job script: a copy of inputs/study.sbatch, edited for this cluster.",
           {.example = "study.sbatch", .absent = "inputs/study.sbatch as it is"}},
          {"options", &study.slurm_options, "Options of sbatch: each becomes a line #SBATCH of the job scripts.",
           {.example = "[--partition=gpu, \"--time=01:00:00\"]", .absent = "none"}}}},
       "What isotherm study --slurm submits: a job array per rank count, a task per case."},
      {"report", &study.report,
       "Columns of the table that is printed at the end: those of study.csv, varied keys, or paths within "
       "run.json.", {.example = "[solver.kernel, step_s, method.kernel]",
       .absent = "varied keys, state, step_s, residual_K, max_K"}},
      {"sort", &study.sort, "The column by which that table is sorted, ascending.",
       {.example = "step_s", .absent = "the order of the cases"}},
  };
}

}  // namespace

Keys describe(Config& config) {
  MapList materials = list_of("materials", config.materials, describe_material);
  materials.name = [&config](std::size_t i) -> std::string& { return config.materials[i].name; };
  return {
      {"grid", Section{describe(config.grid)}, "The box and its cells."},
      {"material", Section{describe(config.material)},
       "Material of the body; only the keys that the problem needs."},
      {"materials", materials,
       "Materials by name, for bodies of several materials.",
       {.absent = "one material"}},
      {"regions", list_of("shapes, each of a material", config.regions, describe_material_region),
       "The material of each part of the domain, assigned in order by the centres of cells.", {.absent = "material.default everywhere"}},
      {"contacts", list_of("pairs of materials with a resistance", config.contacts, describe_contact),
       "Resistances of the faces between two materials.", {.absent = "perfect contact"}},
      {"precision", choice(config.precision),
       "Precision of the field; mixed: fp64, whose multigrid cycles compute in fp32."},
      {"boundaries", Section{describe_boundaries(config)},
       "The boundary conditions of the six faces. x faces may use y, z, t in formulas, y faces x, z, t, z "
       "faces x, y, t."},
      {"initial", list_of("shapes", config.initial, [](auto& value) { return describe_region(value, false); }),
       "The initial temperature (steady: the first guess), set in order from 0 K.",
       {.absent = "[{shape: exact}] with verify, else it must be given"}},
      {"sources", list_of("shapes", config.sources, describe_source),
       "Heat sources, set in order from 0 W/m^3.", {.absent = "none"}},
      {"problem", Section{describe(config.problem)}, "What to solve."},
      {"solver", Section{describe(config.solver)}, "How to compute it."},
      {"parallel", Section{describe(config.parallel)}, "Where to compute it."},
      {"output", Section{describe(config.output)}, "What to write."},
      {"verify", Section{describe(config.verify)}, "Compare with an exact solution."},
  };
}

Keys describe(Config& config, StudyConfig& study) {
  Keys keys = describe(config);
  keys.push_back({"study", Section{describe(study)}, "Several cases of this deck, for isotherm study."});
  keys.push_back({"scaling", Section{describe(study.scaling), {}, true},
      "This deck, and each case of its study, on several counts of ranks, for isotherm study."});
  return keys;
}

// clang-format on
const Key* find_key(const Keys& keys, std::string_view name) {
  const auto found = std::ranges::find(keys, name, &Key::name);
  return found == keys.end() ? nullptr : &*found;
}

std::vector<std::string_view> names_of(const Keys& keys) {
  std::vector<std::string_view> names;
  for (const Key& key : keys) names.push_back(key.name);
  return names;
}

std::string path_to(const std::string& section, std::string_view key) {
  return section.empty() ? std::string(key) : fmt::format("{}.{}", section, key);
}

bool applies(const Key& key, const Keys& keys) {
  if (key.when.key.empty()) return true;
  const std::string_view word = std::get<Choice>(find_key(keys, key.when.key)->target).word();
  return std::ranges::find(key.when.words, word) != key.when.words.end();
}

std::string range_text(const Range& range) {
  if (std::isinf(range.low)) return {};
  const char* const form = range.above_low ? "above {}, at most {}" : "{} to {}";
  return fmt::format(fmt::runtime(form), shortest(range.low), shortest(range.high));
}

std::string when_text(const When& when) {
  return fmt::format("{} {}", when.key, fmt::join(when.words, " or "));
}

static std::string wanted_number(const Key& key, std::string_view what) {
  return fmt::format("{} {}{}{}{}", what, key.range.above_low ? "" : "from ", range_text(key.range),
                     key.range.unit.empty() ? "" : " ", key.range.unit);
}

// "a whole number from 1 to 9", "[x, y, z], whole numbers from 1 to 9", or the first and "or [x, y, z]"
static std::string wanted_numbers(const Key& key, const Numbers& numbers) {
  const std::string number = numbers.are_whole ? "whole number" : "number";
  if (numbers.count == 1) return wanted_number(key, "a " + number);
  if (key.one_for_all) return wanted_number(key, "a " + number) + ", or [x, y, z]";
  const std::string list = numbers.count == 0   ? "a list of "
                           : numbers.count == 2 ? std::string(key.pair) + ", "
                                                : "[x, y, z], ";
  return wanted_number(key, list + number + "s");
}

std::string wanted_text(const Key& key) {
  const std::string wanted = std::visit(
      Overloaded{[](const Choice& choice) { return fmt::format("one of {}", fmt::join(choice.words, ", ")); },
                 [](const Section&) { return std::string("a map of keys"); },
                 [](const MapList& list) {
                   return list.name ? fmt::format("a map of {}, {{NAME: {{...}}}}", list.what)
                                    : fmt::format("a list of {}", list.what);
                 },
                 [](const Written& written) {
                   return std::string(written.form == Written::Form::maps
                                          ? "a list of maps, {key.path: value}"
                                          : "a map of lists, {key.path: [values]}");
                 },
                 [&](const Numbers& numbers) { return wanted_numbers(key, numbers); },
                 [&](const CellSizes&) {
                   return wanted_number(key, "a number") +
                          ", or [x, y, z] of numbers and zones [[count, size], ...]";
                 },
                 [](const std::string*) { return std::string("text"); },
                 [](const std::vector<std::string>*) { return std::string("a list of words"); },
                 [&]<class T>(const T*) {  // a formula, or three
                   const bool table = key.variables.find('t') != key.variables.npos;
                   constexpr bool is_place = std::is_same_v<T, std::array<Expression, 3>>;
                   return fmt::format("{}{} or a formula of {}",
                                      wanted_number(key, is_place ? "[x, y, z], each a number" : "a number"),
                                      table ? ", a table" : "", fmt::join(key.variables, ", "));
                 }},
      key.target);
  return key.absent_word.empty() ? wanted : fmt::format("{}, or {}", wanted, key.absent_word);
}

}  // namespace isotherm
