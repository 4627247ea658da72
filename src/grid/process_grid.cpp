#include "grid/process_grid.hpp"

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "grid/decomposition.hpp"

namespace isotherm {
namespace {

// The exchanged cells of one subdomain: numbers of row pieces along x, by their length.
struct Rows {
  double across_x = 0;  // pieces `ghosts` long
  double whole = 0;     // pieces as long as the subdomain
};

// The ghosts beyond `faces` faces of each axis; with edges and corners between them where ghosts > 1.
Rows rows_beyond(Int3 extent, Int3 faces, int ghosts) {
  const auto size = [&](int axis) { return static_cast<double>(extent[axis]); };
  const double subdomain = size(1) * size(2);
  if (ghosts == 1) {
    const double y = faces.y * size(2), z = faces.z * size(1);
    return {faces.x * subdomain, y + z};
  }
  const double padded = (size(1) + faces.y * ghosts) * (size(2) + faces.z * ghosts);
  return {faces.x * padded, padded - subdomain};
}

Index messages(Int3 faces, int ghosts) {
  if (ghosts == 1) return faces.x + faces.y + faces.z;
  return (1 + faces.x) * (1 + faces.y) * (1 + faces.z) - 1;
}

double ceil_to(double n, double unit) { return std::ceil(n / unit) * unit; }

// Cells of whole tiles swept between two exchanges, ghosts included (solver/kernel_choice.hpp).
double tiled_cells_of_period(Int3 extent, Int3 faces, int ghosts, const ExchangeWeights& w) {
  double cells = 0;
  for (int layers = 0; layers < ghosts; ++layers) {
    const auto size = [&](int axis) { return static_cast<double>(extent[axis] + faces[axis] * layers); };
    cells += ceil_to(size(0), w.columns) * ceil_to(size(1), w.rows) * size(2);
  }
  return cells;
}

// `widest`: the widest halo with which a process grid of `ranks` exists; 0 if there is none.
[[noreturn]] void throw_no_process_grid(Int3 cells, int ranks, Int3 most, int ghosts, int widest) {
  Index fitting = std::min<Index>(ranks, most.product());
  while (process_grids(fitting, most).empty()) --fitting;
  std::string advice = fitting == most.product()
                           ? fmt::format("{}, the most that fit", counted(fitting, "rank"))
                           : fmt::format("{}, the next lower count that fits; the most are {}",
                                         counted(fitting, "rank"), most.product());
  if (widest > 0) advice += "; or use " + halo_advice(widest);
  throw error_of(ExitCode::deck,
                 "no process grid of {} fits {}x{}x{} cells (there is room for {}x{}x{} subdomains, none "
                 "thinner than {}); use {}",
                 counted(ranks, "rank"), cells.x, cells.y, cells.z, most.x, most.y, most.z,
                 counted(ghosts, "cell"), advice);
}

}  // namespace

// CUDA, for an H200. Memory and wire: the rates that a copy reaches (data sheet: 4.8 TB/s, 450 GB/s each
// way). Sector: 32 bytes, in memory and as the payload of a store over NVLink, one for each piece. Touches:
// packing, unpacking and the sweep of the exterior (in and out). Message: two launches and a signal. Faces
// across z or x made steps of 80 us or more 3 us longer than faces across y (docs/tuning-log). Tile: that of
// wide rows, a warp of 16-byte loads along x. Host: a core's share of memory bandwidth and of copies, a cache
// line, packing and unpacking, an MPI message within a host, the widest vector.
ExchangeWeights ExchangeWeights::of(Backend backend, int cell_bytes) {
  if (backend == Backend::cuda) {
    return {.cell_bytes = cell_bytes,
            .memory = 4.2e12,
            .sector = 32,
            .touches = 4,
            .wire = 450e9,
            .wire_sector = 32,
            .message = 5e-6,
            .across_xz = 3e-6,
            .columns = 512 / cell_bytes,
            .rows = 16};
  }
  return {.cell_bytes = cell_bytes,
          .memory = 12e9,
          .sector = 64,
          .touches = 2,
          .wire = 6e9,
          .wire_sector = cell_bytes,
          .message = 2e-6,
          .columns = 64 / cell_bytes,
          .rows = 1};
}

SweepCost sweep_cost(Int3 cells, Int3 process_grid, std::array<bool, 3> periodic, int ghosts,
                     const ExchangeWeights& w) {
  Int3 extent, touched, local;  // cells; faces with ghosts; those that the rank fills itself
  for (int axis = 0; axis < 3; ++axis) {
    const Index parts = process_grid[axis];
    extent[axis] = (cells[axis] + parts - 1) / parts;
    touched[axis] = periodic[axis] ? 2 : std::min<Index>(parts - 1, 2);
    if (parts == 1) local[axis] = touched[axis];
  }
  const Rows all = rows_beyond(extent, touched, ghosts);
  const Rows kept = rows_beyond(extent, local, ghosts);
  const Rows sent{all.across_x - kept.across_x, all.whole - kept.whole};
  const auto bytes = [&](Rows rows, int sector) {  // each piece takes whole sectors
    const auto piece = [&](Index run) { return ceil_to(static_cast<double>(run) * w.cell_bytes, sector); };
    return rows.across_x * piece(ghosts) + rows.whole * piece(extent.x);
  };
  const double sweeps = ghosts;  // served by one exchange
  return {.sweep = 2 * w.cell_bytes * tiled_cells_of_period(extent, touched, ghosts, w) / w.memory / sweeps,
          .copies = (w.touches * bytes(all, w.sector) + 2 * bytes(sent, w.cell_bytes)) / w.memory / sweeps,
          .wire = bytes(sent, w.wire_sector) / w.wire / sweeps,
          .messages = (static_cast<double>(messages(touched, ghosts) - messages(local, ghosts)) * w.message +
                       static_cast<double>(touched.x - local.x + touched.z - local.z) * w.across_xz) /
                      sweeps};
}

std::vector<EstimatedGrid> process_grids_by_cost(Int3 cells, int ranks, std::array<bool, 3> periodic,
                                                 int ghosts, const ExchangeWeights& weights) {
  const Int3 most = Decomposition::most_parts(cells, periodic, ghosts, ranks);
  std::vector<EstimatedGrid> grids;
  for (const Int3 grid : process_grids(ranks, most))
    grids.push_back({grid, sweep_cost(cells, grid, periodic, ghosts, weights)});
  if (grids.empty()) {
    throw_no_process_grid(cells, ranks, most, ghosts,
                          Decomposition::max_halo_width_below(ghosts, cells, ranks, periodic));
  }
  // Grids ascend by px, then py. The stable sort keeps this order among equal costs: the fewest cuts across
  // x, then y. Costs of equivalent axes are bitwise equal: each rounded value is a quotient of integers.
  std::ranges::stable_sort(grids, {}, [](const EstimatedGrid& each) { return each.cost.total(); });
  return grids;
}

}  // namespace isotherm
