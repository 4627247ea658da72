// What the keys of a grid must mean together, and what of it the deck may leave out.
#include <fmt/format.h>

#include <algorithm>

#include "config/grid_axes.hpp"
#include "config/materials.hpp"
#include "config/reader.hpp"
#include "config/text.hpp"

namespace isotherm {

void fill_in_cells(YamlNode& grid) {
  const YamlNode* const spacing = grid.find("spacing");
  if (!spacing || spacing->kind != YamlNode::Kind::list || spacing->items.size() != 3) return;
  const auto is_axis_of_zones = [](const YamlNode& axis) { return axis.kind == YamlNode::Kind::list; };
  if (!grid.find("cells") && std::ranges::all_of(spacing->items, is_axis_of_zones)) {
    const YamlNode nothing{.kind = YamlNode::Kind::null, .place = spacing->place};
    YamlNode cells{
        .kind = YamlNode::Kind::list, .place = spacing->place, .items = {nothing, nothing, nothing}};
    grid.keys.insert(grid.keys.begin(), {"cells", spacing->place});
    grid.items.insert(grid.items.begin(), std::move(cells));
    return fill_in_cells(grid);
  }
  YamlNode* const cells = grid.find("cells");
  if (!cells || cells->kind != YamlNode::Kind::list || cells->items.size() != 3) return;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (cells->items[axis].kind != YamlNode::Kind::null || !is_axis_of_zones(spacing->items[axis])) continue;
    double sum = 0;  // what is no count is reported where spacing is read
    for (const YamlNode& zone : spacing->items[axis].items)
      if (zone.kind == YamlNode::Kind::list && !zone.items.empty())
        sum += parse_number(zone.items[0].text).value;
    cells->items[axis] = {
        .kind = YamlNode::Kind::scalar, .place = cells->items[axis].place, .text = shortest(sum)};
  }
}

// Zones and cells are read for themselves.
void check_zones(const Config& config, Problems& problems) {
  if (!problems.sound({"grid"})) return;
  for (int axis = 0; axis < 3; ++axis) {
    if (!config.grid.is_graded(axis)) continue;
    std::int64_t sum = 0;
    for (const SpacingZone& zone : config.grid.zones[axis]) sum += zone.cells;
    if (sum != config.grid.cells[axis])
      problems.add("grid.cells",
                   "{} cells along {} are not the {} of the zones of spacing; write {}, or null",
                   config.grid.cells[axis], "xyz"[axis], sum, sum);
  }
}

// What a source gives counts with the volumes of cells, which makes its formula longer.
static void check_depth_of_sources(const Config& config, Problems& problems) {
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
  if (material_classes(config).count() > most_materials)
    problems.add(
        "grid.spacing",
        "its zones and the materials make more than {} kinds of cells, which differ in material or in "
        "size along an axis; use fewer sizes, or regions that reach into fewer zones",
        most_materials);
}

}  // namespace isotherm
