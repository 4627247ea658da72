// The temperature at a point: trilinear between cell centres. A point belongs to the cell that contains it,
// on a face to that of the body, between two of the body to the lower one. A centre behind a surface, seen
// from this cell, has what the law of the surface makes of this cell's material continued to it: at a
// boundary the sweep's ghost, a T + b, at a void or another material the line through the surface's
// temperature. So the probe reads a given temperature on its face, follows the gradient of a heat flux, and
// is exact in a layered wall. Behind two or three surfaces the laws apply in turn, x first; several ways
// through as few surfaces give their mean. Across a periodic face the neighbours are of the opposite side.
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
  struct State {  // of a time
    const Config& config;
    const std::array<double, corners>& cells;
    double t;
  };
  struct Seen {
    int surfaces = 0;    // on the way
    double kelvins = 0;  // of the material at its beginning
  };
  bool is_beyond_boundary(int corner, int axis) const {
    return neighbours_[axis][corner >> axis & 1].beyond_boundary;
  }
  // Which of the eight contains the point; -1: none of the body does. `from_face`: how far the point is above
  // the face between the two cells of each axis, in cells.
  int owner_of(const Vector3& from_face) const;
  // Is there no surface between a corner of the body and the next one along the axis?
  bool is_open(int corner, int axis) const;
  // From a corner of the body: the one that differs along the axes of `away`, and the next along the axis.
  Seen seen(const State& state, int corner, int away) const;
  Seen behind_surface(const State& state, int corner, int away, int axis) const;

  std::array<std::array<Neighbour, 2>, 3> neighbours_;  // by axis; lower, upper
  std::array<double, 3> weights_{};                     // of the upper one
  std::array<MaterialClass, corners> classes_;          // of cell()
  std::array<Vector3, corners> shares_{};               // by corner and axis: share_of_step()
  int owner_ = 0;
};

}  // namespace isotherm
