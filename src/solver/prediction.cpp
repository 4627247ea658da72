#include "solver/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "config/boundary_laws.hpp"
#include "config/grid_axes.hpp"
#include "config/materials.hpp"
#include "core/error.hpp"
#include "physics/cells.hpp"
#include "physics/region_materials.hpp"

namespace isotherm {
namespace {

// Each cell covers about a whole number of the deck's cells, so that parts keep their relative thickness.
GridConfig with_few_cells(GridConfig grid) {
  constexpr Index most_cells = 64;  // along an axis
  for (int axis = 0; axis < 3; ++axis) {
    const Index cells = grid.cells[axis], few = ceil_div(cells, ceil_div(cells, most_cells));
    const double share = static_cast<double>(few) / static_cast<double>(cells);
    if (few == cells) continue;
    grid.cells[axis] = few;
    if (grid.spacing) (*grid.spacing)[axis] /= share;
    if (!grid.is_graded(axis)) continue;
    grid.cells[axis] = 0;
    for (SpacingZone& zone : grid.zones[axis]) {
      const double length = zone.size * static_cast<double>(zone.cells);
      zone.cells = std::max(std::llround(static_cast<double>(zone.cells) * share), 1LL);
      zone.size = length / static_cast<double>(zone.cells);
      grid.cells[axis] += zone.cells;
    }
    (*grid.spacing)[axis] = grid.zones[axis].front().size;
  }
  return grid;
}

// Samples lines of cells along each axis: are many parts between jumps thinner than one of the few cells?
bool omits_thin_parts(const Config& config, Int3 few) {
  constexpr Index lines = 12;                           // along each other axis
  constexpr double most_ratio = 100, most_thin = 0.05;  // of conductances of faces; share of the parts
  const MaterialClasses all = material_classes(config);
  RegionMaterials regions(config);
  const Int3 cells = config.grid.cells;
  Index parts = 0, thin = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const auto g = [&](std::size_t i, std::size_t j) { return face_conductance(config, all, axis, i, j); };
    for (Index line = 0; line < lines * lines; ++line) {
      Int3 cell;
      const int p = (axis + 1) % 3, q = (axis + 2) % 3;
      cell[p] = (2 * (line % lines) + 1) * cells[p] / (2 * lines);
      cell[q] = (2 * (line / lines) + 1) * cells[q] / (2 * lines);
      Int3 end = cell + Int3{1, 1, 1};
      end[axis] = cells[axis];
      regions.load({cell, end});
      std::size_t own = all.of(regions.of_loaded(cell), cell);
      for (Index first = 0; ++cell[axis] < cells[axis];) {
        const std::size_t last = std::exchange(own, all.of(regions.of_loaded(cell), cell));
        const double between = std::min(g(last, own), g(own, last));  // 0 of voids
        if (between == 0 || std::max(g(last, last), g(own, own)) <= most_ratio * between) continue;
        ++parts;
        thin += first > 0 && (cell[axis] - first) * few[axis] < cells[axis];
        first = cell[axis];
      }
    }
  }
  return static_cast<double>(thin) > most_thin * static_cast<double>(parts);
}

// Does a patch of a face contain no centre of the few cells? Its temperature would then have no effect.
bool omits_patches(const Config& small) {
  for (const Face f : all_faces) {
    const auto is_lost = [&](const BoundaryConfig& law) {
      bool lost = false;
      for (int j = 0; j < 2 && law.where.is_given() && holds_temperature(law); ++j) {
        const GridAxis along(small, face_axes(f)[j]);
        const Index first = along.first_centre_from((*law.where.from)[j]);
        lost = lost || first >= along.cells() || along.centre(first) > (*law.where.to)[j];
      }
      return lost;
    };
    const BoundaryConfig& boundary = boundary_of(small, f);
    if (is_lost(boundary) || std::ranges::any_of(boundary.laws, is_lost)) return true;
  }
  return false;
}

// The same domain, with boundaries at 0 K and a source everywhere: the first error is the solution itself.
Config small_problem(const Config& config) {
  Config small = config;
  small.grid = with_few_cells(config.grid);
  small.grid.is_sample = true;
  make_homogeneous(small);
  for (NamedMaterial& material : small.materials)
    if (material.is_void()) material.ambient = 0;
  RegionValue constant;
  constant.value = 0;
  small.initial = {constant};
  constant.value = 1;
  small.sources = {constant};
  small.precision = Precision::fp64;
  small.problem.check_interval = 1;
  small.solver = {};
  small.parallel = {};
  small.output = {};
  small.verify = {};
  return small;
}

}  // namespace

std::optional<PredictedCycles> predicted_cycles(const Config& config) {
  constexpr std::int64_t most_work = 130'000'000;  // cells times sweeps: one or two seconds of a core
  const ProblemConfig& problem = config.problem;
  if (problem.kind != ProblemKind::steady || problem.method != MethodName::multigrid ||
      !has_several_materials(config) || mean_is_free(config))
    return std::nullopt;
  const double tolerance = problem.criterion == Criterion::relative && problem.tolerance > 0
                               ? *problem.tolerance
                               : ProblemConfig::steady_tolerance;
  try {
    const Config small = small_problem(config);
    // The small grid may have more cell sizes, and so too many classes; a lost patch fixes no temperature.
    if (material_classes(small).count() > most_classes || omits_patches(small)) return std::nullopt;
    const auto device = make_host_device();
    const Communicator self = Communicator::self();
    const Decomposition whole(small.grid.cells, {1, 1, 1}, periodic_axes(small));
    Solver<double> solver(small, whole, self, *device, choose_kernels<double>(small, Backend::host));
    const std::int64_t cycle = solver.level().method().cycle();
    const Solution found = solve(solver, tolerance, most_work / (small.grid.cells.product() * cycle) + 1);
    return PredictedCycles{small.grid.cells, (found.sweeps + cycle - 1) / cycle,
                           found.relative_residual > tolerance, omits_thin_parts(config, small.grid.cells)};
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace isotherm
