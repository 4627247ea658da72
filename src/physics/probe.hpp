// The temperature at a point: trilinear between cell centres. A point belongs to the cell that contains it;
// on a face, to the cell of the body; between two cells of the body, to the lower one. To a centre beyond a
// surface the probe extrapolates in this cell's material, by the law of the surface: at a boundary with the
// sweep's ghost, a T + b; at a void or another material on the line through the surface's temperature. So it
// returns a given temperature on its face, follows the gradient of a heat flux, and is exact in a layered
// wall. Beyond two or three surfaces the laws apply in turn. The last is the law that holds the temperature
// most (the smallest a; of equals that of the last axis). Paths through equally few surfaces are averaged.
// Across a periodic face, cells of the opposite side are used.
#pragma once

#include <array>

#include "config/config.hpp"
#include "config/materials.hpp"
#include "core/box.hpp"

namespace isotherm {

// One point, which must lie within the box. Throws Error(deck) if the cell that contains it is of a void.
class Probe {
 public:
  static constexpr int corners = 8;
  Probe(const Config& config, const Vector3& at);

  // The cell whose temperature is read for one of the eight corners around the point. Bits 0, 1 and 2 of
  // `corner` are set for the upper one along x, y and z. Beyond a boundary it is the cell at the boundary.
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
  struct State {  // at one time
    const Config& config;
    const std::array<double, corners>& cells;
    double t;
  };
  struct Seen {
    int surfaces = 0;    // between the two corners
    double kelvins = 0;  // extrapolated in the material of the first
    double a = 1;        // how much of it follows the temperature before the last surface
  };
  bool is_beyond_boundary(int corner, int axis) const {
    return neighbours_[axis][corner >> axis & 1].beyond_boundary;
  }
  // Which corner's cell contains the point; -1: no cell of the body does. `from_face`: how far the point is
  // above the face between the two cells of each axis, in cells.
  int owner_of(const Vector3& from_face) const;
  // Is there no surface between a corner of the body and the next one along the axis?
  bool is_open(int corner, int axis) const;
  // Seen from a corner of the body: the corner that differs along the axes (bits) `away`, and along `axis`.
  Seen seen(const State& state, int corner, int away) const;
  Seen behind_surface(const State& state, int corner, int away, int axis) const;

  std::array<std::array<Neighbour, 2>, 3> neighbours_;  // by axis; lower, upper
  std::array<double, 3> weights_{};                     // of the upper one
  std::array<MaterialClass, corners> classes_;          // of cell()
  std::array<Vector3, corners> shares_{};               // by corner and axis: share_of_step()
  int owner_ = 0;
};

}  // namespace isotherm
