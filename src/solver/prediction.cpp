#include "solver/prediction.hpp"

#include <algorithm>
#include <cmath>

#include "config/boundary_laws.hpp"
#include "config/materials.hpp"
#include "core/error.hpp"
#include "physics/cells.hpp"

namespace isotherm {
namespace {

constexpr Index most_cells = 48;  // along an axis

GridConfig with_few_cells(GridConfig grid) {
  for (int axis = 0; axis < 3; ++axis) {
    const Index cells = grid.cells[axis];
    const double share = static_cast<double>(most_cells) / static_cast<double>(cells);
    if (share >= 1) continue;
    grid.cells[axis] = most_cells;
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

// The same domain, with boundaries at 0 K and a source everywhere: the first error is the solution itself.
Config small_problem(const Config& config) {
  Config small = config;
  small.grid = with_few_cells(config.grid);
  clear_values(small.boundaries);
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

bool paints_by_datasets(const Config& config) {
  return std::ranges::any_of(config.regions,
                             [](const MaterialRegion& each) { return each.shape == RegionShape::dataset; });
}

std::optional<PredictedCycles> predicted_cycles(const Config& config) {
  constexpr std::int64_t most_cycles = 100;
  const ProblemConfig& problem = config.problem;
  if (problem.kind != ProblemKind::steady || problem.method != MethodName::multigrid ||
      paints_by_datasets(config) || !has_several_materials(config) || mean_is_free(config))
    return std::nullopt;
  const double tolerance = problem.criterion == Criterion::relative && problem.tolerance > 0
                               ? *problem.tolerance
                               : ProblemConfig::steady_tolerance;
  try {
    const Config small = small_problem(config);
    if (material_classes(small).count() > most_materials)
      return std::nullopt;  // of more sizes than the deck's
    const auto device = make_host_device();
    const Communicator self = Communicator::self();
    const Decomposition whole(small.grid.cells, {1, 1, 1}, periodic_axes(small));
    Solver<double> solver(small, whole, self, *device, choose_kernels<double>(small, Backend::host));
    const Solution found = solve(solver, tolerance, most_cycles);
    const std::int64_t cycle = solver.level().method().cycle();
    return PredictedCycles{small.grid.cells, (found.sweeps + cycle - 1) / cycle,
                           found.relative_residual > tolerance};
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace isotherm
