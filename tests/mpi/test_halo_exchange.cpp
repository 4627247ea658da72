// Ghosts proved by global index: each cell holds the linear index of its place in the whole grid.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "backend_fixture.hpp"
#include "core/error.hpp"
#include "ghost_oracle.hpp"
#include "grid/field.hpp"
#include "halo/exchange.hpp"
#include "halo/regions.hpp"
#include "kernels/face_copy.hpp"
#include "usable_transports.hpp"

namespace isotherm {
namespace {

struct Case {
  Int3 cells, process_grid;
  Periodic periodic;
  int ghosts;

  std::string name() const {
    return fmt::format("{}x{}x{} cells, {}x{}x{} ranks, periodic {}{}{}, {} ghosts", cells.x, cells.y,
                       cells.z, process_grid.x, process_grid.y, process_grid.z, int{periodic[0]},
                       int{periodic[1]}, int{periodic[2]}, ghosts);
  }
};

// Walls whose b varies over the upper faces, ghosts of the face included.
template <class T>
class TestWalls {
 public:
  TestWalls(Device& device, const Decomposition& decomposition, int rank, const GhostOracle& oracle) {
    for (int f = 0; f < face_count; ++f) {
      Wall<T>& wall = walls_.faces[f];
      const Face side = static_cast<Face>(f);
      wall.is_wall = decomposition.is_wall(rank, side);
      wall.a = static_cast<T>(GhostOracle::wall_a(side));
      wall.b = static_cast<T>(oracle.wall_b(side, {}));
      if (wall.is_wall && is_max(side)) make_field(device, oracle, side, wall);
    }
  }
  const Walls<T>& get() const { return walls_; }

 private:
  void make_field(Device& device, const GhostOracle& oracle, Face side, Wall<T>& wall) {
    const Int3 extent = oracle.block.extent();
    const int axis = axis_of(side), first = axis == 0 ? 1 : 0, second = axis == 2 ? 1 : 2;
    const Index g = oracle.ghosts;
    wall.pitch = extent[first] + 2 * g;
    std::vector<T> values;
    for (Index q = -g; q < extent[second] + g; ++q) {
      for (Index p = -g; p < extent[first] + g; ++p) {
        Int3 cell;
        cell[axis] = extent[axis];
        cell[first] = p;
        cell[second] = q;
        values.push_back(static_cast<T>(oracle.wall_b(side, oracle.place(cell).cell)));
      }
    }
    const Buffer& memory = buffers_.emplace_back(device, values.size() * sizeof(T));
    device.copy(memory.data(), values.data(), memory.bytes(), Stream{});
    device.synchronize(Stream{});
    wall.b_field = memory.as<T>() + g + g * wall.pitch;
  }

  Walls<T> walls_;
  std::vector<Buffer> buffers_;
};

template <class T>
class Exchanged {
 public:
  Exchanged(Device& device, const Communicator& world, const Case& c, std::string transport)
      : device_(device),
        decomposition_(c.cells, c.process_grid, c.periodic, c.ghosts),
        rank_(world.rank()),
        oracle_{c.cells, c.periodic, decomposition_.block(rank_), c.ghosts},
        field_(device, oracle_.block.extent(), c.ghosts),
        mirror_(device, oracle_.block.extent(), c.ghosts, Memory::staging),
        walls_(device, decomposition_, rank_, oracle_),
        compute_(own_stream(device, Priority::normal)),
        halo_stream_(own_stream(device, Priority::high)),
        halo_(decomposition_, world, device, {halo_field(field_)},
              {.name = std::move(transport), .timed = false}),
        sides_(ghost_sides(decomposition_, rank_)),
        interior_(interior_box(oracle_.block.extent(), block(), sides_.remote, 1)) {}

  void check_ghosts(double shift) {
    fill(shift);
    halo_.start(field_.view(), compute_, halo_stream_);
    halo_.finish(field_.view(), compute_, halo_stream_);
    fill_walls(widened_block(block().extent(), sides_.filled, oracle_.ghosts == 1 ? 0 : oracle_.ghosts));
    fetch();
    expect_cells(mirror_.view().padded(), shift, [](Int3) { return true; });
  }

  // Between start and finish every cell of the interior has its six neighbours.
  void check_interior(double shift) {
    fill(shift);
    halo_.start(field_.view(), compute_, halo_stream_);
    fill_walls(block());
    fetch();
    const Box interior = interior_;
    expect_cells(mirror_.view().padded(), shift, [&](Int3 c) {
      for (int axis = 0; axis < 3; ++axis) {
        for (const Index step : {-1, 0, 1}) {
          Int3 next = c;
          next[axis] += step;
          if (!interior.empty() && interior.contains(next)) return true;
        }
      }
      return false;
    });
    halo_.finish(field_.view(), compute_, halo_stream_);
    device_.synchronize(compute_);
  }

  // The interior has all cells that touch no other rank's, and no other.
  void check_regions() const {
    Index wrong = 0;
    for_each_cell(block(), [&](Int3 c) {
      bool touches_remote = false;
      for (int axis = 0; axis < 3; ++axis) {
        for (const Index step : {-1, 1}) {
          Int3 next = c;
          next[axis] += step;
          touches_remote = touches_remote || is_remote(next);
        }
      }
      if (interior_.contains(c) == touches_remote) ++wrong;
    });
    EXPECT_EQ(wrong, 0);
  }

  // What this rank receives, counted by cell, is what it sends: neighbours are mutual.
  void check_traffic() const {
    std::size_t bytes = 0;
    std::set<Direction> directions;
    for_each_cell(mirror_.view().padded(), [&](Int3 c) {
      const int outside = oracle_.place(c).outside;
      if (outside == 0 || (oracle_.ghosts == 1 && outside > 1) || !is_remote(c)) return;
      bytes += sizeof(T);
      Direction d{};
      for (int axis = 0; axis < 3; ++axis) {
        d[static_cast<std::size_t>(axis)] = c[axis] < 0                               ? -1
                                            : c[axis] >= oracle_.block.extent()[axis] ? 1
                                                                                      : 0;
      }
      directions.insert(d);
    });
    EXPECT_EQ(halo_.bytes_sent(), bytes);
    EXPECT_EQ(halo_.messages(), static_cast<int>(directions.size()));
  }

 private:
  bool is_remote(Int3 c) const {
    const GhostOracle::Place p = oracle_.place(c);
    return p.beyond == 0 && !oracle_.block.contains(p.cell);
  }

  Box block() const { return {{0, 0, 0}, oracle_.block.extent()}; }

  void fill_walls(Box region) {
    face_copy<T>(device_.backend()).fill_walls(field_.view(), walls_.get(), region, compute_);
  }

  void fill(double shift) {
    const FieldView<T> view = mirror_.view();
    for_each_cell(view.padded(), [&](Int3 c) { view(c) = static_cast<T>(GhostOracle::poison); });
    for_each_cell(view.interior(),
                  [&](Int3 c) { view(c) = static_cast<T>(oracle_.index(oracle_.block.lo + c) + shift); });
    device_.copy(field_.data(), mirror_.data(), field_.bytes(), compute_);
    device_.synchronize(compute_);
  }

  void fetch() {
    device_.copy(mirror_.data(), field_.data(), field_.bytes(), compute_);
    device_.synchronize(compute_);
  }

  template <class Where>
  void expect_cells(Box box, double shift, Where where) {
    const FieldView<T> view = mirror_.view();
    Index wrong = 0;
    std::string first;
    for_each_cell(box, [&](Int3 c) {
      const T expected = oracle_.template expected<T>(c, shift);
      if (!where(c) || view(c) == expected) return;
      if (++wrong == 1) {
        first = fmt::format("cell ({}, {}, {}) of a block of {}x{}x{} holds {}, not {}", c.x, c.y, c.z,
                            view.extent.x, view.extent.y, view.extent.z, view(c), expected);
      }
    });
    EXPECT_EQ(wrong, 0) << first;
  }

  Device& device_;
  Decomposition decomposition_;
  int rank_;
  GhostOracle oracle_;
  Field<T> field_, mirror_;
  TestWalls<T> walls_;
  Owned<Stream> compute_, halo_stream_;
  HaloExchange<T> halo_;
  GhostSides sides_;
  Box interior_;
};

std::vector<Int3> process_grids(int ranks) {
  std::vector<Int3> grids;
  for (Index x = 1; x <= ranks; ++x) {
    for (Index y = 1; y <= ranks; ++y) {
      for (Index z = 1; z <= ranks; ++z) {
        if (x * y * z == ranks) grids.push_back({x, y, z});
      }
    }
  }
  return grids;
}

bool fits(const Case& c) {
  for (int axis = 0; axis < 3; ++axis) {
    const bool has_exchange = c.process_grid[axis] > 1 || c.periodic[axis];
    if (c.cells[axis] / c.process_grid[axis] < (has_exchange ? c.ghosts : 1)) return false;
  }
  return true;
}

// Every process grid and mix of periodic axes, on an uneven grid and on the thinnest one that works.
std::vector<Case> all_cases(int ranks, int ghosts) {
  std::vector<Case> cases;
  for (const Int3 grid : process_grids(ranks)) {
    const Int3 thin{grid.x * ghosts + (grid.x > 1), grid.y * ghosts, grid.z * ghosts + (grid.z > 1)};
    for (const Int3 cells : {Int3{17, 23, 31}, thin}) {
      for (int bits = 0; bits < 8; ++bits) {
        const Case c{cells, grid, {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0}, ghosts};
        if (fits(c)) cases.push_back(c);
      }
    }
  }
  return cases;
}

class HaloGhosts : public BackendTest {
 protected:
  template <class T>
  void check(int ghosts) {
    for (const std::string& transport : usable_transports(device(), world())) {
      if (transport == "auto") continue;  // one of the others
      for (const Case& c : all_cases(world().size(), ghosts)) {
        SCOPED_TRACE(transport + ", " + c.name());
        Exchanged<T> exchanged(device(), world(), c, transport);
        exchanged.check_ghosts(0);
        exchanged.check_interior(1000);
        exchanged.check_ghosts(2000);  // the same buffers again
      }
    }
  }
};

TEST_P(HaloGhosts, OneLayerFp32) {
  check<float>(1);
}
TEST_P(HaloGhosts, OneLayerFp64) {
  check<double>(1);
}
TEST_P(HaloGhosts, TwoLayersFp32) {
  check<float>(2);
}
TEST_P(HaloGhosts, TwoLayersFp64) {
  check<double>(2);
}
TEST_P(HaloGhosts, FourLayersFp32) {
  check<float>(4);
}
TEST_P(HaloGhosts, FourLayersFp64) {
  check<double>(4);
}
ISOTHERM_ON_EACH_BACKEND(HaloGhosts);

class HaloFigures : public BackendTest {};

TEST_P(HaloFigures, RegionsAndTrafficAreThoseOfTheCells) {
  for (const int ghosts : {1, 2}) {
    for (const Case& c : all_cases(world().size(), ghosts)) {
      SCOPED_TRACE(c.name());
      const Exchanged<double> exchanged(device(), world(), c, "host");
      exchanged.check_regions();
      exchanged.check_traffic();
    }
  }
}

TEST_P(HaloFigures, BlocksThatDoNotMatchTheRanksAreRefused) {
  const auto expect_refused = [&](const Decomposition& decomposition, Int3 extent, int ghosts) {
    Field<double> field(device(), extent, ghosts);
    EXPECT_THROW(HaloExchange<double>(decomposition, world(), device(), {halo_field(field)}), Error);
  };
  const Decomposition more({8, 8, 64}, {1, 1, world().size() + 1}, {});
  expect_refused(more, more.block(0).extent(), 1);
  expect_refused(Decomposition({8, 8, 64}, {1, 1, world().size()}, {}), {8, 8, 63}, 1);
  expect_refused(Decomposition({8, 8, world().size()}, {1, 1, world().size()}, {false, false, true}),
                 {8, 8, 1}, 2);
}
ISOTHERM_ON_EACH_BACKEND(HaloFigures);

}  // namespace
}  // namespace isotherm
