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

Probe::Probe(const Config& config, const Vector3& at, const std::string& key) {
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
    const double size = along.size(neighbours_[axis][0].cell), above = along.size(neighbours_[axis][1].cell);
    if (size != above)
      weights_[axis] =
          std::clamp((at[axis] - along.edge(lower + 1) + size / 2) / (size / 2 + above / 2), 0.0, 1.0);
  }
  const MaterialClasses all = material_classes(config);
  MaterialPainter painter(config);
  int nearest = 0;
  for (int corner = 0; corner < corners; ++corner) {
    const Int3 place = cell(corner);
    const MaterialClass& own = all.classes[all.count() == 1 ? 0 : all.of(painter.at(place), place)];
    voids_[corner] = own.is_void();
    for (int axis = 0; axis < 3; ++axis)
      if (neighbours_[axis][corner >> axis & 1].beyond_boundary)
        conductivities_[corner][axis] = own.conductivity[axis];
    if (weight(corner) > weight(nearest)) nearest = corner;
  }
  if (voids_[nearest])
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
    const double k = conductivities_[corner][axis];
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
  for (int corner = 0; corner < corners; ++corner)
    v[corner] = beyond_boundaries(config, corner, cells[corner], t);
  if (std::ranges::count(voids_, true) > 0) {
    double sum = 0, weights = 0;
    for (int corner = 0; corner < corners; ++corner) {
      if (voids_[corner]) continue;
      sum += weight(corner) * v[corner];
      weights += weight(corner);
    }
    return sum / weights;
  }
  std::array<double, 4> along_x{};
  for (std::size_t i = 0; i < 4; ++i) along_x[i] = between(v[2 * i], v[2 * i + 1], weights_[0]);
  const double low_z = between(along_x[0], along_x[1], weights_[1]);
  const double high_z = between(along_x[2], along_x[3], weights_[1]);
  return between(low_z, high_z, weights_[2]);
}

}  // namespace isotherm
