// The temperature at a point: trilinear between cell centres. Within half a cell of a boundary the missing
// centres are the sweep's ghosts, a T + b of the cell before it: the probe reads a given temperature there,
// and follows the gradient of a heat flux. Beyond two or three boundaries the rules apply in turn, x first.
// Across a periodic face the cells of the opposite side are the neighbours. In place of a cell of a void is
// the ghost with which its neighbour in the body has the temperature of the surface between them.
#pragma once

#include <array>
#include <string>

#include "config/config.hpp"
#include "config/materials.hpp"
#include "core/box.hpp"

namespace isotherm {

// Of one point, which must lie within the box. Throws Error(deck) inside a void; its surface is the body's.
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
  bool contains_point(int corner, const std::array<double, 3>& above) const;
  double beyond_boundaries(const Config& config, int corner, double temperature, double t) const;
  double beyond_surface(int corner, int axis, double before) const;
  void fill_voids(std::array<double, corners>& temperatures) const;

  std::array<std::array<Neighbour, 2>, 3> neighbours_;  // by axis; lower, upper
  std::array<double, 3> weights_{};                     // of the upper one
  std::array<MaterialClass, corners> classes_;          // of cell()
  int home_ = 0;                                        // the corner of the cell with the point
};

}  // namespace isotherm
