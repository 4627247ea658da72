#include "config/material_blocks.hpp"

#include <algorithm>
#include <iterator>

namespace isotherm {
namespace {

// More would take longer than the plan of a run may. Regions beyond these cut no further, so that what they
// paint is known less exactly.
constexpr Index most_material_blocks = 1 << 15;

void insert(std::vector<Index>& ascending, Index value) {
  const auto at = std::ranges::lower_bound(ascending, value);
  if (at == ascending.end() || *at != value) ascending.insert(at, value);
}

}  // namespace

MaterialBlocks::MaterialBlocks(const Config& config) {
  const GridAxes axes(config);
  const std::vector<PaintedShape> shapes = painted_shapes(config);
  std::vector<Box> bounds;
  for (const PaintedShape& shape : shapes)
    bounds.push_back(shape.place.shape == Shape::dataset ? Box{{0, 0, 0}, config.grid.cells}
                                                         : centres_within(axes, shape.place));
  cut(config, bounds);
  std::vector<std::uint8_t> start;  // of a deck of one material, else that of material.default
  const std::string& name = config.material.default_material;
  if (config.materials.empty() || !name.empty())
    start = {static_cast<std::uint8_t>(config.materials.empty() ? 0 : material_number(config, name))};
  std::erase(start, no_material);  // an unknown name, reported by the checks
  set_of_block_.assign(count(0) * count(1) * count(2), number_of(start));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::vector<std::uint8_t> materials{static_cast<std::uint8_t>(shapes[i].material)};
    for (const auto& [id, material] : shapes[i].map) materials.push_back(material);
    std::erase(materials, no_material);
    const Shape shape = shapes[i].place.shape;
    const bool has_every_cell = shape == Shape::dataset && shapes[i].material != no_material;
    paint(bounds[i], materials, shape == Shape::box || has_every_cell);
  }
}

void MaterialBlocks::cut(const Config& config, const std::vector<Box>& shapes) {
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<Index>& cuts = cuts_[axis];
    cuts = {0};
    for (const SpacingZone& zone : config.grid.zones[axis]) cuts.push_back(cuts.back() + zone.cells);
    insert(cuts, config.grid.cells[axis]);
  }
  for (const Box& shape : shapes) {
    if (count(0) * count(1) * count(2) > most_material_blocks) return;
    for (int axis = 0; axis < 3; ++axis)
      for (const Index end : {shape.lo[axis], shape.hi[axis]}) insert(cuts_[axis], end);
  }
}

// `hides`: what was painted before, in blocks that are wholly within these cells.
void MaterialBlocks::paint(const Box& cells, const std::vector<std::uint8_t>& materials, bool hides) {
  Box touched;
  for (int axis = 0; axis < 3; ++axis) {
    const Index from = cells.lo[axis], to = cells.hi[axis];
    if (from >= to) return;
    const std::vector<Index>& cuts = cuts_[axis];
    touched.lo[axis] = std::ranges::upper_bound(cuts, from) - cuts.begin() - 1;
    touched.hi[axis] = std::ranges::lower_bound(cuts, to) - cuts.begin();
  }
  const auto is_within = [&](int axis, Index block) {
    const Index from = cells.lo[axis], to = cells.hi[axis];
    return from <= first(axis, block) && first(axis, block + 1) <= to;
  };
  const std::size_t alone = number_of(materials);
  std::map<std::size_t, std::size_t> joined;  // of sets that were there
  for (Index z = touched.lo.z; z < touched.hi.z; ++z)
    for (Index y = touched.lo.y; y < touched.hi.y; ++y)
      for (Index x = touched.lo.x; x < touched.hi.x; ++x) {
        std::size_t& set = set_of_block_[place({x, y, z})];
        if (hides && is_within(0, x) && is_within(1, y) && is_within(2, z)) {
          set = alone;
          continue;
        }
        const auto [found, is_new] = joined.try_emplace(set);
        if (is_new) {
          std::vector<std::uint8_t> both = sets_[set];
          both.insert(both.end(), materials.begin(), materials.end());
          found->second = number_of(both);
        }
        set = found->second;
      }
}

std::size_t MaterialBlocks::number_of(const std::vector<std::uint8_t>& materials) {
  std::vector<std::uint8_t> set = materials;
  std::ranges::sort(set);
  set.erase(std::unique(set.begin(), set.end()), set.end());
  const auto [found, is_new] = numbers_.try_emplace(set, sets_.size());
  if (is_new) sets_.push_back(set);
  return found->second;
}

}  // namespace isotherm
