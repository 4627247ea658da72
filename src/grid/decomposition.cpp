#include "grid/decomposition.hpp"

#include <algorithm>
#include <limits>

#include "core/text.hpp"

namespace isotherm {
namespace {

constexpr const char* axis_names = "xyz";
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

// The most parts of an axis whose thinnest subdomain fills the neighbour's ghosts (its own if periodic).
Index most_parts_of(Index cells, bool periodic, int ghosts) {
  return std::max<Index>(cells / ghosts, periodic ? 0 : 1);
}

// Thickness of the thinnest subdomain, along axes with an exchange.
std::optional<Index> thinnest_exchanged(Int3 cells, Int3 parts, std::array<bool, 3> periodic) {
  std::optional<Index> thinnest;
  for (int axis = 0; axis < 3; ++axis) {
    if (parts[axis] == 1 && !periodic[axis]) continue;
    const Index cells_per_block = cells[axis] / parts[axis];
    thinnest = std::min(thinnest.value_or(cells_per_block), cells_per_block);
  }
  return thinnest;
}

// `widest`: the widest halo that would work, at least 1.
[[noreturn]] void throw_too_thin(int axis, Index cells, Index parts, bool periodic, int ghosts,
                                 Index widest) {
  const char name = axis_names[axis];
  const Index most = most_parts_of(cells, periodic, ghosts);
  const std::string fewer_ranks =
      most == 0 ? "" : fmt::format("at most {} along {}, ", counted(most, "rank"), name);
  throw error_of(ExitCode::deck,
                 "subdomains along {} are thinner than the halo ({} over {} leave {} per subdomain, the halo "
                 "is {} wide); use {}at least {} along {}, or {}",
                 name, counted(cells, "cell"), counted(parts, "rank"), counted(cells / parts, "cell"),
                 counted(ghosts, "cell"), fewer_ranks, counted(parts * ghosts, "cell"), name,
                 halo_advice(widest));
}

// The same for each axis.
Int3 most_parts_of(Int3 cells, std::array<bool, 3> periodic, int ghosts) {
  Int3 most;
  for (int axis = 0; axis < 3; ++axis) most[axis] = most_parts_of(cells[axis], periodic[axis], ghosts);
  return most;
}

}  // namespace

std::string halo_advice(Index widest) {
  return fmt::format("a halo of at most {} (solver.halo_width)", counted(widest, "cell"));
}

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
  Index ranks = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const Index parts = process_grid[axis];
    const char name = axis_names[axis];
    if (parts > cells[axis])
      throw error_of(
          ExitCode::deck,
          "process grid {} leaves ranks without cells (axis {} has {} for {}); use at most {} along {}",
          product_text(process_grid), name, counted(cells[axis], "cell"), counted(parts, "rank"),
          counted(std::max<Index>(1, most_parts_of(cells[axis], periodic[axis], ghosts)), "rank"), name);
    if (parts > most_parts_of(cells[axis], periodic[axis], ghosts)) {
      const Index widest = thinnest_exchanged(cells, process_grid, periodic).value_or(1);
      throw_too_thin(axis, cells[axis], parts, periodic[axis], ghosts, std::max<Index>(widest, 1));
    }
    if (parts > std::numeric_limits<int>::max() / ranks)
      throw error_of(ExitCode::deck,
                     "process grid {} is too large (its product passes 2^31 - 1); use fewer ranks",
                     product_text(process_grid));
    ranks *= parts;
  }
}

Int3 Decomposition::most_parts(Int3 cells, std::array<bool, 3> periodic, int ghosts, int ranks) {
  check_cells(cells);
  const Int3 most = most_parts_of(cells, periodic, ghosts);
  for (int axis = 0; axis < 3; ++axis) {
    if (most[axis] > 0) continue;
    const int widest = max_halo_width_below(ghosts, cells, ranks, periodic);
    throw_too_thin(axis, cells[axis], 1, periodic[axis], ghosts, std::max(widest, 1));
  }
  return most;
}

int Decomposition::max_halo_width_below(int ghosts, Int3 cells, int ranks, std::array<bool, 3> periodic) {
  while (--ghosts > 0 && process_grids(ranks, most_parts_of(cells, periodic, ghosts)).empty()) {
  }
  return ghosts;
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
  return thinnest_exchanged(cells_, process_grid_, periodic_);
}

std::array<bool, face_count> Decomposition::boundaries(int rank) const {
  std::array<bool, face_count> boundaries{};
  const std::vector<Direction> faces = face_directions();
  for (std::size_t f = 0; f < face_count; ++f) boundaries[f] = !neighbour(rank, faces[f]);
  return boundaries;
}

}  // namespace isotherm
