#include "config/grid_axes.hpp"

#include <algorithm>
#include <cmath>

#include "config/parts.hpp"

namespace isotherm {

GridAxis::GridAxis(const Config& config, int axis)
    : letter_("xyz"[axis]),
      cells_(config.grid.cells[axis]),
      zones_{{0, config.grid.origin[axis], spacing(config)[axis]}} {
  const std::vector<SpacingZone>& zones = config.grid.zones[axis];
  for (std::size_t i = 1; i < zones.size(); ++i) {
    const Zone& before = zones_.back();
    const Index count = zones[i - 1].cells;
    zones_.push_back({before.first + count, before.edge + count * before.size, zones[i].size});
  }
}

double GridAxis::length() const {
  if (!is_graded()) return static_cast<double>(cells_) * zones_[0].size;
  return edge(cells_) - zones_[0].edge;
}

double GridAxis::in_cells(double place) const {
  std::size_t zone = 0;
  while (zone + 1 < zones_.size() && place >= zones_[zone + 1].edge) ++zone;
  const double within = (place - zones_[zone].edge) / zones_[zone].size;
  return zone == 0 ? within : static_cast<double>(zones_[zone].first) + within;
}

Index GridAxis::first_centre_from(double place) const {
  const double centre = std::ceil(in_cells(place) - 0.5 - rounding_of_per_cell);
  return static_cast<Index>(std::clamp(centre, 0.0, static_cast<double>(cells_)));
}

double GridAxis::smallest() const { return std::ranges::min(zones_, {}, &Zone::size).size; }
double GridAxis::largest() const { return std::ranges::max(zones_, {}, &Zone::size).size; }

Expression GridAxis::size_formula() const {
  std::vector<TableKnot> knots;
  for (const Zone& zone : zones_) knots.push_back({zone.edge, zone.size});
  return is_graded() ? Expression(knots, true, "a table", letter_) : Expression(zones_[0].size);
}

Box centres_within(const GridAxes& axes, const RegionValue& shape) {
  Box cells;
  for (int a = 0; a < 3; ++a) {
    double low = shape.from[a], high = shape.to[a];
    if (shape.shape != Shape::box) {
      const double length =
          shape.shape == Shape::cylinder && shape.axis == a ? shape.length : 2 * shape.radius;
      low = shape.centre[a] - length / 2;
      high = low + length;
    }
    cells.lo[a] = axes[a].first_centre_from(low);
    cells.hi[a] = axes[a].first_centre_from(high);
  }
  return cells;
}

double size_at(const Config& config, Face f) {
  const int axis = axis_of(f);
  if (!config.grid.is_graded(axis) || !is_max(f)) return spacing(config)[axis];
  return config.grid.zones[axis].back().size;
}

CellWeights::CellWeights(const Config& config, Box cells) {
  for (int axis = 0; axis < 3; ++axis) {
    if (!config.grid.is_graded(axis)) continue;
    const GridAxis sizes(config, axis);
    for (Index i = cells.lo[axis]; i < cells.hi[axis]; ++i)
      along[axis].push_back(sizes.size(i) / sizes.size(0));
  }
}

Expression volume_formula(const Config& config) {
  Expression all(1.0);
  for (int axis = 0; axis < 3; ++axis) {
    if (!config.grid.is_graded(axis)) continue;
    const GridAxis along(config, axis);
    const Expression factor = along.size_formula() / along.size(0);
    all = all.is_constant() ? factor : all * factor;
  }
  return all;
}

}  // namespace isotherm
