#include "physics/probe.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "config/boundary_laws.hpp"
#include "config/parts.hpp"
#include "config/problems.hpp"
#include "physics/boundaries.hpp"
#include "physics/cells.hpp"
#include "physics/material_painter.hpp"

namespace isotherm {
namespace {

// At a centre it is that cell's alone, whatever the other holds.
double between(double lower, double upper, double weight) {
  return weight == 0 ? lower : lower + weight * (upper - lower);
}

constexpr int across(int corner, int axis) {
  return corner ^ 1 << axis;
}

}  // namespace

Probe::Probe(const Config& config, const Vector3& at, const std::string& key) {
  Vector3 from_face{};
  for (int axis = 0; axis < 3; ++axis) {
    const Index n = config.grid.cells[axis];
    const bool periodic = periodic_axes(config)[axis];
    // In cells from the first centre; from -1/2 to n - 1/2 within the box.
    const GridAxis along(config, axis);
    const double place = std::clamp(along.in_cells(at[axis]) - 0.5, -0.5, static_cast<double>(n) - 0.5);
    const auto lower = static_cast<Index>(std::floor(place));
    weights_[axis] = place - static_cast<double>(lower);
    from_face[axis] = weights_[axis] - 0.5;
    for (const Index side : {Index{0}, Index{1}}) {
      const Index wanted = lower + side;
      Neighbour& neighbour = neighbours_[axis][side];
      neighbour.cell = cell_like(wanted, n, periodic);
      neighbour.beyond_boundary = !periodic && neighbour.cell != wanted;
    }
    // Centres of cells of two sizes are not one cell apart. A ghost beyond a boundary is of its cell's size.
    const double size = along.size(neighbours_[axis][0].cell), above = along.size(neighbours_[axis][1].cell);
    if (size != above)
      weights_[axis] =
          std::clamp((at[axis] - along.edge(lower + 1) + size / 2) / (size / 2 + above / 2), 0.0, 1.0);
  }
  const MaterialClasses all = material_classes(config);
  MaterialPainter painter(config);
  std::array<bool, corners> is_body{};
  for (int corner = 0; corner < corners; ++corner) {
    const Int3 place = cell(corner);
    classes_[corner] = all.classes[all.count() == 1 ? 0 : all.of(painter.at(place), place)];
    is_body[corner] = !classes_[corner].is_void();
    for (int axis = 0; axis < 3; ++axis)
      if (neighbours_[axis][corner >> axis & 1].beyond_boundary) is_body[corner] = false;
  }
  const int owner = owner_of(from_face, is_body);
  if (owner < 0)
    throw deck_error(config, key,
                     "({}, {}, {}) m is in a void, which has no temperature; move the probe into the body",
                     at[0], at[1], at[2]);
  find_bases(owner, is_body);
}

int Probe::owner_of(const Vector3& from_face, const std::array<bool, corners>& is_body) {
  for (int corner = 0; corner < corners; ++corner) {
    bool contains = is_body[corner];
    for (int axis = 0; axis < 3; ++axis)
      contains = contains && (corner >> axis & 1 ? from_face[axis] >= -rounding_of_per_cell
                                                 : from_face[axis] <= rounding_of_per_cell);
    if (contains) return corner;
  }
  return -1;
}

// Steps lead from the point's cell away from it, one axis each: to cells of the body through faces between
// them, and to other corners from the nearest of these.
void Probe::find_bases(int owner, const std::array<bool, corners>& is_body) {
  std::array<int, corners> steps{};  // from the body
  bases_[owner] = 1U << owner;
  for (int away = 1; away < corners; ++away) {
    const int corner = owner ^ away;
    int nearest = 3;
    for (int axis = 0; axis < 3; ++axis)
      if (away >> axis & 1) nearest = std::min(nearest, steps[across(corner, axis)]);
    const bool is_reached = is_body[corner] && nearest == 0;
    steps[corner] = is_reached ? 0 : nearest + 1;
    if (is_reached) bases_[corner] = 1U << corner;
    for (int axis = 0; axis < 3 && !is_reached; ++axis)
      if (away >> axis & 1 && steps[across(corner, axis)] == nearest)
        bases_[corner] |= bases_[across(corner, axis)];
  }
}

double Probe::beyond_surfaces(const Config& config, int base, int corner, double temperature,
                              double t) const {
  for (int axis = 0; axis < 3; ++axis) {
    const bool upper = corner >> axis & 1;
    if (upper == (base >> axis & 1)) continue;
    const double k = classes_[base].conductivity[axis];
    if (!neighbours_[axis][upper].beyond_boundary) {
      // To the centre of the void's cell, on the line through the temperature of the surface.
      const MaterialClass& beyond = classes_[across(base, axis)];
      const double h = classes_[base].size[axis], H = *beyond.coefficient;
      temperature += (1 + beyond.size[axis] / h) * H / (2 * k / h + H) * (beyond.ambient - temperature);
      continue;
    }
    const Face boundary = face(axis, upper);
    Vector3 at = GridAxes(config).centre(cell(base));
    at[axis] = face_position(config, boundary);
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

double Probe::value(const Config& config, const std::array<double, corners>& cells, double t) const {
  std::array<double, corners> v{};
  for (int corner = 0; corner < corners; ++corner) {
    for (int base = 0; base < corners; ++base)
      if (bases_[corner] >> base & 1) v[corner] += beyond_surfaces(config, base, corner, cells[base], t);
    v[corner] /= std::popcount(bases_[corner]);
  }
  std::array<double, 4> along_x{};
  for (std::size_t i = 0; i < 4; ++i) along_x[i] = between(v[2 * i], v[2 * i + 1], weights_[0]);
  const double low_z = between(along_x[0], along_x[1], weights_[1]);
  const double high_z = between(along_x[2], along_x[3], weights_[1]);
  return between(low_z, high_z, weights_[2]);
}

}  // namespace isotherm
