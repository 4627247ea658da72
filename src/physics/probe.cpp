#include "physics/probe.hpp"

#include <algorithm>
#include <cmath>

#include "config/boundary_laws.hpp"
#include "config/problems.hpp"
#include "physics/cells.hpp"
#include "physics/material_painter.hpp"

namespace isotherm {
namespace {

// At a centre it is that cell's alone, whatever the other holds.
double between(double lower, double upper, double weight) {
  return weight == 0 ? lower : lower + weight * (upper - lower);
}

}  // namespace

// `above`: how far the point is above the lower face of the upper cells, by axis, in those of the lower ones.
bool Probe::contains_point(int corner, const std::array<double, 3>& above) const {
  constexpr double tolerance = 1e-9;
  for (int axis = 0; axis < 3; ++axis) {
    const bool upper = corner >> axis & 1;
    if (neighbours_[axis][upper].beyond_boundary) return false;
    if (neighbours_[axis][!upper].beyond_boundary) continue;
    if (upper ? above[axis] < -tolerance : above[axis] > tolerance) return false;
  }
  return true;
}

Probe::Probe(const Config& config, const Vector3& at, const std::string& key) {
  std::array<double, 3> above{};
  for (int axis = 0; axis < 3; ++axis) {
    const Index n = config.grid.cells[axis];
    const bool periodic = periodic_axes(config)[axis];
    // In cells from the first centre; from -1/2 to n - 1/2 within the box.
    const GridAxis along(config, axis);
    const double place = std::clamp(along.in_cells(at[axis]) - 0.5, -0.5, static_cast<double>(n) - 0.5);
    const auto lower = static_cast<Index>(std::floor(place));
    weights_[axis] = place - static_cast<double>(lower);
    for (const Index side : {Index{0}, Index{1}}) {
      const Index wanted = lower + side;
      Neighbour& neighbour = neighbours_[axis][side];
      neighbour.cell = cell_like(wanted, n, periodic);
      neighbour.beyond_boundary = !periodic && neighbour.cell != wanted;
    }
    // Centres of cells of two sizes are not one cell apart. A ghost beyond a boundary is of its cell's size.
    const double size = along.size(neighbours_[axis][0].cell), next = along.size(neighbours_[axis][1].cell);
    if (size != next)
      weights_[axis] =
          std::clamp((at[axis] - along.edge(lower + 1) + size / 2) / (size / 2 + next / 2), 0.0, 1.0);
    above[axis] = size == next ? weights_[axis] - 0.5 : (at[axis] - along.edge(lower + 1)) / size;
  }
  const MaterialClasses all = material_classes(config);
  MaterialPainter painter(config);
  home_ = corners;
  for (int corner = 0; corner < corners; ++corner) {
    const Int3 place = cell(corner);
    classes_[corner] = all.classes[all.count() == 1 ? 0 : all.of(painter.at(place), place)];
    if (home_ == corners && !classes_[corner].is_void() && contains_point(corner, above)) home_ = corner;
  }
  if (home_ == corners)
    throw deck_error(config, key,
                     "({}, {}, {}) m is in a void, which has no temperature; move the probe into the body",
                     at[0], at[1], at[2]);
}

double Probe::beyond_boundaries(const Config& config, int corner, double temperature, double t) const {
  const Int3 before = cell(corner);
  for (int axis = 0; axis < 3; ++axis) {
    const bool upper = corner >> axis & 1;
    if (!neighbours_[axis][upper].beyond_boundary) continue;
    const Face boundary = face(axis, upper);
    Vector3 at = GridAxes(config).centre(before);
    at[axis] = face_position(config, boundary);
    const double k = classes_[corner].conductivity[axis];
    const BoundaryConfig& of_face = config.boundaries[static_cast<int>(boundary)];
    const FaceLaw sum = is_plain(of_face) ? FaceLaw{} : face_law(config, boundary);
    const BoundaryLaw law =
        is_plain(of_face) ? boundary_law(config, boundary, k) : sum.at(k, size_at(config, boundary), at, t);
    const Expression value = is_plain(of_face) ? of_face.value : sum.value();
    const double b = law.slope == 0 ? 0 : law.slope * value(at[0], at[1], at[2], t);
    temperature = law.a * temperature + b;
  }
  return temperature;
}

// The ghost at a cell of a void, by the cell of the body before it along an axis.
double Probe::beyond_surface(int corner, int axis, double before) const {
  const MaterialClass &own = classes_[corner ^ 1 << axis], &beyond = classes_[corner];
  const double half = own.size[axis] / 2, to_surface = half / own.conductivity[axis];
  const double share = *beyond.coefficient > 0 ? to_surface / (to_surface + 1 / *beyond.coefficient) : 0;
  return before + share * (beyond.ambient - before) * (half + beyond.size[axis] / 2) / half;
}

// By the mean of the ghosts along each axis; where there is none, as the gradients of the other corners say.
void Probe::fill_voids(std::array<double, corners>& v) const {
  std::array<bool, corners> known{};
  for (int corner = 0; corner < corners; ++corner) {
    double sum = 0;
    int count = 0;
    for (int axis = 0; axis < 3 && classes_[corner].is_void(); ++axis) {
      const int before = corner ^ 1 << axis;
      if (classes_[before].is_void()) continue;
      sum += beyond_surface(corner, axis, v[before]);
      ++count;
    }
    if (count > 0) v[corner] = sum / count;
    known[corner] = count > 0 || !classes_[corner].is_void();
  }
  for (int round = 0; round < 2; ++round)
    for (int corner = 0; corner < corners; ++corner)
      for (int axis = 0; axis < 3 && !known[corner]; ++axis) {
        const int first = 1 << axis, second = 1 << (axis + 1) % 3;
        known[corner] = known[corner ^ first] && known[corner ^ second] && known[corner ^ first ^ second];
        if (known[corner]) v[corner] = v[corner ^ first] + v[corner ^ second] - v[corner ^ first ^ second];
      }
  // A void between two voids that the point is not next to.
  for (int corner = 0; corner < corners; ++corner)
    if (!known[corner]) v[corner] = v[home_];
}

double Probe::value(const Config& config, const std::array<double, corners>& cells, double t) const {
  std::array<double, corners> v{};
  for (int corner = 0; corner < corners; ++corner)
    if (!classes_[corner].is_void()) v[corner] = beyond_boundaries(config, corner, cells[corner], t);
  fill_voids(v);
  std::array<double, 4> along_x{};
  for (std::size_t i = 0; i < 4; ++i) along_x[i] = between(v[2 * i], v[2 * i + 1], weights_[0]);
  const double low_z = between(along_x[0], along_x[1], weights_[1]);
  const double high_z = between(along_x[2], along_x[3], weights_[1]);
  return between(low_z, high_z, weights_[2]);
}

}  // namespace isotherm
