// Many exchanges in a row, with ranks that are late in every place where one may be: ghosts hold the cells of
// their own exchange, never those of the next, and nobody waits for ever.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <thread>

#include "backend_fixture.hpp"
#include "ghost_oracle.hpp"
#include "halo/exchange.hpp"
#include "usable_transports.hpp"

namespace isotherm {
namespace {

constexpr int exchanges = 12;

struct Setting {
  int axis;  // along which the blocks stand
  int ghosts;
  int fields;  // 1: one that is exchanged again and again; 2: in turns
};

// Fields whose cells all hold the number of their exchange, and of their rank in the fraction.
class Series {
 public:
  Series(Device& device, const Communicator& world, Setting setting, const std::string& transport)
      : device_(device), world_(world), axis_(setting.axis) {
    const int ranks = world.size(), ghosts = setting.ghosts, fields = setting.fields;
    Int3 grid{1, 1, 1}, cells{90, 60, 60};  // faces large enough that a GPU stores them with several blocks
    grid[axis_] = ranks;
    cells[axis_] = 5 * ranks;
    const Decomposition decomposition(cells, grid, {true, true, true});
    const Int3 extent = decomposition.block(world.rank()).extent();
    std::vector<HaloField<double>> bound;
    for (int i = 0; i < fields; ++i) fields_.emplace_back(device, extent, ghosts);
    for (Field<double>& field : fields_) bound.push_back(halo_field(field));
    halo_.emplace(decomposition, world, device, bound, TransportSettings{.name = transport, .timed = false});
    neighbours_ = {(world.rank() + ranks - 1) % ranks, (world.rank() + 1) % ranks};
    mirror_.emplace(device, extent, ghosts, Memory::staging);
  }
  HaloExchange<double>& halo() { return *halo_; }
  Stream compute() const { return compute_; }
  FieldView<double> field(int exchange) {
    return fields_[static_cast<std::size_t>(exchange) % fields_.size()].view();
  }

  static double value(int exchange, int rank) { return exchange + rank / 1024.0; }
  // Ghosts are poisoned too: by this rank's own stream, before they may be stored into.
  void fill(int exchange) {
    face_copy<double>(device_.backend()).fill(field(exchange), value(exchange, world_.rank()), compute_);
  }
  void start(int exchange) { halo_->start(field(exchange), compute_, halo_stream_); }
  void finish(int exchange) { halo_->finish(field(exchange), compute_, halo_stream_); }

  // What the next sweep would read.
  std::size_t wrong_ghosts(int exchange) {
    Field<double>& field = fields_[static_cast<std::size_t>(exchange) % fields_.size()];
    device_.copy(mirror_->data(), field.data(), field.bytes(), compute_);
    device_.synchronize(compute_);
    const FieldView<double> found = mirror_->view();
    std::size_t wrong = 0;
    const Int3 n = found.extent;
    const auto count = [&](int neighbour, Index layer) {
      Box ghosts{{0, 0, 0}, n};
      ghosts.lo[axis_] = layer;
      ghosts.hi[axis_] = layer + 1;
      for_each_cell(ghosts, [&](Int3 cell) { wrong += found(cell) != value(exchange, neighbour); });
    };
    for (int layer = 1; layer <= found.ghosts; ++layer) {
      count(neighbours_[0], -layer);
      count(neighbours_[1], n[axis_] - 1 + layer);
    }
    return wrong;
  }

 private:
  Device& device_;
  const Communicator& world_;
  std::vector<Field<double>> fields_;
  std::optional<Field<double>> mirror_;
  Owned<Stream> compute_ = own_stream(device_, Priority::normal),
                halo_stream_ = own_stream(device_, Priority::high);
  std::optional<HaloExchange<double>> halo_;
  int axis_;
  std::array<int, 2> neighbours_{};  // below and above
};

void be_late() {
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
}

// `late(rank, exchange, place)`: places are before start, between start and finish, and before the ghosts are
// read.
template <class Late>
void expect_order(Series& series, int rank, Late late) {
  std::size_t wrong = 0;
  for (int exchange = 0; exchange < exchanges; ++exchange) {
    if (late(rank, exchange, 0)) be_late();
    series.fill(exchange);
    series.start(exchange);
    if (late(rank, exchange, 1)) be_late();
    series.finish(exchange);
    if (late(rank, exchange, 2)) be_late();
    wrong += series.wrong_ghosts(exchange);
  }
  EXPECT_EQ(wrong, 0u);
}

class HaloOrder : public BackendTest {
 protected:
  template <class Check>
  void on_each_transport(Check check) {
    for (const std::string& transport : usable_transports(device(), world())) {
      if (transport == "auto") continue;  // one of the others
      for (const Setting s : {Setting{0, 1, 1}, {0, 1, 2}, {0, 2, 1}, {2, 1, 1}, {2, 2, 1}, {2, 2, 2}}) {
        SCOPED_TRACE(
            fmt::format("{}, along {}, {} ghosts, {} fields", transport, "xyz"[s.axis], s.ghosts, s.fields));
        Series series(device(), world(), s, transport);
        check(series);
      }
    }
  }
};

TEST_P(HaloOrder, ARankThatIsLateLosesNothing) {
  on_each_transport([&](Series& series) {
    for (const int place : {0, 1, 2}) {
      expect_order(series, world().rank(),
                   [&](int rank, int, int here) { return here == place && rank == world().size() - 1; });
    }
  });
}

TEST_P(HaloOrder, RanksThatAreLateInTurns) {
  on_each_transport([&](Series& series) {
    expect_order(series, world().rank(), [&](int rank, int exchange, int place) {
      return rank == exchange % world().size() && place == exchange % 3;
    });
  });
}

// The host runs ahead of its device, as far as it likes.
TEST_P(HaloOrder, NothingIsLostWhereTheHostOnlyQueues) {
  on_each_transport([&](Series& series) {
    for (int exchange = 0; exchange < exchanges; ++exchange) {
      series.fill(exchange);
      series.start(exchange);
      series.finish(exchange);
    }
    EXPECT_EQ(series.wrong_ghosts(exchanges - 1), 0u);
  });
}

// Exchanges that were recorded once and are queued again and again, beside others that are not.
TEST_P(HaloOrder, ExchangesOfAGraph) {
  on_each_transport([&](Series& series) {
    if (!series.halo().why_not_recordable().empty() || !device().records_graphs()) return;
    device().begin_recording(series.compute());
    for (const int exchange : {0, 1}) {
      series.start(exchange);
      series.finish(exchange);
    }
    const Owned<Graph> graph(device(), device().end_recording(series.compute()));
    std::size_t wrong = 0;
    for (int exchange = 0; exchange < exchanges; exchange += 2) {
      if (world().rank() == exchange % world().size()) be_late();
      if (exchange % 4 == 0) {
        series.fill(exchange);
        series.fill(exchange + 1);
        device().launch(graph, series.compute());
      } else {
        for (const int next : {exchange, exchange + 1}) {
          series.fill(next);
          series.start(next);
          series.finish(next);
        }
      }
      wrong += series.wrong_ghosts(exchange + 1);
    }
    EXPECT_EQ(wrong, 0u);
  });
}
ISOTHERM_ON_EACH_BACKEND(HaloOrder);

}  // namespace
}  // namespace isotherm
