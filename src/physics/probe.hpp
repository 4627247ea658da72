// The temperature at a point: trilinear between cell centres. A point belongs to the cell that contains it,
// on a face to that of the body. Where the body ends within half a cell of it, at a boundary or a void, the
// missing centres are the sweep's ghosts, a T + b of the cell before the surface: the probe reads a given
// temperature there, and follows the gradient of a heat flux. Beyond two or three surfaces the rules apply in
// turn, x first; where a missing centre has several cells of the body next to it, it is the mean of theirs.
// Across a periodic face the cells of the opposite side are the neighbours.
#pragma once

#include <array>
#include <string>

#include "config/config.hpp"
#include "config/materials.hpp"
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
  // Which of the eight contains the point; -1: none of the body does. `from_face`: how far the point is above
  // the face between the two cells of each axis, in cells.
  static int owner_of(const Vector3& from_face, const std::array<bool, corners>& is_body);
  void find_bases(int owner, const std::array<bool, corners>& is_body);
  double beyond_surfaces(const Config& config, int base, int corner, double temperature, double t) const;

  std::array<std::array<Neighbour, 2>, 3> neighbours_;  // by axis; lower, upper
  std::array<double, 3> weights_{};                     // of the upper one
  std::array<MaterialClass, corners> classes_;          // of cell()
  // By corner: a bit for each that its value is made from. Its own alone: it is of the body.
  std::array<unsigned, corners> bases_{};
};

}  // namespace isotherm
