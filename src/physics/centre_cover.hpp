// Which cells a shape of `initial` covers: those whose centres are inside.
//
// Boxes and the ends of cylinders are half-open, from <= x < to, so that neighbours that share a face cover
// each cell once; spheres and the sides of cylinders are open. Centres within 1e-9 of a cell of a surface
// count as on it.
#pragma once

#include <array>

#include "config/config.hpp"
#include "physics/cells.hpp"

namespace isotherm {

// Cells of one axis by their global indices.
struct CellRange {
  Index first = 0, last = 0;  // last excluded
  bool has(Index i) const { return first <= i && i < last; }
};

class CentreCover {
 public:
  // Of a box, sphere or cylinder, which must outlive it.
  CentreCover(const Config& config, const Paint& shape);

  CellRange row(Index y, Index z) const;  // the cells covered of one row along x
  bool covers_any() const;

 private:
  bool is_round(int axis) const {
    return shape_.shape == Shape::sphere || (shape_.shape == Shape::cylinder && shape_.axis != axis);
  }
  CellRange clipped(int axis, double first, double last) const;
  CellRange half_open(int axis, double low, double high) const;

  const Paint& shape_;
  Int3 cells_;
  Vector3 h_, origin_;
  CellCentres centre_;
  double reach_;  // m, the radius less the tolerance
  std::array<CellRange, 3> between_;
};

}  // namespace isotherm
