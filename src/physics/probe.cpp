#include "physics/probe.hpp"

#include <algorithm>
#include <cmath>

#include "config/boundary_laws.hpp"
#include "config/parts.hpp"
#include "config/problems.hpp"
#include "physics/cells.hpp"
#include "physics/region_materials.hpp"

namespace isotherm {
namespace {

// At a centre the result is the value of that cell alone, whatever the other value is.
double between(double lower, double upper, double weight) {
  return weight == 0 ? lower : lower + weight * (upper - lower);
}

constexpr int across(int corner, int axis) { return corner ^ 1 << axis; }

// The step along a cell's own gradient to the next centre, over the difference to the temperature of that
// centre or, for a void, its ambient. Both fluxes to the face are equal. 1 within a material.
double share_of_step(const MaterialClasses& all, std::size_t own, std::size_t next, int axis) {
  const MaterialClass &here = all.classes[own], &beyond = all.classes[next];
  const double k = here.conductivity[axis], h = here.size[axis], resistance = all.resistance(own, next);
  if (beyond.conductivity[axis] == k && resistance == 0) return 1;
  const double H = beyond.is_void() ? *beyond.coefficient
                                    : 1 / (resistance + beyond.size[axis] / (2 * beyond.conductivity[axis]));
  return (1 + beyond.size[axis] / h) * H / (2 * k / h + H);
}

}  // namespace

Probe::Probe(const Config& config, const Vector3& at) {
  Vector3 from_face{};
  for (int axis = 0; axis < 3; ++axis) {
    const Index n = config.grid.cells[axis];
    const bool periodic = periodic_axes(config)[axis];
    // The distance from the first centre, in cells: -1/2 to n - 1/2 within the box.
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
  RegionMaterials regions(config);
  std::array<std::size_t, corners> numbers{};
  for (int corner = 0; corner < corners; ++corner) {
    const Int3 place = cell(corner);
    numbers[corner] = all.count() == 1 ? 0 : all.of(regions.at(place), place);
    classes_[corner] = all.classes[numbers[corner]];
  }
  for (int corner = 0; corner < corners; ++corner)
    for (int axis = 0; axis < 3; ++axis)
      shares_[corner][axis] = share_of_step(all, numbers[corner], numbers[across(corner, axis)], axis);
  owner_ = owner_of(from_face);
  if (owner_ < 0)
    throw deck_error(config, "output.probes",
                     "({}, {}, {}) m is in a void, which has no temperature; move the probe into the body",
                     at[0], at[1], at[2]);
}

int Probe::owner_of(const Vector3& from_face) const {
  for (int corner = 0; corner < corners; ++corner) {
    bool contains = !classes_[corner].is_void();
    for (int axis = 0; axis < 3; ++axis)
      contains = contains && !is_beyond_boundary(corner, axis) &&
                 (corner >> axis & 1 ? from_face[axis] >= -rounding_of_per_cell
                                     : from_face[axis] <= rounding_of_per_cell);
    if (contains) return corner;
  }
  return -1;
}

bool Probe::is_open(int corner, int axis) const {
  const int next = across(corner, axis);
  return !is_beyond_boundary(next, axis) && !classes_[next].is_void() && shares_[corner][axis] == 1;
}

Probe::Seen Probe::seen(const State& state, int corner, int away) const {
  if (away == 0) return {0, state.cells[corner]};
  Seen nearest;
  int ways = 0, least = 2 * corners;
  for (int axis = 0; axis < 3; ++axis) {
    if (!(away >> axis & 1)) continue;
    const bool open = is_open(corner, axis);
    const Seen way = open ? seen(state, across(corner, axis), across(away, axis))
                          : behind_surface(state, corner, across(away, axis), axis);
    const int rank = 2 * way.surfaces + (open ? 0 : 1);
    // The last surface counts: the one that holds the temperature most, of equals that of the last axis.
    if (rank < least || (rank == least && !open && way.a <= nearest.a)) {
      nearest = way;
      least = rank;
      ways = 1;
    } else if (rank == least && open) {
      nearest.kelvins += (way.kelvins - nearest.kelvins) / ++ways;
    }
  }
  return nearest;
}

Probe::Seen Probe::behind_surface(const State& state, int corner, int away, int axis) const {
  const auto [surfaces, before, ignored] = seen(state, corner, away);
  const int next = across(corner, axis);
  if (!is_beyond_boundary(next, axis)) {
    const double beyond = classes_[next].is_void() ? classes_[next].ambient : seen(state, next, away).kelvins;
    return {surfaces + 1, before + shares_[corner][axis] * (beyond - before), 1 - shares_[corner][axis]};
  }
  const double k = classes_[corner].conductivity[axis];
  const Config& config = state.config;
  const Face boundary = face(axis, next >> axis & 1);
  Vector3 at = GridAxes(config).centre(cell(corner));
  at[axis] = face_position(config, boundary);
  const BoundaryConfig& of_face = config.boundaries[static_cast<int>(boundary)];
  const FaceLaw sum = is_plain(of_face) ? FaceLaw{} : face_law(config, boundary);
  const BoundaryLaw law = is_plain(of_face) ? boundary_law(config, boundary, k)
                                            : sum.at(k, size_at(config, boundary), at, state.t);
  const Expression value = is_plain(of_face) ? of_face.value : sum.value();
  double b = law.slope == 0 ? 0 : law.slope * value(at[0], at[1], at[2], state.t);
  // `before` may be beyond other boundaries: the value there is on the line through centre and edge.
  for (int other = 0; other < 3 && law.slope != 0; ++other) {
    const int beyond = across(corner, other);
    if (!(away >> other & 1) || !is_beyond_boundary(beyond, other)) continue;
    Vector3 edge = at;
    edge[other] = face_position(config, face(other, beyond >> other & 1));
    const double change = value(edge[0], edge[1], edge[2], state.t) - value(at[0], at[1], at[2], state.t);
    if (std::isfinite(change)) b += law.slope * 2 * change;
  }
  return {surfaces + 1, law.a * before + b, law.a};
}

double Probe::value(const Config& config, const std::array<double, corners>& cells, double t) const {
  const State state{config, cells, t};
  std::array<double, corners> v{};
  for (int corner = 0; corner < corners; ++corner) v[corner] = seen(state, owner_, owner_ ^ corner).kelvins;
  std::array<double, 4> along_x{};
  for (std::size_t i = 0; i < 4; ++i) along_x[i] = between(v[2 * i], v[2 * i + 1], weights_[0]);
  const double low_z = between(along_x[0], along_x[1], weights_[1]);
  const double high_z = between(along_x[2], along_x[3], weights_[1]);
  return between(low_z, high_z, weights_[2]);
}

}  // namespace isotherm
