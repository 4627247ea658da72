#include "physics/step_limits.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "config/boundary_laws.hpp"
#include "config/materials.hpp"
#include "physics/region_materials.hpp"

namespace isotherm {
namespace {

// The classes of a cell and of its six neighbours, by Face.
struct Neighbourhood {
  std::size_t own;
  std::array<std::size_t, face_count> beyond;
};
using Ends = std::array<bool, face_count>;  // does the domain end there?

// The largest sums over the faces of a cell, W/(m^3 K), by class; negative if no cell has the class.
struct LargestSums {
  std::vector<double> stable, monotone;

  explicit LargestSums(std::size_t classes) : stable(classes, -1), monotone(classes, -1) {}
  void add(const LargestSums& other) {
    for (std::size_t i = 0; i < stable.size(); ++i) {
      stable[i] = std::max(stable[i], other.stable[i]);
      monotone[i] = std::max(monotone[i], other.monotone[i]);
    }
  }
};

// The largest 1 - a over the cells of a face, for each class.
std::vector<double> at_end(const Config& config, const MaterialClasses& all, Face f) {
  const FaceLaw law = face_law(config, f);
  const int normal = axis_of(f);
  std::vector<double> most;
  if (!law.varies() || law.coefficient.uses('t')) {
    for (const MaterialClass& own : all.classes)
      most.push_back(1 - boundary_law(config, f, own.conductivity[normal]).a);
    return most;
  }
  most.resize(all.count());
  const GridAxes axes(config);
  Box layer{{}, config.grid.cells};
  if (is_max(f))
    layer.lo[normal] = layer.hi[normal] - 1;
  else
    layer.hi[normal] = 1;
  RegionMaterials regions(config);
  regions.load(layer);
  for_each_cell(layer, [&](Int3 cell) {
    const std::uint8_t material = regions.of_loaded(cell);
    if (material == RegionMaterials::nothing) return;  // is reported by the checks
    const std::size_t own = all.of(material, cell);
    Vector3 at = axes.centre(cell);
    at[normal] = face_position(config, f);
    const double k = all.classes[own].conductivity[normal];
    if (k > 0) most[own] = std::max(most[own], 1 - law.at(k, size_at(config, f), at, 0).a);
  });
  return most;
}

// Sums over the faces of a cell.
class FaceSums {
 public:
  FaceSums(const Config& config, const MaterialClasses& all) : count_(all.count()) {
    for (int axis = 0; axis < 3; ++axis) {
      OfAxis& along = axes_[axis];
      along.is_periodic = boundary_of(config, face(axis, false)).kind == BoundaryKind::periodic;
      along.is_alone = along.is_periodic && config.grid.cells[axis] == 1;
      for (std::size_t i = 0; i < count_; ++i) {
        const double own = face_conductance(config, all, axis, i, i);
        along.own.push_back(own);
        for (std::size_t j = 0; j < count_; ++j) {
          along.conductance.push_back(face_conductance(config, all, axis, i, j));
          along.share.push_back(along.conductance.back() / own);
        }
      }
      for (int side = 0; side < 2 && !along.is_periodic; ++side)
        along.at_end[side] = at_end(config, all, face(axis, side == 1));
    }
  }

  // Gershgorin's circle of a cell: the centre is what the cell gives to all faces, the radius what it takes
  // from cells. So half of (1 - a) counts for stability, and an insulated face counts nothing.
  void add(const Neighbourhood& cell, const Ends& ends, LargestSums& largest) const {
    double stable = 0, monotone = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const OfAxis& along = axes_[axis];
      if (along.is_alone) continue;
      const double own = along.own[cell.own];
      const auto f = static_cast<std::size_t>(2 * axis);
      const auto ends_at = [&](std::size_t high) { return ends[f + high] && !along.is_periodic; };
      const auto beyond = [&](std::size_t high) { return cell.own * count_ + cell.beyond[f + high]; };
      const auto share = [&](std::size_t high) {
        return ends_at(high) ? along.at_end[high][cell.own] : along.share[beyond(high)];
      };
      const auto exchanged = [&](std::size_t high) {
        return ends_at(high) ? own * along.at_end[high][cell.own] / 2 : along.conductance[beyond(high)];
      };
      monotone += own * (share(0) + share(1));
      stable += exchanged(0) + exchanged(1);
    }
    largest.stable[cell.own] = std::max(largest.stable[cell.own], stable);
    largest.monotone[cell.own] = std::max(largest.monotone[cell.own], monotone);
  }
  // For a cell at no end. Most do not exceed the largest sums, and both sums are equal up to rounding.
  void add(const Neighbourhood& cell, LargestSums& largest) const {
    constexpr double rounding = 1e-9;
    if ((1 + rounding) * stable(cell) >= std::min(largest.stable[cell.own], largest.monotone[cell.own]))
      add(cell, {}, largest);
  }
  // The sum for a cell among its own class.
  double alone(std::size_t own) const {
    return 2 * axes_[0].own[own] + 2 * axes_[1].own[own] + 2 * axes_[2].own[own];
  }

 private:
  double stable(const Neighbourhood& cell) const {
    double sum = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double* const to = &axes_[axis].conductance[cell.own * count_];
      sum += to[cell.beyond[2 * axis]] + to[cell.beyond[2 * axis + 1]];
    }
    return sum;
  }

  struct OfAxis {
    bool is_periodic = false, is_alone = false;  // alone: one cell, that is its own neighbour
    std::vector<double> own;                     // between cells of a class
    std::vector<double> conductance, share;      // [class][class beyond]; share: over `own`
    std::array<std::vector<double>, 2> at_end;   // 1 - a of the boundary
  };
  std::size_t count_;
  std::array<OfAxis, 3> axes_;
};

// Keeps the classes of three planes of cells, with one more cell on each side.
class ClassPlanes {
 public:
  ClassPlanes(const Config& config, const MaterialClasses& all, Box cells)
      : all_(all),
        regions_(config),
        box_(cells.grown(1)),
        last_material_(static_cast<std::uint8_t>(config.materials.size())) {
    for (Index x = box_.lo.x; x < box_.hi.x; ++x)
      size_along_x_.push_back(static_cast<std::uint8_t>(all.size_number(0, regions_.inside(0, x))));
    for (Plane& plane : planes_) plane.classes.resize(box_.extent().x * box_.extent().y);
  }

  // Does a plane of the domain, with the planes on both sides, equal the one before?
  bool repeats(Index z, Index count) const {
    if (z < 2 || z + 1 >= count) return false;
    for (Index i = z - 1; i <= z + 1; ++i)
      if (!regions_.repeats(i) || all_.size_number(2, i) != all_.size_number(2, i - 1)) return false;
    return true;
  }
  void hold(Index z) {
    for (Index i = z - 1; i <= z + 1; ++i)
      if (plane(i).z != i) fill(plane(i), i);
  }
  const std::uint8_t* row(Index y, Index z) const {  // from x = 0 on
    return &plane(z).classes[box_.extent().x * (y - box_.lo.y) - box_.lo.x];
  }

 private:
  struct Plane {
    Index z = -2;
    std::vector<std::uint8_t> classes;
  };
  Plane& plane(Index z) { return planes_[static_cast<std::size_t>((z + 3) % 3)]; }
  const Plane& plane(Index z) const { return planes_[static_cast<std::size_t>((z + 3) % 3)]; }

  void fill(Plane& plane, Index z) {
    constexpr Index cells_of_load = Index{8} << 20;
    if (z >= loaded_to_) {
      loaded_to_ = std::min(box_.hi.z, z + std::max<Index>(1, cells_of_load / std::ssize(plane.classes)));
      Box slab = box_;
      slab.lo.z = z;
      slab.hi.z = loaded_to_;
      regions_.load(slab);
    }
    plane.z = z;
    const Index width = box_.extent().x;
    const std::size_t of_z = all_.size_number(2, regions_.inside(2, z));
    const std::size_t nx = all_.sizes[0], ny = all_.sizes[1], nz = all_.sizes[2];
#pragma omp parallel for schedule(static)
    for (Index y = box_.lo.y; y < box_.hi.y; ++y) {
      const std::span row(&plane.classes[width * (y - box_.lo.y)], static_cast<std::size_t>(width));
      regions_.row(box_.lo.x, y, z, row);
      const std::size_t of_y = all_.size_number(1, regions_.inside(1, y));
      const std::uint8_t* const of_material = &all_.of_material[(of_z * ny + of_y) * nx];
      for (std::size_t x = 0; x < row.size(); ++x)  // a cell without a material is reported by the checks
        row[x] = of_material[std::min(row[x], last_material_) * (nx * ny * nz) + size_along_x_[x]];
    }
  }

  const MaterialClasses& all_;
  RegionMaterials regions_;
  Box box_;
  std::uint8_t last_material_;
  std::vector<std::uint8_t> size_along_x_;
  Index loaded_to_ = -2;
  std::array<Plane, 3> planes_;
};

// Skips eight cells whose neighbourhoods equal those of the eight cells before them: they add nothing.
void add_row(const FaceSums& sums, const ClassPlanes& planes, Int3 at, Int3 cells, LargestSums& largest) {
  constexpr std::size_t eight = sizeof(std::uint64_t);
  const std::uint8_t* const own = planes.row(at.y, at.z);
  const std::array rows{own,
                        own - 1,
                        own + 1,
                        planes.row(at.y - 1, at.z),
                        planes.row(at.y + 1, at.z),
                        planes.row(at.y, at.z - 1),
                        planes.row(at.y, at.z + 1)};
  const auto at_x = [&](Index x) {
    Neighbourhood cell{own[x], {}};
    for (std::size_t f = 0; f < face_count; ++f) cell.beyond[f] = rows[f + 1][x];
    return cell;
  };
  const bool is_inside = at.y > 0 && at.y + 1 < cells.y && at.z > 0 && at.z + 1 < cells.z;
  const auto add = [&](Index x) {
    if (is_inside && x > 0 && x + 1 < cells.x) return sums.add(at_x(x), largest);
    sums.add(at_x(x),
             {x == 0, x + 1 == cells.x, at.y == 0, at.y + 1 == cells.y, at.z == 0, at.z + 1 == cells.z},
             largest);
  };
  std::array<std::uint64_t, face_count + 1> now;
  std::optional<decltype(now)> before;
  add(0);
  Index x = 1;
  for (; x + static_cast<Index>(eight) < cells.x; x += eight) {
    for (std::size_t i = 0; i < rows.size(); ++i) std::memcpy(&now[i], rows[i] + x, eight);
    if (before == now) continue;
    before = now;
    for (Index i = x; i < x + static_cast<Index>(eight); ++i) add(i);
  }
  for (; x < cells.x; ++x) add(x);
}

}  // namespace

StepLimits step_limits_of(const Config& config, Box cells) {
  const MaterialClasses all = material_classes(config);
  const FaceSums sums(config, all);
  LargestSums largest(all.count());
  ClassPlanes planes(config, all, cells);
  for (Index z = cells.lo.z; z < cells.hi.z; ++z) {
    if (planes.repeats(z, config.grid.cells.z)) continue;
    planes.hold(z);
#pragma omp parallel
    {
      LargestSums mine(all.count());
#pragma omp for schedule(static) nowait
      for (Index y = cells.lo.y; y < cells.hi.y; ++y)
        add_row(sums, planes, {0, y, z}, config.grid.cells, mine);
#pragma omp critical(isotherm_step_limits)
      largest.add(mine);
    }
  }
  StepLimits limits;
  for (std::size_t i = 0; i < all.count(); ++i) {
    const MaterialClass& own = all.classes[i];
    if (own.is_void() || largest.stable[i] < 0) continue;
    const double heat = own.heat_capacity * volume_ratio(config, own);
    if (largest.stable[i] > 0) limits.stable = std::min(limits.stable, heat / largest.stable[i]);
    if (largest.monotone[i] > 0) limits.monotone = std::min(limits.monotone, heat / largest.monotone[i]);
    limits.alone = std::min(limits.alone, heat / sums.alone(i));
  }
  return limits;
}

}  // namespace isotherm
