#include "grid/decomposition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.hpp"

namespace isotherm {
namespace {

// With this limit global indices, and the summed areas of three faces, stay within 63 bits.
constexpr Index most_cells = Index{1} << 61;

std::string product_text(Int3 n) { return fmt::format("{}x{}x{}", n.x, n.y, n.z); }

void check_cells(Int3 cells) {
  Index product = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (cells[axis] > most_cells / product)
      throw error_of(ExitCode::deck,
                     "grid of {} cells is too large (their number passes 2^61); use fewer cells",
                     product_text(cells));
    product *= cells[axis];
  }
}

// The most parts of each axis whose thinnest subdomain fills the neighbour's ghosts (its own if periodic).
Int3 most_parts_of(Int3 cells, std::array<bool, 3> periodic, int ghosts) {
  Int3 most;
  for (int axis = 0; axis < 3; ++axis)
    most[axis] = std::max<Index>(cells[axis] / ghosts, periodic[axis] ? 0 : 1);
  return most;
}

// The end of an error message, after "use".
std::string halo_advice(Index widest) {
  return fmt::format("a halo of at most {} (solver.halo_width, and solver.time_block if given)",
                     counted(widest, "cell"));
}

// `widest`: the widest halo that would work; 1 is named where none would.
[[noreturn]] void throw_too_thin(int axis, Index cells, Index parts, Index most, int ghosts, Index widest) {
  const char name = "xyz"[axis];
  const std::string fewer_ranks =
      most == 0 ? "" : fmt::format("at most {} along {}, ", counted(most, "rank"), name);
  throw error_of(ExitCode::deck,
                 "subdomains along {} are thinner than the halo ({} over {} leave {} per subdomain, the halo "
                 "is {} wide); use {}at least {} along {}, or {}",
                 name, counted(cells, "cell"), counted(parts, "rank"), counted(cells / parts, "cell"),
                 counted(ghosts, "cell"), fewer_ranks, counted(parts * ghosts, "cell"), name,
                 halo_advice(std::max<Index>(widest, 1)));
}

}  // namespace

std::vector<Direction> face_directions() {
  std::vector<Direction> directions(face_count);
  for (std::size_t f = 0; f < face_count; ++f) directions[f][f / 2] = f % 2 == 0 ? -1 : 1;
  return directions;
}

std::vector<Direction> all_directions() {
  std::vector<Direction> directions = face_directions();
  for (const int axes : {2, 3})  // that a direction crosses: edges, corners
    for (int z = -1; z <= 1; ++z)
      for (int y = -1; y <= 1; ++y)
        for (int x = -1; x <= 1; ++x)
          if (std::abs(x) + std::abs(y) + std::abs(z) == axes) directions.push_back({x, y, z});
  return directions;
}

Decomposition::Decomposition(Int3 cells, Int3 process_grid, std::array<bool, 3> periodic, int ghosts)
    : cells_(cells), process_grid_(process_grid), periodic_(periodic), dealt_out_(cells) {
  check_cells(cells);
  const Int3 most = most_parts_of(cells, periodic, ghosts);
  Index ranks = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const Index parts = process_grid[axis];
    const char name = "xyz"[axis];
    if (parts > cells[axis])
      throw error_of(
          ExitCode::deck,
          "process grid {} leaves ranks without cells (axis {} has {} for {}); use at most {} along {}",
          product_text(process_grid), name, counted(cells[axis], "cell"), counted(parts, "rank"),
          counted(std::max<Index>(1, most[axis]), "rank"), name);
    if (parts > most[axis])
      throw_too_thin(axis, cells[axis], parts, most[axis], ghosts, max_halo_width().value_or(1));
    if (parts > std::numeric_limits<int>::max() / ranks)
      throw error_of(ExitCode::deck,
                     "process grid {} is too large (its product passes 2^31 - 1); use fewer ranks",
                     product_text(process_grid));
    ranks *= parts;
  }
}

Int3 Decomposition::coordinates(int rank) const {
  return {rank % process_grid_.x, rank / process_grid_.x % process_grid_.y,
          rank / (process_grid_.x * process_grid_.y)};
}

Box Decomposition::subdomain(int rank) const {
  const Int3 position = coordinates(rank);
  Box box;
  for (int axis = 0; axis < 3; ++axis) {
    const Index i = position[axis];
    const Index least = dealt_out_[axis] / process_grid_[axis];
    const Index one_more = dealt_out_[axis] % process_grid_[axis];  // number of larger subdomains: the first
    const Index lo = i * least + std::min(i, one_more), hi = lo + least + (i < one_more ? 1 : 0);
    const Index stride = Index{1} << halvings_[axis];
    box.lo[axis] = ceil_div(lo, stride);
    box.hi[axis] = ceil_div(hi, stride);
  }
  return box;
}

Decomposition Decomposition::halved(int axis) const {
  Decomposition coarse = *this;
  ++coarse.halvings_[axis];
  coarse.cells_[axis] = ceil_div(cells_[axis], Index{2});
  return coarse.without_single_cells();
}

Decomposition Decomposition::without_single_cells() const {
  Decomposition other = *this;
  for (int a = 0; a < 3; ++a)
    if (cells_[a] == 1) other.periodic_[a] = false;
  return other;
}

std::optional<int> Decomposition::neighbour(int rank, Direction d) const {
  Int3 position = coordinates(rank);
  for (int axis = 0; axis < 3; ++axis) {
    const Index parts = process_grid_[axis];
    position[axis] += d[axis];
    if (position[axis] >= 0 && position[axis] < parts) continue;
    if (!periodic_[axis]) return std::nullopt;
    position[axis] = (position[axis] + parts) % parts;
  }
  return static_cast<int>(position.x + process_grid_.x * (position.y + process_grid_.y * position.z));
}

std::optional<Index> Decomposition::max_halo_width() const {
  std::optional<Index> thinnest;  // subdomain along an axis with an exchange
  for (int axis = 0; axis < 3; ++axis) {
    if (process_grid_[axis] == 1 && !periodic_[axis]) continue;
    const Index cells = cells_[axis] / process_grid_[axis];
    thinnest = std::min(thinnest.value_or(cells), cells);
  }
  return thinnest;
}

std::array<bool, face_count> Decomposition::boundaries(int rank) const {
  std::array<bool, face_count> boundaries{};
  const std::vector<Direction> faces = face_directions();
  for (std::size_t f = 0; f < face_count; ++f) boundaries[f] = !neighbour(rank, faces[f]);
  return boundaries;
}

namespace {

// All factorisations of `ranks` into at most `most` parts per axis, sorted by the parts along x, then y.
std::vector<Int3> process_grids(Index ranks, Int3 most) {
  std::vector<Int3> grids;
  for (Index px = 1; px <= std::min(most.x, ranks); ++px) {
    if (ranks % px != 0) continue;
    const Index rest = ranks / px;
    for (Index py = 1; py <= std::min(most.y, rest); ++py) {
      if (rest % py == 0 && rest / py <= most.z) grids.push_back({px, py, rest / py});
    }
  }
  return grids;
}

// The widest halo below `ghosts` for which there is a process grid of `ranks`; 0 without one.
int max_halo_width_below(int ghosts, Int3 cells, int ranks, std::array<bool, 3> periodic) {
  while (--ghosts > 0 && process_grids(ranks, most_parts_of(cells, periodic, ghosts)).empty()) {
  }
  return ghosts;
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
  throw error_of(
      ExitCode::deck,
      "no process grid of {} fits {} cells (there is room for {} subdomains, none thinner than {}); "
      "use {}",
      counted(ranks, "rank"), product_text(cells), product_text(most), counted(ghosts, "cell"), advice);
}

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

}  // namespace

// CUDA, for an H200. Memory and wire: the rates that a copy reaches (data sheet: 4.8 TB/s, 450 GB/s each
// way). Sector: 32 bytes, in memory and as the payload of a store over NVLink, one for each piece. Touches:
// packing, unpacking and the sweep of the exterior (in and out). Message: two launches and a signal. In steps
// of at least 80 us, faces across z or x took 3 us more than faces across y (docs/tuning-log). Tile: that of
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
  check_cells(cells);
  const Int3 most = most_parts_of(cells, periodic, ghosts);
  for (int axis = 0; axis < 3; ++axis)
    if (most[axis] == 0)
      throw_too_thin(axis, cells[axis], 1, most[axis], ghosts,
                     max_halo_width_below(ghosts, cells, ranks, periodic));
  std::vector<EstimatedGrid> grids;
  for (const Int3 grid : process_grids(ranks, most))
    grids.push_back({grid, sweep_cost(cells, grid, periodic, ghosts, weights)});
  if (grids.empty())
    throw_no_process_grid(cells, ranks, most, ghosts, max_halo_width_below(ghosts, cells, ranks, periodic));
  // Grids ascend by px, then py. The stable sort keeps this order among equal costs: the fewest cuts across
  // x, then y. Costs of equivalent axes are bitwise equal: each rounded value is a quotient of integers.
  std::ranges::stable_sort(grids, {}, [](const EstimatedGrid& each) { return each.cost.total(); });
  return grids;
}

}  // namespace isotherm
