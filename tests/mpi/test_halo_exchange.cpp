// The exchange of halos. Ghosts are checked by global index; many exchanges in a row, with ranks that are
// late at every possible point. Transports: which one a pair of neighbours uses, with transports that fail in
// every possible way; requirements on every transport; the wires below them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "backend_fixture.hpp"
#include "core/error.hpp"
#include "core/mpi_native.hpp"
#include "core/timer.hpp"
#include "grid/field.hpp"
#include "halo/exchange.hpp"
#include "halo/packed_transport.hpp"
#include "support/error_text.hpp"
#include "support/field_by_index.hpp"
#include "support/moved_clock.hpp"

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

class OneGpuOfAll final : public DeferredDevice {
 public:
  DeviceInfo info() const override { return {Backend::cuda, 0, "shared", "GPU-1", ""}; }
};

TEST(NcclTransport, RefusesRanksThatShareAGpu) {
  const Communicator world = Communicator::world();
  const TransportEntry<double>* entry = find_transport("nccl");
  ASSERT_NE(entry, nullptr);
  OneGpuOfAll device;
  if (const std::string why = entry->unsupported(device); !why.empty()) GTEST_SKIP() << why;
  if (world.size() == 1) GTEST_SKIP() << "needs two ranks";
  expect_start(refusal([&] { entry->make(device, world); }, ExitCode::unavailable),
               "ranks 0 and 1 share GPU-1, which NCCL does not allow; start one rank a GPU, or use another ");
}

// Which transport a pair of neighbours uses, with transports that fail in every possible way.

std::string anywhere(const Device&) { return {}; }
std::string nowhere(const Device&) { return "not in this build"; }

// s of the test's clock: the timeout of a transport, the delay of a slow one.
constexpr double timeout = 900, slowness = 100;
const TransportSettings patient{.timeout = timeout};

enum class Fault { none, slow, lies, hangs, throws };

// A transport that works, apart from its fault: it is slow on every rank; or rank 1 flips a bit of what it
// receives, never sends, or throws. The clock jumps past the timeout of every rank that waits for rank 1.
// abandon() sets `abandoned`.
class FaultyTransport final : public Transport<double> {
 public:
  FaultyTransport(Device& device, std::unique_ptr<Transport<double>> real, const HaloMessage& first, int rank,
                  Fault fault, bool is_recordable, std::shared_ptr<bool> abandoned)
      : device_(device),
        real_(std::move(real)),
        first_(first),
        is_bad_(rank == 1),
        fault_(fault),
        is_recordable_(is_recordable),
        abandoned_(std::move(abandoned)) {}
  void send(FieldView<double> field, Stream stream) override {
    if (fault_ == Fault::throws && is_bad_) throw Error(ExitCode::internal, "the network is down");
    if (!is_silent()) real_->send(field, stream);
    const bool is_mute = fault_ == Fault::hangs || fault_ == Fault::throws;
    if (is_mute && (is_bad_ || first_.peer == 1)) move_clock(2 * timeout);
  }
  void receive(FieldView<double> field, Stream stream) override {
    if (fault_ == Fault::slow) move_clock(slowness);
    real_->receive(field, stream);
    if (fault_ != Fault::lies || !is_bad_) return;
    unsigned char byte = 0;
    device_.copy(&byte, &field(first_.ghosts.lo), 1, stream);
    device_.synchronize(stream);
    byte ^= 1;
    device_.copy(&field(first_.ghosts.lo), &byte, 1, stream);
    device_.synchronize(stream);
  }
  bool arrived() override { return !is_silent() && real_->arrived(); }
  void abandon() noexcept override {
    *abandoned_ = true;
    real_->abandon();
  }
  bool recordable() const override { return is_recordable_; }  // a claim that these tests do not verify

 private:
  bool is_silent() const { return fault_ == Fault::hangs && is_bad_; }

  Device& device_;
  std::unique_ptr<Transport<double>> real_;
  HaloMessage first_;
  bool is_bad_;
  Fault fault_;
  bool is_recordable_;
  std::shared_ptr<bool> abandoned_;
};

using Entry = TransportEntry<double>;
const Entry* real_transport = nullptr;  // the one that faulty ones call; null: host

// `is_fragile`: transports of a rank share one state, which is broken when one of them is abandoned.
template <Fault fault, bool is_recordable = false, bool is_fragile = false>
TransportMaker<double> faulty(Device& device, const Communicator& communicator) {
  const Entry* const entry = real_transport ? real_transport : find_transport("host");
  const TransportMaker<double> real = entry->make(device, communicator);
  const auto abandoned = std::make_shared<bool>();
  const auto connect = [=, &device, rank = communicator.rank()](auto fields, auto messages) {
    return std::make_unique<FaultyTransport>(device, real.connect(fields, messages), messages.front(), rank,
                                             fault, is_recordable, abandoned);
  };
  return {connect, [=] { return is_fragile && *abandoned ? "given up" : real.why_broken(); }};
}

template <Fault fault, bool... more>
constexpr Entry make(std::string_view name) {
  return {name, "of a test", true, true, anywhere, faulty<fault, more...>};
}
const Entry good = make<Fault::none>("good"), recorded = make<Fault::none, true>("recorded"),
            recorded_lying = make<Fault::lies, true>("recorded_lying"), slow = make<Fault::slow>("slow"),
            lying = make<Fault::lies>("lying"), hanging = make<Fault::hangs>("hanging"),
            throwing = make<Fault::throws>("throwing"), fragile = make<Fault::hangs, false, true>("fragile"),
            missing = {"missing", "of a test", true, true, nowhere, nullptr},
            mock = {"mock", "of a test", false,
                    true,   anywhere,    packed_transports<double, wires_of<make_mock_wire>>};

class HaloLinks : public BackendTest {
 protected:
  // Subdomains in a row along z.
  Decomposition column() const {
    const int ranks = world().size();
    return Decomposition({5, 4, 3 * ranks}, {1, 1, ranks}, {});
  }
  template <class Use>
  auto with_exchange(const std::vector<Entry>& registry, const TransportSettings& settings, Use use) {
    const Int3 extent = column().subdomain(world().rank()).extent();
    Field<double> field(device(), extent, 1), other(device(), extent, 1);
    HaloExchange<double> halo(column(), world(), device(), {halo_field(field), halo_field(other)}, settings,
                              registry);
    return use(halo);
  }
  std::vector<HaloLink> links(const std::vector<Entry>& registry, const TransportSettings& settings) {
    return with_exchange(registry, settings, [](const HaloExchange<double>& halo) { return halo.links(); });
  }
  std::string why_not_recordable(const std::vector<Entry>& registry) {
    return with_exchange(registry, patient, [](const auto& halo) { return halo.why_not_recordable(); });
  }
  // The measurement of this transport on a link.
  static const TransportMeasurement& measurement(const HaloLink& link, std::string_view name) {
    return *std::ranges::find(link.measurements, name, &TransportMeasurement::transport);
  }
  void expect_rejected(const std::vector<Entry>& registry, const TransportSettings& settings, ExitCode code,
                       const char* start) {
    expect_start(refusal<CollectiveError>([&] { links(registry, settings); }, code), start);
  }
  bool alone() const { return world().size() == 1; }
  bool is_bad(const HaloLink& link) const { return world().rank() == 1 || link.peer == 1; }
};

TEST_P(HaloLinks, EveryPairTakesTheFastestThatWorks) {
  for (const HaloLink& link : links({slow, good}, patient)) {
    EXPECT_EQ(link.transport, "good");
    EXPECT_GT(measurement(link, "slow").seconds, measurement(link, "good").seconds);
    EXPECT_GT(link.chosen().latency, 0);
    EXPECT_EQ(link.bytes, 5u * 4u * sizeof(double));
    EXPECT_EQ(link.directions.size(), 1u);
  }
}

// Only pairs with rank 1, whose wires are bad, fail.
TEST_P(HaloLinks, PairsDoNotUseATransportThatFailsBetweenThem) {
  for (const auto& [bad, why] : {std::pair{&lying, "1 of 20 cells arrived wrong"},
                                 {&hanging, "no answer within 900 s"},
                                 {&throwing, "the network is down"}}) {
    SCOPED_TRACE(bad->name);
    for (const HaloLink& link : links({missing, *bad, slow}, patient)) {
      EXPECT_EQ(link.transport, is_bad(link) ? "slow" : bad->name);
      const std::string& said = measurement(link, bad->name).why_not;
      EXPECT_EQ(said.empty(), !is_bad(link)) << said;
      if (is_bad(link)) expect_says(said, why);
      EXPECT_EQ(measurement(link, "missing").why_not, "not in this build");
    }
  }
}

TEST_P(HaloLinks, ATransportWithASharedStateIsAbandonedByAllRanks) {
  int waited = 0;
  for (const HaloLink& link : links({fragile, slow}, patient)) {
    EXPECT_EQ(link.transport, "slow");
    const std::string& why = measurement(link, "fragile").why_not;
    if (is_bad(link) && why == "no answer within 900 s") {
      ++waited;
    } else {
      EXPECT_EQ(why, "given up");
    }
  }
  if (world().rank() == 1) {
    EXPECT_EQ(waited, 1);  // for its first peer only
  }
}

TEST_P(HaloLinks, ATransportThatMovesNothingIsUsedOnlyIfNamed) {
  for (const HaloLink& link : links({mock, slow}, patient)) EXPECT_EQ(link.transport, "slow");
  for (const HaloLink& link : links({mock, slow}, {.name = "mock"})) EXPECT_EQ(link.transport, "mock");
}

// Only the exchange between ranks 2 and 3 can be recorded.
TEST_P(HaloLinks, AllRanksRecordTheirExchangesOrNone) {
  EXPECT_EQ(why_not_recordable({recorded}), "");
  if (alone()) return;
  const char* const why = "ranks 0 and 1 exchange halos by transport slow, which needs the host";
  EXPECT_EQ(why_not_recordable({slow}), why);
  EXPECT_EQ(why_not_recordable({recorded_lying, slow}), why);
}

TEST_P(HaloLinks, NoWorkingOrAFailingNamedTransportIsAnErrorOfAllRanks) {
  if (alone()) GTEST_SKIP() << "nothing is exchanged";
  expect_rejected({lying, good, mock}, {.name = "lying", .place = "deck.yaml:3:5: parallel.transport"},
                  ExitCode::unavailable,
                  "deck.yaml:3:5: parallel.transport: transport 'lying' does not work between ranks 0 and 1");
  expect_rejected({missing}, {}, ExitCode::unavailable,
                  "parallel.transport: no transport works between ranks");
  expect_rejected({good, mock}, {.name = "goood"}, ExitCode::deck,
                  "parallel.transport: there is no transport 'goood' (isotherm list names them)");
}
ISOTHERM_ON_EACH_BACKEND(HaloLinks);

// Wires may share a state; users of a transport ask only the transport whether it is broken.
TEST(PackedTransport, AbandonsItsWireAndKnowsWhyAllAreBroken) {
  struct Fragile final : Wire {
    explicit Fragile(bool& shared) : broken(shared) {}
    void send(Stream) override {}
    void receive(Stream) override {}
    void abandon() noexcept override { broken = true; }
    bool& broken;
  };
  const auto device = make_host_device();
  bool broken = false;
  const TransportMaker<double> maker =
      packed_transports<double>(*device, {[&](auto) { return std::make_unique<Fragile>(broken); },
                                          [&] { return std::string(broken ? "given up" : ""); }});
  const auto transport = maker.connect({}, {});
  EXPECT_EQ(maker.why_broken(), "");
  transport->abandon();
  EXPECT_EQ(maker.why_broken(), "given up");
}

// A rank that fails or does not answer is detected in time, by its peers too, with every transport of the
// registry. HaloGhosts tests the cells, test_one_answer.cpp compares with one rank.

class TransportRegistry : public HaloLinks {
 protected:
  template <class Check>
  void on_each_transport(Check check) {
    if (alone()) GTEST_SKIP() << "needs two ranks";
    for (const std::string& transport : usable_transports(device(), world())) {
      SCOPED_TRACE(transport);
      check(*find_transport(transport));
    }
  }
};

TEST_P(TransportRegistry, APeerThatNeverSendsIsGivenUp) {
  on_each_transport([&](const Entry& entry) {
    real_transport = &entry;
    const std::vector<HaloLink> found = links({hanging, *find_transport("host")}, patient);
    real_transport = nullptr;
    for (const HaloLink& link : found) {
      if (!is_bad(link)) continue;
      EXPECT_EQ(link.transport, "host");
      const std::string& why = link.measurements.front().why_not;
      // Or given up because of another peer, if the wires of a rank share one state.
      if (world().size() == 2 || why.find("given up") == std::string::npos) {
        EXPECT_EQ(why, "no answer within 900 s");
      }
    }
    // Ranks must not reuse the state that was abandoned.
    const TransportSettings named{.name = std::string(entry.name), .timed = false};
    for (const HaloLink& link : links({entry}, named)) EXPECT_EQ(link.transport, entry.name);
  });
}

// OneAnswer.OfMultigridByEveryTransport compares the cells that are gathered.
TEST_P(TransportRegistry, ThoseThatNeedNoHostGather) {
  std::vector<Box> blocks;
  for (int rank = 0; rank < world().size(); ++rank) blocks.push_back(column().subdomain(rank));
  Field<double> whole(device(), {5, 4, 3 * world().size()}, 1);
  on_each_transport([&](const Entry& entry) {
    const TransportSettings named{.name = std::string(entry.name), .timed = false};
    with_exchange({entry}, named, [&](const HaloExchange<double>& halo) {
      const auto gathering = halo.connect_all(halo_field(whole), gather_messages(blocks, world().rank()));
      EXPECT_EQ(gathering != nullptr, entry.name == "peer" || entry.name == "nccl");
    });
  });
}

// Memory that no other process can open.
TEST_P(TransportRegistry, PeersOfARankThatCannotConnectKnowTheReason) {
  if (alone() || !find_transport("peer")->unsupported(device()).empty()) {
    GTEST_SKIP() << "needs two ranks with a GPU each";
  }
  Field<double> field(device(), column().subdomain(world().rank()).extent(), 1);
  const Buffer elsewhere(device(), field.bytes(), Memory::staging);
  HaloField<double> bound = halo_field(field);
  if (world().rank() == 1) bound.memory = elsewhere.data();
  expect_says(refusal<CollectiveError>(
                  [&] { HaloExchange<double>(column(), world(), device(), {bound}, {.name = "peer"}); },
                  ExitCode::unavailable),
              "transport 'peer' does not work between ranks 0 and 1 (rank 1: cudaIpcGetMemHandle failed");
}
ISOTHERM_ON_EACH_BACKEND(TransportRegistry);

// Differs by sender, message, byte and round.
unsigned char pattern(int sender, std::size_t message, std::size_t i, std::size_t round) {
  return static_cast<unsigned char>((i * 2654435761u >> 7) + static_cast<std::size_t>(sender) * 31 +
                                    message * 101 + round * 57);
}

// Lets MPI deliver messages that peers have already sent, expected or not.
void progress(const Communicator& world) {
  const Timer timer;
  while (timer.seconds() < 0.005) {
    int found = 0;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world.native().comm, &found, MPI_STATUS_IGNORE),
              "MPI_Iprobe");
  }
}

using MakeWire = std::unique_ptr<Wire> (*)(Device&, const Communicator&, std::span<const WireMessage>,
                                           std::size_t piece_bytes);

struct Shape {
  std::size_t messages, bytes, piece_bytes, rounds;
};

// Messages in both directions between rank r and rank size - 1 - r, which may be r itself. The host waits for
// the device only at the end: the transport itself must separate the rounds.
void expect_delivery(Device& device, const Communicator& world, MakeWire make_wire, const Shape& shape) {
  const int me = world.rank(), peer = world.size() - 1 - me;
  std::vector<Buffer> sent, received;
  std::vector<WireMessage> messages;
  for (std::size_t m = 0; m < shape.messages; ++m) {
    const Buffer& out = sent.emplace_back(device, shape.bytes);
    const Buffer& in = received.emplace_back(device, shape.bytes);
    const int tag = static_cast<int>(m);
    messages.push_back({peer, tag, tag, out.data(), in.data(), shape.bytes});
  }
  const Owned<Stream> stream = own_stream(device, Priority::high);
  const auto wire = make_wire(device, world, messages, shape.piece_bytes);

  std::vector<Buffer> before, after;  // in host memory, by round and message
  for (std::size_t round = 0; round < shape.rounds; ++round) {
    for (std::size_t m = 0; m < shape.messages; ++m) {
      const Buffer& image = before.emplace_back(device, shape.bytes, Memory::staging);
      for (std::size_t i = 0; i < shape.bytes; ++i) image.as<unsigned char>()[i] = pattern(me, m, i, round);
      device.copy(sent[m].data(), image.data(), shape.bytes, stream);
    }
    wire->send(stream);
    // One rank of each pair is late: its peer must not overwrite data of the round that is still being read.
    if (me < peer) progress(world);
    // Waits in receive(), or polls before it.
    while (round % 2 == 1 && !wire->arrived()) {
    }
    wire->receive(stream);
    for (std::size_t m = 0; m < shape.messages; ++m) {
      const Buffer& image = after.emplace_back(device, shape.bytes, Memory::staging);
      device.copy(image.data(), received[m].data(), shape.bytes, stream);
    }
  }
  device.synchronize(stream);

  for (std::size_t round = 0; round < shape.rounds; ++round) {
    for (std::size_t m = 0; m < shape.messages; ++m) {
      const unsigned char* image = after[round * shape.messages + m].as<unsigned char>();
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < shape.bytes; ++i) wrong += image[i] != pattern(peer, m, i, round);
      EXPECT_EQ(wrong, 0u) << "message " << m << " of round " << round;
    }
  }
}

constexpr Shape one_byte{2, 1, largest_piece, 3};
constexpr Shape whole{3, 100003, largest_piece, 4};
constexpr Shape in_pieces{2, 100003, 1000, 4};
constexpr Shape in_equal_pieces{2, 4000, 1000, 4};

class TransportHost : public BackendTest {};

// Messages may be staged on any device; MPI itself accesses only host memory here.
TEST_P(TransportHost, MessagesArriveWholeAndPiecesInTheirOrder) {
  for (const Shape& shape : {one_byte, whole, in_pieces, in_equal_pieces}) {
    expect_delivery(device(), world(), make_staged_wire, shape);
    if (GetParam() == Backend::host) expect_delivery(device(), world(), make_direct_wire, shape);
  }
}
ISOTHERM_ON_EACH_BACKEND(TransportHost);

// On a device that is as late as possible. The direct wire simulates an MPI that supports device memory.
TEST(TransportLate, WaitsForTheDeviceBeforeItSendsAndBeforeItReceivesAgain) {
  const Communicator world = Communicator::world();
  for (const MakeWire make_wire : {make_staged_wire, make_direct_wire}) {
    DeferredDevice device;
    for (const Shape& shape : {one_byte, whole, in_pieces}) expect_delivery(device, world, make_wire, shape);
  }
}

}  // namespace
}  // namespace isotherm
