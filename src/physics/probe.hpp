// The temperature at a point: trilinear between cell centres. Within half a cell of a boundary the missing
// centres are the sweep's ghosts, a T + b of the cell before it: the probe reads a given temperature there,
// and follows the gradient of a heat flux. Beyond two or three boundaries the rules apply in turn, x first.
// Across a periodic face the cells of the opposite side are the neighbours. Cells of a void have no part: the
// weights of the others are scaled to a sum of 1.
#pragma once

#include <array>
#include <string>

#include "config/config.hpp"
#include "core/box.hpp"

namespace isotherm {

// Of one point, which must lie within the box. Throws Error(deck) where the cell with it is of a void.
class Probe {
 public:
  static constexpr int corners = 8;
  Probe(const Config& config, const Vector3& at, const std::string& key = "output.probes");

  // The cell whose temperature stands for this corner of the eight around the point; its bits 0, 1 and 2 say
  // whether it is the upper one along x, y and z. Corners beyond a boundary are the cells before it.
  Int3 cell(int corner) const {
    const auto along = [&](std::size_t axis) { return neighbours_[axis][corner >> axis & 1].cell; };
    return {along(0), along(1), along(2)};
  }
  // K, in a fixed order of operations. `cells`: temperatures of cell(0), cell(1), ..., at the time t (s).
  double value(const Config& config, const std::array<double, corners>& cells, double t) const;

 private:
  struct Neighbour {
    Index cell = 0;
    bool beyond_boundary = false;
  };
  double weight(int corner) const {
    double product = 1;
    for (int axis = 0; axis < 3; ++axis) product *= corner >> axis & 1 ? weights_[axis] : 1 - weights_[axis];
    return product;
  }
  double beyond_boundaries(const Config& config, int corner, double temperature, double t) const;

  std::array<std::array<Neighbour, 2>, 3> neighbours_;  // by axis; lower, upper
  std::array<double, 3> weights_{};                     // of the upper one
  std::array<bool, corners> voids_{};
  // By corner and axis: of the cell before the boundary, W/(m K).
  std::array<std::array<double, 3>, corners> conductivities_{};
};

}  // namespace isotherm
