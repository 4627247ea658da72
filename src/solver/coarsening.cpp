#include "solver/coarsening.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "config/boundary_laws.hpp"
#include "config/materials.hpp"
#include "core/text.hpp"
#include "physics/cells.hpp"
#include "solver/kernel_choice.hpp"

namespace isotherm {
namespace {

constexpr Index coarsest_cells = 4;   // along an axis, unless sweeps do not solve such a grid
constexpr double most_stiffer = 2.5;  // 1/h^2 of the stiffest axis over that of any coarsened axis

Config coarser(const Config& fine) {
  const Vector3 h = spacing(fine);
  const Int3 n = fine.grid.cells;
  const auto stiffness = [&](int axis) { return 1 / (h[axis] * h[axis]); };
  double stiffest = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (n[axis] > 1) stiffest = std::max(stiffest, stiffness(axis));
  Config config = fine;
  Vector3 coarse_spacing = h;
  for (int axis = 0; axis < 3; ++axis) {
    if (n[axis] == 1 || most_stiffer * stiffness(axis) < stiffest) continue;
    Index& cells = config.grid.cells[axis];
    cells = (n[axis] + 1) / 2;
    coarse_spacing[axis] = h[axis] * static_cast<double>(n[axis]) / static_cast<double>(cells);
  }
  config.grid.lengths.reset();
  config.grid.spacing = coarse_spacing;
  make_homogeneous(config);
  for (int axis = 0; axis < 3; ++axis)  // a single cell that is its own neighbour is insulated
    if (config.grid.cells[axis] == 1 && periodic_axes(config)[axis])
      for (const bool max : {false, true})
        config.boundaries[static_cast<int>(face(axis, max))] = {BoundaryKind::insulated, 0.0, 0};
  config.solver.kernel = config.solver.tile = "auto";
  config.parallel.overlap = Overlap::off;
  return config;
}

// Ghost layers: as many as the launches of smoothing need, or as the thinnest subdomain can fill. At least
// two, as no periodic axis has a single cell, so exchanges include edges and corners.
CoarseGrid cut(Config config, Int3 process_grid, bool whole) {
  const Decomposition decomposition(config.grid.cells, process_grid, periodic_axes(config));
  const std::int64_t most = sweeps_until_due(config);
  config.solver.time_block = static_cast<int>(most);
  config.solver.halo_width = 1;
  if (const std::optional<Index> thinnest = decomposition.max_halo_width())
    // A power of two, so that a cycle has an even number of launches.
    config.solver.time_block = config.solver.halo_width =
        static_cast<int>(std::bit_floor(static_cast<std::uint64_t>(std::min(most, *thinnest))));
  return {std::move(config), decomposition, whole};
}

bool can_be_cut(const Config& config, const Decomposition& finer, int finer_ghosts) {
  const Int3 n = config.grid.cells, parts = finer.process_grid();
  for (int axis = 0; axis < 3; ++axis)
    if (parts[axis] > 1 && n[axis] / parts[axis] < sweeps_until_due(config)) return false;
  const CoarseGrid coarse = cut(config, parts, false);
  // Restriction to a whole grid reads 2 fine cells beyond a subdomain, and their neighbours.
  if (ghost_layers(coarse.config) < sweeps_until_due(config)) return false;
  const TransferReach reach = transfer_reach(finer, coarse);
  return reach.fine <= finer_ghosts && reach.coarse <= ghost_layers(coarse.config);
}

Index beyond(Index lo, Index hi, Index block_lo, Index block_hi) {
  return std::max(block_lo - lo, hi - block_hi);
}

// On smaller grids ranks wait for halos longer than all cells take (measured: docs/tuning-log/multigrid.md).
Index most_cells_of_whole_grid(const Config& config, Backend backend) {
  return config.solver.whole_grid.value_or(backend == Backend::cuda ? 64 * 64 * 64 : 32 * 32 * 32);
}

}  // namespace

std::vector<CoarseGrid> coarse_grids(const Config& config, const Decomposition& decomposition,
                                     Backend backend) {
  std::vector<CoarseGrid> all;
  const auto longest = [](Int3 n) { return std::max({n.x, n.y, n.z}); };
  const Config* finest = &config;
  bool whole = decomposition.ranks() == 1;
  const auto has_coarser = [&] {
    const Index cells = longest(finest->grid.cells);
    return cells > coarsest_cells || (cells > 1 && (all.empty() || !sweeps_solve(*finest)));
  };
  while (has_coarser()) {
    const Decomposition& finer = all.empty() ? decomposition : all.back().decomposition;
    Config next = coarser(*finest);
    const bool is_cut = !whole && next.grid.cells.product() > most_cells_of_whole_grid(config, backend) &&
                        can_be_cut(next, finer, ghost_layers(*finest));
    whole = !is_cut;
    all.push_back(cut(std::move(next), is_cut ? decomposition.process_grid() : Int3{1, 1, 1}, whole));
    finest = &all.back().config;
  }
  return all;
}

CellOverlap<double> overlap_of(Index coarse_cell, Index fine, Index coarse) {
  // In units of 1/(fine coarse) of the length: a fine cell is `coarse` long, a coarse one `fine`.
  const Index begin = coarse_cell * fine, end = begin + fine;
  CellOverlap<double> found{static_cast<int>(begin / coarse)};
  for (Index cell = found.first; cell * coarse < end; ++cell) {
    const Index common = std::min(end, (cell + 1) * coarse) - std::max(begin, cell * coarse);
    found.share[found.count++] = static_cast<double>(common) / static_cast<double>(fine);
  }
  return found;
}

AxisInterpolation interpolation_of(Index fine_cell, Index fine, Index coarse) {
  // Centres in units of 1/(2 fine coarse): (2 i + 1) coarse, and (2 j + 1) fine.
  const Index from_first = (2 * fine_cell + 1) * coarse - fine;
  const Index lower = from_first < 0 ? -1 : from_first / (2 * fine);
  return {lower, static_cast<double>(from_first - lower * 2 * fine) / static_cast<double>(2 * fine)};
}

Box restricted_by(int rank, const Decomposition& finer, const CoarseGrid& coarse) {
  const Int3 fine = finer.cells(), n = coarse.config.grid.cells;
  if (!coarse.whole) return coarse.decomposition.subdomain(rank);
  const Box mine = finer.subdomain(finer.ranks() == 1 ? 0 : rank);
  Box cells;
  for (int axis = 0; axis < 3; ++axis) {
    // The first coarse cell whose first fine cell is not below `at`: ceil(at n / fine).
    const auto from = [&](Index at) { return (at * n[axis] + fine[axis] - 1) / fine[axis]; };
    cells.lo[axis] = from(mine.lo[axis]);
    cells.hi[axis] = from(mine.hi[axis]);
  }
  return cells;
}

TransferReach transfer_reach(const Decomposition& finer, const CoarseGrid& coarse) {
  TransferReach reach{1, 1};
  const Int3 fine = finer.cells(), n = coarse.config.grid.cells;
  for (int rank = 0; rank < finer.ranks(); ++rank) {
    const Box mine = finer.subdomain(rank), restricted = restricted_by(rank, finer, coarse);
    const Box block = coarse.whole ? Box{{0, 0, 0}, n} : coarse.decomposition.subdomain(rank);
    for (int axis = 0; axis < 3 && !restricted.empty(); ++axis) {
      const CellOverlap<double> last = overlap_of(restricted.hi[axis] - 1, fine[axis], n[axis]);
      const Index first = overlap_of(restricted.lo[axis], fine[axis], n[axis]).first;
      reach.fine =
          std::max(reach.fine, 1 + beyond(first, last.first + last.count, mine.lo[axis], mine.hi[axis]));
      const Index lower = interpolation_of(mine.lo[axis], fine[axis], n[axis]).lower;
      const Index upper = interpolation_of(mine.hi[axis] - 1, fine[axis], n[axis]).lower + 1;
      reach.coarse = std::max(reach.coarse, beyond(lower, upper + 1, block.lo[axis], block.hi[axis]));
    }
  }
  return reach;
}

std::string why_too_thin(const Config& config, const Decomposition& decomposition, Backend backend) {
  if (config.problem.method != MethodName::multigrid && !is_implicit(config)) return {};
  const Int3 n = config.grid.cells, parts = decomposition.process_grid();
  // A rank does not know the boundary of a neighbour that has only one layer of cells.
  for (int axis = 0; axis < 3 && has_several_materials(config); ++axis)
    if (parts[axis] > 1 && n[axis] / parts[axis] < 2)
      return fmt::format(
          "multigrid of several materials needs two layers of cells for each rank, and axis {} has {} cells "
          "for {} ranks",
          "xyz"[axis], n[axis], parts[axis]);
  if (has_several_materials(config) || !decomposition.max_halo_width()) return {};
  Config wide = config;
  wide.solver.ghosts = widest_halo(config, decomposition);
  const int layers = ghost_layers(wide);
  // A coarse cell may begin in the last fine layer of a rank and end two beyond it.
  constexpr int most_needed = 3;
  if (layers >= most_needed) return {};
  const std::vector<CoarseGrid> coarse = coarse_grids(wide, decomposition, backend);
  const Index needed = coarse.empty() ? 1 : transfer_reach(decomposition, coarse.front()).fine;
  return needed <= layers
             ? ""
             : fmt::format("multigrid needs a halo of {} layers on the process grid {} and has {}", needed,
                           extent_text(parts), layers);
}

HalvedGrid halved(const Config& config, const Decomposition& finer, int axis, Backend backend) {
  constexpr Index thinnest = 2;  // layers of an exchange
  const Decomposition next = finer.halved(axis);
  bool whole = finer.ranks() == 1 || next.cells().product() <= most_cells_of_whole_grid(config, backend);
  for (int rank = 0; rank < next.ranks() && !whole; ++rank)
    for (int a = 0; a < 3; ++a)
      if (next.process_grid()[a] > 1 && next.subdomain(rank).extent()[a] < thinnest) whole = true;
  if (whole) return {Decomposition(next.cells(), {1, 1, 1}, next.periodic()), true};
  return {next};
}

int strongest_axis(Int3 cells, const Vector3& coupling) {
  int strongest = -1;
  for (int axis = 0; axis < 3; ++axis)
    if (cells[axis] > 1 && (strongest < 0 || coupling[axis] >= coupling[strongest])) strongest = axis;
  return strongest;
}

std::vector<HalvedGrid> likely_halved_grids(const Config& config, const Decomposition& decomposition,
                                            Backend backend) {
  const MaterialClasses all = material_classes(config);
  Vector3 coupling{};
  for (int axis = 0; axis < 3; ++axis)
    for (const MaterialClass& each : all.classes)
      coupling[axis] += each.conductivity[axis] / (each.size[axis] * each.size[axis]);
  std::vector<HalvedGrid> grids;
  Decomposition finest = decomposition;
  while (finest.cells().product() > 1) {
    const int along = strongest_axis(finest.cells(), coupling);
    grids.push_back(halved(config, finest, along, backend));
    finest = grids.back().decomposition;
    for (int axis = 0; axis < 3; ++axis) coupling[axis] *= axis == along ? 0.5 : 2;
  }
  return grids;
}

}  // namespace isotherm
