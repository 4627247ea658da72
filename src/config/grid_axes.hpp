// The positions of the cells of the deck's grid. Only this code converts an index to a coordinate, so that
// every rank and every use gets the same bits.
//
// An axis has cells of one size, or zones of cells of one size each. A position "in cells" is counted from
// the lower end of the axis, and is linear within a cell: the lower face of cell i is at i, its centre at
// i + 1/2. Beyond the domain the cells of either end continue.
#pragma once

#include <array>
#include <vector>

#include "config/config.hpp"

namespace isotherm {

class GridAxis {
 public:
  GridAxis(const Config& config, int axis);

  Index cells() const { return cells_; }
  bool is_graded() const { return zones_.size() > 1; }
  double size(Index i) const { return zone_of(i).size; }  // m, of a cell
  double edge(Index i) const {                            // m, of its lower face
    const Zone& zone = zone_of(i);
    return zone.edge + static_cast<double>(i - zone.first) * zone.size;
  }
  double centre(Index i) const {  // m
    const Zone& zone = zone_of(i);
    return zone.edge + (static_cast<double>(i - zone.first) + 0.5) * zone.size;
  }
  double length() const;                // m, of the domain
  double in_cells(double place) const;  // `place` in m
  // The first cell of the domain whose centre is at `place` (m) or beyond it, but for rounding; the number of
  // cells if there is none.
  Index first_centre_from(double place) const;
  double smallest() const;  // m, of a cell
  double largest() const;   // m
  // The size of the cell at a coordinate, m: a formula of `letter_`, one of x, y, z.
  Expression size_formula() const;

 private:
  struct Zone {
    Index first;        // cell
    double edge, size;  // m
  };
  const Zone& zone_of(Index i) const {
    std::size_t zone = 0;
    while (zone + 1 < zones_.size() && i >= zones_[zone + 1].first) ++zone;
    return zones_[zone];
  }

  char letter_;
  Index cells_;
  std::vector<Zone> zones_;
};

struct GridAxes {
  std::array<GridAxis, 3> axes;

  explicit GridAxes(const Config& config)
      : axes{GridAxis(config, 0), GridAxis(config, 1), GridAxis(config, 2)} {}
  const GridAxis& operator[](int axis) const { return axes[axis]; }
  Vector3 centre(Int3 cell) const {  // m
    return {axes[0].centre(cell.x), axes[1].centre(cell.y), axes[2].centre(cell.z)};
  }
  double volume() const {  // m^3, of the domain
    return axes[0].length() * axes[1].length() * axes[2].length();
  }
};

// Cells of the domain whose centres lie in the bounding box of a box, sphere or cylinder.
Box centres_within(const GridAxes& axes, const RegionValue& shape);

// The size along the normal, m, of the cells at a face of the domain.
double size_at(const Config& config, Face face);

// The volume of each cell over that of the first, as a product of one factor per axis.
struct CellWeights {
  std::array<std::vector<double>, 3>
      along{};  // of a box of cells; empty where all cells of the axis are alike

  CellWeights() = default;  // all cells are alike
  CellWeights(const Config& config, Box cells);
  bool any() const { return !along[0].empty() || !along[1].empty() || !along[2].empty(); }
  double of(std::size_t axis, Index cell) const { return along[axis].empty() ? 1 : along[axis][cell]; }
};
// The same product as a formula of x, y, z.
Expression volume_formula(const Config& config);

}  // namespace isotherm
