// Limits of the time step in a body of several materials.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "config/boundary_laws.hpp"
#include "config/materials.hpp"
#include "physics/operator.hpp"
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
  const Box layer = layer_at(f, {{}, config.grid.cells});
  RegionMaterials regions(config);
  regions.load(layer);
  for_each_cell(layer, [&](Int3 cell) {
    const std::uint8_t material = regions.of_loaded(cell);
    if (material == no_material) return;  // is reported by the checks
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
      along.is_periodic = periodic_axes(config)[axis];
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
      double share = 0, exchanged = 0;
      for (std::size_t high = 0; high < 2; ++high) {
        const std::size_t f = 2 * axis + high, beyond = cell.own * count_ + cell.beyond[f];
        const bool ends_here = ends[f] && !along.is_periodic;
        share += ends_here ? along.at_end[high][cell.own] : along.share[beyond];
        exchanged += ends_here ? own * along.at_end[high][cell.own] / 2 : along.conductance[beyond];
      }
      monotone += own * share;
      stable += exchanged;
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

// Skips eight cells whose neighbourhoods equal those of the eight cells before them: they add nothing.
void add_row(const FaceSums& sums, FieldView<const std::uint8_t> classes, Box slab, Int3 at, Int3 cells,
             LargestSums& largest) {
  constexpr std::size_t eight = sizeof(std::uint64_t);
  const std::uint8_t* const own = &classes(at - slab.lo);
  const Index py = classes.pitch_y, pz = classes.pitch_z;
  const std::array rows{own, own - 1, own + 1, own - py, own + py, own - pz, own + pz};
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

// `classes`: those of the slab, with one more cell on each side.
void add_slab(const FaceSums& sums, FieldView<const std::uint8_t> classes, Box slab, Int3 cells,
              LargestSums& largest) {
#pragma omp parallel
  {
    LargestSums mine(largest.stable.size());
#pragma omp for collapse(2) schedule(static) nowait
    for (Index z = slab.lo.z; z < slab.hi.z; ++z)
      for (Index y = slab.lo.y; y < slab.hi.y; ++y) add_row(sums, classes, slab, {0, y, z}, cells, mine);
#pragma omp critical(isotherm_step_limits)
    largest.add(mine);
  }
}

// Does a plane of the domain, with the planes on both sides, equal the one before?
bool repeats(const RegionMaterials& regions, const MaterialClasses& all, Index z, Index count) {
  if (z < 2 || z + 1 >= count) return false;
  for (Index i = z - 1; i <= z + 1; ++i)
    if (!regions.repeats(i) || all.size_number(2, i) != all.size_number(2, i - 1)) return false;
  return true;
}

}  // namespace

StepLimits step_limits_of(const Config& config, Box cells) {
  constexpr Index cells_of_slab = Index{32} << 20;
  const MaterialClasses all = material_classes(config);
  const FaceSums sums(config, all);
  LargestSums largest(all.count());
  RegionMaterials regions(config);
  const Int3 domain = config.grid.cells, n = cells.grown(1).extent();
  const Index most_planes = std::max<Index>(1, cells_of_slab / (n.x * n.y));
  for (Box slab = cells; slab.lo.z < cells.hi.z; slab.lo.z = slab.hi.z) {
    slab.hi.z = slab.lo.z + 1;
    if (repeats(regions, all, slab.lo.z, domain.z)) continue;
    const Index end = std::min(cells.hi.z, slab.lo.z + most_planes);
    while (slab.hi.z < end && !repeats(regions, all, slab.hi.z, domain.z)) ++slab.hi.z;
    std::vector<std::uint8_t> memory(slab.grown(1).cells());
    const FieldView<std::uint8_t> classes{&memory[1 + n.x * (1 + n.y)], n.x, n.x * n.y, slab.extent(), 1};
    assign_classes(regions, all, slab, classes);
    add_slab(sums, classes, slab, domain, largest);
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
