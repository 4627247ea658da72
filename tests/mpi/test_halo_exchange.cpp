// Ghosts are checked by global index; and many exchanges in a row, with ranks that are late at every possible
// point.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "backend_fixture.hpp"
#include "core/error.hpp"
#include "grid/field.hpp"
#include "halo/exchange.hpp"
#include "support/field_by_index.hpp"

namespace isotherm {
namespace {

// The expected value of every cell of a padded block after an exchange, from its coordinates alone:
// independent of directions, messages and process grids. Ghosts beyond boundaries keep their values:
// kernels/test_face_copy.cpp tests how they are filled.
using Periodic = std::array<bool, 3>;

struct GhostOracle {
  Int3 cells;  // of the whole grid
  Periodic periodic;
  Box subdomain;  // of this rank
  int ghosts;

  // Exact in fp32, as are all values below.
  static constexpr double poison = -4194303.5;

  double index(Int3 cell) const { return static_cast<double>(index_of(cell, cells)); }

  // `shift`: added to each index by the owner.
  template <class T>
  T expected(Int3 c, double shift) const {
    Int3 cell = subdomain.lo + c;
    int outside = 0;  // axes along which `c` lies outside of the block
    for (int axis = 0; axis < 3; ++axis) {
      if (cell[axis] < subdomain.lo[axis] || cell[axis] >= subdomain.hi[axis]) ++outside;
      if (periodic[axis]) cell[axis] = (cell[axis] + cells[axis]) % cells[axis];
    }
    const bool exchanged = outside <= 1 || ghosts > 1;
    const bool inside = Box{{0, 0, 0}, cells}.contains(cell);
    return static_cast<T>(exchanged && inside ? index(cell) + shift : poison);
  }
};

struct Case {
  Int3 cells, process_grid;
  Periodic periodic;
  int ghosts;

  std::string name() const {
    return fmt::format("{} cells, {} ranks, periodic {}{}{}, {} ghosts", text(cells), text(process_grid),
                       int{periodic[0]}, int{periodic[1]}, int{periodic[2]}, ghosts);
  }
};

// Fields whose cells hold their index and the number of the exchange. Exchanges take the fields in turn.
template <class T>
class Exchanged {
 public:
  Exchanged(Device& device, const Communicator& world, const Case& c, std::string transport, int fields = 1)
      : device_(device),
        decomposition_(c.cells, c.process_grid, c.periodic, c.ghosts),
        oracle_{c.cells, c.periodic, decomposition_.subdomain(world.rank()), c.ghosts},
        found_(device, subdomain().hi, c.ghosts, Memory::staging) {
    std::vector<HaloField<T>> bound;
    for (int i = 0; i < fields; ++i) fields_.emplace_back(device, subdomain().hi, c.ghosts);
    for (Field<T>& field : fields_) bound.push_back(halo_field(field));
    halo_.emplace(decomposition_, world, device, bound,
                  TransportSettings{.name = std::move(transport), .timed = false});
  }

  // Queues an exchange, or its parts. fill() overwrites the ghosts too, before peers may store into them.
  void run(int exchange) {
    fill(exchange);
    start(exchange);
    finish(exchange);
  }
  void fill(int exchange) {
    const auto [at, is_new] =
        images_.try_emplace(exchange, device_, subdomain().hi, oracle_.ghosts, Memory::staging);
    Field<T>& image = at->second;
    const FieldView<T> view = image.view();
    if (is_new) {
      for_each_cell(view.padded(), [&](Int3 c) { view(c) = static_cast<T>(GhostOracle::poison); });
      for_each_cell(view.interior(), [&](Int3 c) {
        view(c) = static_cast<T>(oracle_.index(oracle_.subdomain.lo + c) + shift(exchange));
      });
    }
    device_.copy(field(exchange).data(), image.data(), image.bytes(), compute_);
  }
  void start(int exchange) { halo_->start(field(exchange).view(), compute_); }
  void finish(int exchange) { halo_->finish(field(exchange).view(), compute_); }

  // Compares all cells with the oracle's.
  void expect_cells(int exchange) {
    device_.copy(found_.data(), field(exchange).data(), found_.bytes(), compute_);
    device_.synchronize(compute_);
    const FieldView<T> view = found_.view();
    Index wrong = 0;
    std::string first;
    for_each_cell(view.padded(), [&](Int3 c) {
      const T expected = oracle_.template expected<T>(c, shift(exchange));
      if (view(c) == expected) return;
      if (++wrong == 1) {
        first = fmt::format("cell {} of a block of {} holds {}, not {}", text(c), text(view.extent), view(c),
                            expected);
      }
    });
    EXPECT_EQ(wrong, 0) << "exchange " << exchange << ": " << first;
  }

  HaloExchange<T>& halo() { return *halo_; }
  Stream compute() const { return compute_; }

 private:
  static double shift(int exchange) { return 1000.0 * exchange; }
  Field<T>& field(int exchange) { return fields_[static_cast<std::size_t>(exchange) % fields_.size()]; }
  Box subdomain() const { return {{0, 0, 0}, oracle_.subdomain.extent()}; }

  Device& device_;
  Decomposition decomposition_;
  GhostOracle oracle_;
  std::vector<Field<T>> fields_;
  std::map<int, Field<T>> images_;  // in host memory: the field before each exchange
  Field<T> found_;
  Owned<Stream> compute_ = own_stream(device_, Priority::normal);
  std::optional<HaloExchange<T>> halo_;
};

// Every process grid and combination of periodic axes, or a `few` of the latter, on an uneven grid and on the
// thinnest possible one.
std::vector<Case> all_cases(int ranks, int ghosts, bool few = false) {
  std::vector<Case> cases;
  for (const Int3 grid : tested_process_grids(ranks)) {
    const Int3 thin{grid.x * ghosts + (grid.x > 1), grid.y * ghosts, grid.z * ghosts + (grid.z > 1)};
    for (const Int3 cells : {Int3{17, 23, 31}, thin}) {
      for (int bits = 0; bits < 8; ++bits) {
        if (few && bits != 0b000 && bits != 0b101 && bits != 0b111) continue;
        const Case c{cells, grid, {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0}, ghosts};
        const Index widest = Decomposition(cells, grid, c.periodic).max_halo_width().value_or(ghosts);
        if (ghosts <= widest) cases.push_back(c);
      }
    }
  }
  return cases;
}

class HaloGhosts : public BackendTest {
 protected:
  template <class T>
  void check(const std::string& transport, const Case& c) {
    SCOPED_TRACE(fmt::format("{}, {} bytes, {}", transport, sizeof(T), c.name()));
    Exchanged<T> exchanged(device(), world(), c, transport);
    for (const int exchange : {0, 1}) {  // reuses the buffers
      exchanged.run(exchange);
      exchanged.expect_cells(exchange);
    }
  }
};

TEST_P(HaloGhosts, HoldTheCellsOfTheNeighbours) {
  for (const std::string& transport : usable_transports(device(), world())) {
    for (const int ghosts : {1, 2, 4}) {
      for (const Case& c : all_cases(world().size(), ghosts, is_slow(device()))) {
        check<float>(transport, c);
        check<double>(transport, c);
      }
    }
  }
}
TEST_P(HaloGhosts, BlocksThatDoNotMatchTheRanksAreRejected) {
  const auto expect_rejected = [&](const Decomposition& decomposition, Int3 extent, int ghosts) {
    Field<double> field(device(), extent, ghosts);
    EXPECT_THROW(HaloExchange<double>(decomposition, world(), device(), {halo_field(field)}), Error);
  };
  const Decomposition more({8, 8, 64}, {1, 1, world().size() + 1}, {});
  expect_rejected(more, more.subdomain(0).extent(), 1);
  expect_rejected(Decomposition({8, 8, 64}, {1, 1, world().size()}, {}), {8, 8, 63}, 1);
  expect_rejected(Decomposition({8, 8, world().size()}, {1, 1, world().size()}, {false, false, true}),
                  {8, 8, 1}, 2);
}
ISOTHERM_ON_EACH_BACKEND(HaloGhosts);

// Many exchanges in a row, with ranks that are late at every possible point: ghosts hold the cells of their
// own exchange, never those of the next one, and no rank waits for ever.

constexpr int exchanges = 12;  // each of four ranks is late at each of three points

void be_late() { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }

// `late(rank, exchange, place)`: whether a rank is late before start, between start and finish, or before the
// ghosts are read.
template <class Late>
void expect_order(Exchanged<double>& series, int rank, int count, Late late) {
  for (int exchange = 0; exchange < count; ++exchange) {
    if (late(rank, exchange, 0)) be_late();
    series.fill(exchange);
    series.start(exchange);
    if (late(rank, exchange, 1)) be_late();
    series.finish(exchange);
    if (late(rank, exchange, 2)) be_late();
    series.expect_cells(exchange);
  }
}

class HaloOrder : public BackendTest {
 protected:
  // Subdomains in a ring along one axis; faces that a GPU stores with several thread blocks.
  template <class Check>
  void on_each_transport(Check check) {
    for (const std::string& transport : usable_transports(device(), world())) {
      for (const auto& [axis, ghosts, fields] :
           {std::tuple{0, 1, 2}, std::tuple{0, 2, 1}, std::tuple{2, 1, 1}, std::tuple{2, 2, 2}}) {
        Case c{{60, 40, 40}, {1, 1, 1}, {true, true, true}, ghosts};
        c.process_grid[axis] = world().size();
        c.cells[axis] = 5 * world().size();
        SCOPED_TRACE(fmt::format("{}, {}, {} fields", transport, c.name(), fields));
        Exchanged<double> series(device(), world(), c, transport, fields);
        check(series, transport);
      }
    }
  }
};

// The last rank is late at each point, with each field twice; then all ranks in turn.
TEST_P(HaloOrder, RanksThatAreLateLoseNothing) {
  on_each_transport([&](Exchanged<double>& series, const std::string&) {
    for (const int place : {0, 1, 2}) {
      expect_order(series, world().rank(), 4,
                   [&](int rank, int, int here) { return here == place && rank == world().size() - 1; });
    }
    expect_order(series, world().rank(), exchanges, [&](int rank, int exchange, int place) {
      return rank == exchange % world().size() && place == exchange % 3;
    });
  });
}

// The host queues all exchanges without waiting for its device.
TEST_P(HaloOrder, NothingIsLostWhereTheHostOnlyQueues) {
  on_each_transport([&](Exchanged<double>& series, const std::string&) {
    for (int exchange = 0; exchange < exchanges; ++exchange) series.run(exchange);
    series.expect_cells(exchanges - 1);
  });
}

// Exchanges that are recorded once and launched repeatedly, alternating with others that are not recorded.
TEST_P(HaloOrder, ExchangesOfAGraph) {
  on_each_transport([&](Exchanged<double>& series, const std::string& transport) {
    if (transport == "nccl") {
      EXPECT_EQ(series.halo().why_not_recordable(), "");
    }
    if (!series.halo().why_not_recordable().empty() || device().backend() == Backend::host) return;
    device().begin_recording(series.compute());
    for (const int exchange : {0, 1}) {
      series.start(exchange);
      series.finish(exchange);
    }
    const Owned<Graph> graph(device(), device().end_recording(series.compute()));
    for (int exchange = 0; exchange < exchanges; exchange += 2) {
      if (world().rank() == exchange % world().size()) be_late();
      if (exchange % 4 == 0) {
        series.fill(exchange);
        series.fill(exchange + 1);
        device().launch(graph, series.compute());
      } else {
        for (const int next : {exchange, exchange + 1}) series.run(next);
      }
      series.expect_cells(exchange + 1);
    }
  });
}
ISOTHERM_ON_EACH_BACKEND(HaloOrder);

}  // namespace
}  // namespace isotherm
