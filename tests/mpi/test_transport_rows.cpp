// What every row of the table has to hold: the answer of one rank, and that a rank that fails or stays away
// is found out in time, by its peers too.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend_fixture.hpp"
#include "core/error.hpp"
#include "halo/exchange.hpp"
#include "solver/rows.hpp"
#include "solver/solver.hpp"
#include "support/decks.hpp"
#include "support/moved_clock.hpp"
#include "usable_transports.hpp"

namespace isotherm {
namespace {

using Row = TransportRow<double>;

std::string anywhere(const Device&) {
  return {};
}

constexpr double timeout = 900;  // s by the clock that tests move

// The row of a transport whose rank 1 never sends; the time of whoever waits for it passes at once.
const Row* silenced = nullptr;

class SilentTransport final : public Transport<double> {
 public:
  SilentTransport(std::unique_ptr<Transport<double>> real, bool silent, bool in_vain)
      : real_(std::move(real)), silent_(silent), in_vain_(in_vain) {}
  void send(FieldView<double> field, Stream stream) override {
    if (!silent_) real_->send(field, stream);
    if (in_vain_) move_clock(2 * timeout);
  }
  void receive(FieldView<double> field, Stream stream) override { real_->receive(field, stream); }
  bool arrived() override { return !silent_ && real_->arrived(); }
  void abandon() noexcept override { real_->abandon(); }

 private:
  std::unique_ptr<Transport<double>> real_;
  bool silent_, in_vain_;
};

class SilentMaker final : public TransportMaker<double> {
 public:
  SilentMaker(Device& device, const Communicator& communicator)
      : real_(silenced->make(device, communicator)), silent_(communicator.rank() == 1) {}
  std::unique_ptr<Transport<double>> connect(std::span<const HaloField<double>> fields,
                                             std::span<const HaloMessage> messages) override {
    return std::make_unique<SilentTransport>(real_->connect(fields, messages), silent_,
                                             silent_ || messages.front().peer == 1);
  }
  std::string why_broken() const override { return real_->why_broken(); }

 private:
  std::unique_ptr<TransportMaker<double>> real_;
  bool silent_;
};

std::unique_ptr<TransportMaker<double>> silent_transports(Device& device, const Communicator& communicator) {
  return std::make_unique<SilentMaker>(device, communicator);
}

class TransportRows : public BackendTest {
 protected:
  // A column of blocks along z.
  Decomposition column() const {
    const int ranks = world().size();
    return Decomposition({7, 4, 3 * ranks}, {1, 1, ranks}, {});
  }
  template <class Check>
  void on_each_row(Check check) {
    for (const std::string& transport : usable_transports(device(), world())) {
      const Row* row = find_transport<double>(transport);
      if (!row) continue;
      SCOPED_TRACE(transport);
      check(*row);
    }
  }
};

TEST_P(TransportRows, APeerThatNeverSendsIsGivenUp) {
  if (world().size() == 1) GTEST_SKIP() << "needs two ranks";
  on_each_row([&](const Row& row) {
    silenced = &row;
    const Row silent{"silent", "of a test", true, false, anywhere, silent_transports};
    const std::vector<Row> rows{silent, *find_transport<double>("host")};
    const Decomposition blocks = column();
    Field<double> field(device(), blocks.block(world().rank()).extent(), 1);
    const HaloExchange<double> halo(blocks, world(), device(), {halo_field(field)}, {.timeout = timeout},
                                    rows);
    for (const HaloLink& link : halo.links()) {
      if (world().rank() != 1 && link.peer != 1) continue;
      EXPECT_EQ(link.transport, "host");
      const std::string& why = link.trials.front().why_not;
      // Or given up with another peer, where the ranks have one state.
      if (world().size() == 2 || why.find("given up") == std::string::npos) {
        EXPECT_EQ(why, "no answer within 900 s");
      }
    }
    // What ranks keep for whoever comes next is not what was given up.
    const HaloExchange<double> next(blocks, world(), device(), {halo_field(field)},
                                    {.name = std::string(row.name), .timed = false});
    for (const HaloLink& link : next.links()) EXPECT_EQ(link.transport, row.name);
  });
}

// Memory that no other process can open.
TEST_P(TransportRows, WhereOneRankCannotConnectItsPeersKnowWhy) {
  if (world().size() == 1 || !find_transport<double>("peer")->unsupported(device()).empty()) {
    GTEST_SKIP() << "needs two ranks with a GPU each";
  }
  const Decomposition blocks = column();
  Field<double> field(device(), blocks.block(world().rank()).extent(), 1);
  const Buffer elsewhere(device(), field.bytes(), Memory::staging);
  HaloField<double> bound = halo_field(field);
  if (world().rank() == 1) bound.memory = elsewhere.data();
  std::string why;
  try {
    HaloExchange<double>(blocks, world(), device(), {bound}, {.name = "peer"});
  } catch (const CollectiveError& e) {
    why = e.what();
  }
  EXPECT_NE(
      why.find("transport 'peer' does not work between ranks 0 and 1 (rank 1: cudaIpcGetMemHandle failed"),
      std::string::npos)
      << why;
}

TEST_P(TransportRows, OneAnswer) {
  Config config = decks::every_wall({17, 23, 31});
  config.solver.kernel = "reference";
  const auto host = make_host_device();
  const auto answer = [&](const Int3 grid, const Communicator& communicator, Device& where) {
    Solver<double> solver(config, Decomposition(config.grid.cells, grid, {}), communicator, where,
                          choose_rows<double>(config, where.backend()));
    solver.sweep(9);
    return std::pair(solver.fingerprint(), solver.residual());
  };
  const auto expected = answer({1, 1, 1}, Communicator::self(), *host);
  config.solver.kernel = GetParam() == Backend::host ? "openmp" : "register_tile";
  for (const std::string& transport : usable_transports(device(), world())) {
    for (const Overlap overlap : {Overlap::off, Overlap::on}) {
      for (int axis = 0; axis < 3; ++axis) {
        SCOPED_TRACE(fmt::format("{}, axis {}, overlap {}", transport, axis, overlap == Overlap::on));
        Int3 grid{1, 1, 1};
        grid[axis] = world().size();
        config.parallel.transport = transport;
        config.parallel.overlap = overlap;
        EXPECT_EQ(answer(grid, world(), device()), expected);
      }
    }
  }
}
ISOTHERM_ON_EACH_BACKEND(TransportRows);

}  // namespace
}  // namespace isotherm
