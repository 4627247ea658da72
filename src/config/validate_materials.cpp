// Checks the keys of several materials, and rejects settings that do not support them yet.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "config/boundary_laws.hpp"
#include "config/grid_axes.hpp"
#include "config/materials.hpp"
#include "config/parts.hpp"
#include "config/reader.hpp"
#include "config/text.hpp"
#include "core/text.hpp"

namespace isotherm {
namespace {

void check_name_of_material(const Config& config, const std::string& key, const std::string& name,
                            Problems& problems) {
  if (!problems.sound({key}) || config.materials.size() > most_materials) return;
  std::vector<std::string_view> known;
  for (const NamedMaterial& material : config.materials) known.push_back(material.name);
  known.push_back(void_word);
  if (material_number(config, name) == no_material) problems.add_unknown_word(key, name, known);
}

void check_absent_materials(const Config& config, Problems& problems) {
  const char* const key = !config.regions.empty()                     ? "regions"
                          : !config.contacts.empty()                  ? "contacts"
                          : !config.material.default_material.empty() ? "material.default"
                                                                      : nullptr;
  if (key && problems.sound({"materials"}))
    problems.add(key, "names a material, of which the deck has none; add materials: {{{}: {{...}}}}",
                 config.material.default_material.empty() ? "NAME" : config.material.default_material);
}

void check_one_material(const Config& config, const NamedMaterial& material, Problems& problems) {
  const std::string key = "materials." + material.name;
  if (material.name.empty() || material.name.find_first_not_of(name_letters) != material.name.npos)
    return problems.add("materials", "'{}' is no name; write letters, digits, '_' and '-'",
                        printable(material.name));
  if (material.name == void_word)
    return problems.add(key,
                        "is the word for cells that are no part of the body, and needs no entry; remove "
                        "it, or choose another name");
  if (problems.sound({key, "problem.kind"}) && config.problem.kind == ProblemKind::transient &&
      !material.is_void() && !material.density)
    problems.add(key, "a transient problem needs rho c; add density and heat_capacity");
}

void check_contacts(const Config& config, Problems& problems) {
  std::set<std::pair<std::string, std::string>> pairs;
  for (std::size_t i = 0; i < config.contacts.size(); ++i) {
    const std::string key = fmt::format("contacts.{}.between", i);
    const std::vector<std::string>& between = config.contacts[i].between;
    if (!problems.sound({key})) continue;
    if (between.size() != 2) {
      problems.add(key, "has {} entries; write two materials", between.size());
      continue;
    }
    for (const std::string& name : between) check_name_of_material(config, key, name, problems);
    const auto is_void = [&](const std::string& name) {
      const std::size_t number = material_number(config, name);
      return number != no_material && problems.sound({"materials." + name}) &&
             material_of_number(config, number).is_void();
    };
    if (const auto found = std::ranges::find_if(between, is_void); found != between.end())
      problems.add(key,
                   "names {}, a void, whose coefficient says what its faces conduct; write two materials",
                   *found);
    else if (between[0] == between[1])
      problems.add(
          key,
          "names one material twice; write two, of which one may be a part of the body under another name");
    else if (!pairs.insert(std::minmax(between[0], between[1])).second)
      problems.add(key, "is a pair that has a contact before; keep one");
  }
}

void check_layers(const Config& config, const MaterialRegion& region, const std::string& key,
                  Problems& problems) {
  if (region.layers.empty())
    return problems.add(key,
                        "has neither layers nor a shape; add layers: [{material: NAME, thickness: 1e-3}], "
                        "or shape: box");
  const int axis = region.place.axis;
  for (std::size_t i = 0; i < region.layers.size(); ++i)
    check_name_of_material(config, fmt::format("{}.layers.{}.material", key, i), region.layers[i].material,
                           problems);
  if (!problems.sound({key, "grid"})) return;
  const GridAxis along(config, axis);
  const auto cells = static_cast<double>(along.cells());
  const double h = along.size(0);
  double top = 0, thickness = 0;  // in cells, m
  for (std::size_t i = 0; i < region.layers.size(); ++i) {
    thickness += region.layers[i].thickness;
    top =
        along.is_graded() ? along.in_cells(along.edge(0) + thickness) : top + region.layers[i].thickness / h;
    const std::string layer = fmt::format("{}.layers.{}.thickness", key, i);
    if (top > cells * (1 + rounding_of_per_cell))
      return problems.add(
          layer, "brings the layers to {:.6g} m, and the box has {:.6g} m along {}; make them thinner",
          along.is_graded() ? thickness : top * h, along.length(), "xyz"[axis]);
    const double off = top - std::nearbyint(top);
    if (std::abs(off) > rounding_of_per_cell * std::max(1.0, top))
      problems.warn(
          layer,
          "the layer ends {:.2g} of a cell {} a face between cells, and is computed as if it ended at that "
          "face; use {} {:.6g} m",
          std::abs(off), off > 0 ? "above" : "below",
          along.is_graded() ? "zones that end where layers do, and multiples of" : "multiples of",
          along.size(static_cast<Index>(top)));
  }
}

// Regions assign materials by cell centres, while a source of the same box heats shares of cells.
void check_ends_of_box(const Config& config, const RegionValue& box, const std::string& key,
                       Problems& problems) {
  if (!problems.sound({key, "grid"})) return;
  std::set<char> axes;
  double farthest = 0;  // of a cell
  for (int axis = 0; axis < 3; ++axis) {
    const GridAxis along(config, axis);
    for (const double end : {box.from[axis], box.to[axis]}) {
      const double at = along.in_cells(end), off = std::abs(at - std::nearbyint(at));
      const bool is_inside = at > 0 && at < static_cast<double>(along.cells());
      if (!is_inside || off <= rounding_of_per_cell * std::max(1.0, at)) continue;
      axes.insert("xyz"[axis]);
      farthest = std::max(farthest, off);
    }
  }
  if (!axes.empty())
    problems.warn(key,
                  "the box ends up to {:.2g} of a cell off the faces between cells along {}, and is computed "
                  "as if it ended at the nearest; move these ends to faces, or choose cells with faces there",
                  farthest, fmt::join(axes, ", "));
}

void check_map(const Config& config, const MaterialRegion& region, const std::string& key,
               Problems& problems) {
  if (region.map.empty())
    return problems.add(key, "is empty, so the dataset assigns no material; write {1: board}");
  std::set<std::int64_t> ids;
  for (const MappedId& each : region.map) {
    const auto id = read_number<std::int64_t>(each.id);
    if (!id)
      problems.add(key, "'{}' is no whole number; write the numbers of the dataset", printable(each.id));
    else if (!ids.insert(*id).second)
      problems.add(key, "has {} twice; keep one", *id);
    check_name_of_material(config, key + "." + each.id, each.material, problems);
  }
}

void check_regions(const Config& config, Problems& problems) {
  for (std::size_t i = 0; i < config.regions.size(); ++i) {
    const MaterialRegion& region = config.regions[i];
    const std::string key = fmt::format("regions.{}", i);
    if (!problems.sound({key})) continue;
    if (region.shape == RegionShape::layers) {
      check_layers(config, region, key, problems);
      continue;
    }
    const bool is_dataset = region.shape == RegionShape::dataset;
    if (is_dataset) check_map(config, region, key + ".map", problems);
    if (!region.material.empty())
      check_name_of_material(config, key + ".material", region.material, problems);
    else if (!is_dataset && problems.sound({key + ".material"}))
      problems.add(key + ".material", "is missing; add material: board");
    for (int axis = 0; region.shape == RegionShape::box && axis < 3; ++axis)
      check_corners(key, axis, region.place.from[axis], region.place.to[axis], problems);
    if (region.shape == RegionShape::box) check_ends_of_box(config, region.place, key, problems);
  }
}

void check_limits(const Config& config, const RegistryNames& registry, Problems& problems) {
  const char* const several = config.grid.is_graded() ? "a grid whose spacing has zones"
                              : patches_cut_coarse_cells(config)
                                  ? "a body with patches on boundaries whose coefficients vary, by "
                                    "multigrid or implicit,"
                                  : "a body of several materials, or of one that differs by axis";
  check_error_is_known(config, several, problems);
  const MethodName method = config.problem.method;
  if (problems.sound({"problem.kind", "problem.method", "boundaries"}) && mean_is_free(config) &&
      method != MethodName::multigrid)
    problems.add("problem.method",
                 "{} does not keep the mean temperature of {}, which no boundary fixes; use multigrid",
                 word(method), several);
  const ExactSolution solution = config.verify.solution;
  if (solution != ExactSolution::none && solution != ExactSolution::formula &&
      problems.sound({"verify.solution"}))
    problems.add("verify.solution", "{} is not a solution for {}; use formula", word(solution), several);
  check_kernel_can(config, registry, &RegistryNames::Kernel::sweeps_materials,
                   fmt::format("sweep {} in this version", several), problems);
}

void check_several_materials(const Config& config, Problems& problems) {
  const MaterialConfig& m = config.material;
  for (const char* const name : {"conductivity", "density", "heat_capacity", "diffusivity"})
    if (const std::string key = fmt::format("material.{}", name); problems.given(key))
      problems.add(
          key,
          "is of one material, and the deck has materials with properties of their own; keep one of the two, "
          "with material: {{default: {}}}",
          config.materials[0].name);
  if (config.materials.size() > most_materials)
    problems.add("materials", "{} are too many; write at most {}", config.materials.size(), most_materials);
  for (const NamedMaterial& material : config.materials) check_one_material(config, material, problems);
  if (!m.default_material.empty())
    check_name_of_material(config, "material.default", m.default_material, problems);
  else if (config.regions.empty() && problems.sound({"materials", "material", "regions"}))
    problems.add("material.default", "is missing, and so are regions; add default: {}",
                 config.materials[0].name);
  check_regions(config, problems);
  check_contacts(config, problems);
  if (!problems.sound({"material", "materials", "regions", "contacts"})) return;
  const std::vector<std::size_t> used = used_materials(config);
  for (std::size_t i = 0; i < config.materials.size(); ++i)
    if (std::ranges::find(used, i) == used.end())
      problems.warn("materials." + config.materials[i].name,
                    "no cell has it: neither regions nor material.default name it");
  if (material_of_number(config, used[0]).is_void())
    problems.add("regions", "every cell is of a void, and none of the body; give one a material");
}

// Sources are weighted with the volumes of cells, which makes their formulas longer.
void check_depth_of_sources(const Config& config, Problems& problems) {
  for (std::size_t i = 0; i < config.sources.size(); ++i) {
    try {
      Expression::combined(FormulaOp::multiply, {config.sources[i].formula, volume_formula(config)});
    } catch (const FormulaError& error) {
      problems.add(fmt::format("sources.{}.formula", i),
                   "is too long for a grid with zones ({}); write a shorter one", error.problem);
    }
  }
}

void check_classes(const Config& config, Problems& problems) {
  if (!config.grid.is_graded() || !problems.sound({"grid", "material", "materials", "regions", "contacts"}))
    return;
  if (problems.sound({"sources"})) check_depth_of_sources(config, problems);
  if (material_classes(config).count() > most_classes)
    problems.add(
        "grid.spacing",
        "its zones and the materials make more than {} kinds of cells, which differ in material or in "
        "size along an axis; use fewer sizes, or regions that reach into fewer zones",
        most_classes);
}

}  // namespace

void check_materials(const Config& config, const RegistryNames& registry, Problems& problems) {
  config.materials.empty() ? check_absent_materials(config, problems)
                           : check_several_materials(config, problems);
  check_classes(config, problems);
  if (body_is_sound(problems) && has_several_materials(config)) check_limits(config, registry, problems);
}

}  // namespace isotherm
