// Which transport a neighbour gets, with rows that fail in every way in which a transport may.
#include <gtest/gtest.h>

#include "backend_fixture.hpp"
#include "core/error.hpp"
#include "halo/exchange.hpp"
#include "halo/packed_transport.hpp"
#include "support/moved_clock.hpp"

namespace isotherm {
namespace {

std::string anywhere(const Device&) {
  return {};
}
std::string nowhere(const Device&) {
  return "not in this build";
}

// A good wire, but for what a test does to it.
class HostWire : public Wire {
 public:
  HostWire(Device& device, const Communicator& communicator, std::span<const WireMessage> messages)
      : device_(device),
        messages_(messages.begin(), messages.end()),
        rank_(communicator.rank()),
        wire_(make_host_wire(device, communicator, messages)) {}
  void send(Stream stream) override { wire_->send(stream); }
  void receive(Stream stream) override { wire_->receive(stream); }
  bool arrived() override { return wire_->arrived(); }

 protected:
  Device& device_;
  std::vector<WireMessage> messages_;
  int rank_;

 private:
  std::unique_ptr<Wire> wire_;
};

// One bit of what rank 1 receives is another.
class LyingWire : public HostWire {
 public:
  using HostWire::HostWire;
  void receive(Stream stream) override {
    HostWire::receive(stream);
    if (rank_ != 1) return;
    unsigned char byte = 0;
    device_.copy(&byte, messages_.front().receive, 1, stream);
    device_.synchronize(stream);
    byte ^= 1;
    device_.copy(messages_.front().receive, &byte, 1, stream);
    device_.synchronize(stream);
  }
};

// Says that it can be recorded, as no test here finds out.
template <class AnyWire>
class RecordedWire final : public AnyWire {
  using AnyWire::AnyWire;
  bool recordable() const override { return true; }
};

// s by the clock that tests move: what a transport may take, what a slow one does.
constexpr double timeout = 900, slowness = 100;
const TransportSettings patient{.timeout = timeout};

// Rank 1 never sends, and the time of whoever waits for it passes at once.
class HangingWire : public HostWire {
 public:
  using HostWire::HostWire;
  void send(Stream stream) override {
    if (rank_ != 1) HostWire::send(stream);
    if (rank_ == 1 || messages_.front().peer == 1) move_clock(2 * timeout);
  }
  bool arrived() override { return rank_ != 1 && HostWire::arrived(); }
};

class ThrowingWire final : public HostWire {
  using HostWire::HostWire;
  void send(Stream stream) override {
    if (rank_ == 1) throw Error(ExitCode::internal, "the network is down");
    HostWire::send(stream);
    if (messages_.front().peer == 1) move_clock(2 * timeout);
  }
};

class SlowWire final : public HostWire {
  using HostWire::HostWire;
  void receive(Stream stream) override {
    move_clock(slowness);
    HostWire::receive(stream);
  }
};

// As HangingWire's, but the wires of a rank have one state, which is lost with one that was given up.
class FragileWires final : public WireMaker {
 public:
  FragileWires(Device& device, const Communicator& communicator)
      : device_(device), communicator_(communicator) {}
  std::unique_ptr<Wire> make(std::span<const WireMessage> messages) override {
    class FragileWire final : public HangingWire {
     public:
      FragileWire(Device& device, const Communicator& communicator, std::span<const WireMessage> its_messages,
                  std::shared_ptr<bool> broken)
          : HangingWire(device, communicator, its_messages), broken_(std::move(broken)) {}
      void abandon() noexcept override { *broken_ = true; }

     private:
      std::shared_ptr<bool> broken_;
    };
    return std::make_unique<FragileWire>(device_, communicator_, messages, broken_);
  }
  std::string why_broken() const override { return *broken_ ? "given up" : ""; }

 private:
  Device& device_;
  const Communicator& communicator_;
  std::shared_ptr<bool> broken_ = std::make_shared<bool>(false);
};
std::unique_ptr<WireMaker> open_fragile(Device& device, const Communicator& communicator) {
  return std::make_unique<FragileWires>(device, communicator);
}

template <class AnyWire>
std::unique_ptr<Wire> make_wire(Device& device, const Communicator& communicator,
                                std::span<const WireMessage> messages) {
  return std::make_unique<AnyWire>(device, communicator, messages);
}

using Row = TransportRow<double>;
template <class AnyWire>
constexpr Row row(std::string_view name) {
  return {name, "of a test", true, true, anywhere, packed_transports<double, make_wire<AnyWire>>};
}
const Row good = row<HostWire>("good"), recorded = row<RecordedWire<HostWire>>("recorded"),
          recorded_lying = row<RecordedWire<LyingWire>>("recorded_lying"), slow = row<SlowWire>("slow"),
          lying = row<LyingWire>("lying"), hanging = row<HangingWire>("hanging"),
          throwing = row<ThrowingWire>("throwing"),
          fragile = {"fragile", "of a test", true, true, anywhere, opened_transports<double, open_fragile>},
          missing = {"missing", "of a test", true, true, nowhere, nullptr},
          mock = {"mock", "of a test", false, true, anywhere, packed_transports<double, make_mock_wire>};

template <class Work>
std::string error_of(const Work& work) {
  try {
    work();
  } catch (const CollectiveError& e) {
    return e.what();
  }
  return "no error";
}

class HaloLinks : public BackendTest {
 protected:
  // A row of blocks along z; what is exchanged holds the number of its rank everywhere.
  template <class Use>
  auto with_exchange(const std::vector<Row>& rows, const TransportSettings& settings, Use use) {
    const int ranks = world().size();
    const Decomposition decomposition({5, 4, 3 * ranks}, {1, 1, ranks}, {});
    const Int3 extent = decomposition.block(world().rank()).extent();
    Field<double> field(device(), extent, 1), other(device(), extent, 1);
    HaloExchange<double> halo(decomposition, world(), device(), {halo_field(field), halo_field(other)},
                              settings, rows);
    return use(halo);
  }
  std::vector<HaloLink> links(const std::vector<Row>& rows, const TransportSettings& settings) {
    return with_exchange(rows, settings, [](const HaloExchange<double>& halo) { return halo.links(); });
  }
  std::string why_not_recordable(const std::vector<Row>& rows) {
    return with_exchange(rows, patient, [](const auto& halo) { return halo.why_not_recordable(); });
  }
  // Of the trial of this row on the link between ranks 0 and 1; on other ranks what they know.
  static const TransportTrial& trial(const HaloLink& link, std::string_view name) {
    return *std::find_if(link.trials.begin(), link.trials.end(),
                         [&](const TransportTrial& t) { return t.transport == name; });
  }
  bool alone() const { return world().size() == 1; }
  bool is_bad(const HaloLink& link) const { return world().rank() == 1 || link.peer == 1; }
};

TEST_P(HaloLinks, EveryPairTakesTheFastestThatWorks) {
  for (const HaloLink& link : links({slow, good}, patient)) {
    EXPECT_EQ(link.transport, "good");
    EXPECT_GT(trial(link, "slow").seconds, trial(link, "good").seconds);
    EXPECT_GT(link.chosen().latency, 0);
    EXPECT_EQ(link.bytes, 5u * 4u * sizeof(double));
    EXPECT_EQ(link.directions.size(), 1u);
  }
}

TEST_P(HaloLinks, ATransportThatLiesIsNotUsedByThosePairsThatItLiesTo) {
  for (const HaloLink& link : links({lying, slow}, patient)) {
    const std::string& why = trial(link, "lying").why_not;
    if (is_bad(link)) {
      EXPECT_EQ(link.transport, "slow");
      EXPECT_EQ(why, "1 of 20 cells arrived wrong");
    } else {
      EXPECT_EQ(link.transport, "lying") << why;
    }
  }
}

TEST_P(HaloLinks, ATransportThatHangsIsGivenUp) {
  for (const HaloLink& link : links({hanging, slow}, patient)) {
    EXPECT_EQ(link.transport, is_bad(link) ? "slow" : "hanging");
    EXPECT_EQ(trial(link, "hanging").why_not, is_bad(link) ? "no answer within 900 s" : "");
  }
}

TEST_P(HaloLinks, ATransportWhoseRanksHaveOneStateIsGivenUpByAll) {
  int waited = 0;
  for (const HaloLink& link : links({fragile, slow}, patient)) {
    EXPECT_EQ(link.transport, "slow");
    const std::string& why = trial(link, "fragile").why_not;
    if (is_bad(link) && why == "no answer within 900 s") {
      ++waited;
    } else {
      EXPECT_EQ(why, "given up");
    }
  }
  if (world().rank() == 1) {
    EXPECT_EQ(waited, 1);  // for the first of its peers
  }
}

TEST_P(HaloLinks, ATransportThatFailsOrIsMissingIsNotUsed) {
  for (const HaloLink& link : links({missing, throwing, slow}, patient)) {
    EXPECT_EQ(link.transport, is_bad(link) ? "slow" : "throwing");
    EXPECT_EQ(trial(link, "missing").why_not, "not in this build");
    const std::string& why = trial(link, "throwing").why_not;
    EXPECT_EQ(why.find("the network is down") != std::string::npos, is_bad(link)) << why;
  }
}

TEST_P(HaloLinks, WhatMovesNothingIsOnlyTakenWhenItIsNamed) {
  for (const HaloLink& link : links({mock, slow}, patient)) EXPECT_EQ(link.transport, "slow");
  for (const HaloLink& link : links({mock, slow}, {.name = "mock"})) EXPECT_EQ(link.transport, "mock");
}

// Ranks 2 and 3 could, by themselves.
TEST_P(HaloLinks, AllRanksRecordTheirExchangesOrNone) {
  EXPECT_EQ(why_not_recordable({recorded}), "");
  if (alone()) return;
  const char* const why = "ranks 0 and 1 exchange halos by transport slow, which needs the host";
  EXPECT_EQ(why_not_recordable({slow}), why);
  EXPECT_EQ(why_not_recordable({recorded_lying, slow}), why);
}

TEST_P(HaloLinks, OneThatIsNamedAndDoesNotWorkIsAnErrorOfAllRanks) {
  if (alone()) GTEST_SKIP() << "needs two ranks";
  const TransportSettings settings{.name = "lying", .place = "deck.yaml:3:5: parallel.transport"};
  EXPECT_EQ(error_of([&] {
              links({lying, good, mock}, settings);
            }),
            "deck.yaml:3:5: parallel.transport: transport 'lying' does not work between ranks 0 and 1 (1 of "
            "20 cells arrived wrong); use auto, or another of: good");
  EXPECT_EQ(error_of([&] { links({missing}, {}); }),
            "parallel.transport: no transport works between ranks 0 and 1 (missing: not in this build); look "
            "at the MPI library and the network between them");
}

TEST_P(HaloLinks, ANameThatIsNotInTheTableIsRefused) {
  if (alone()) GTEST_SKIP() << "nothing is exchanged";
  EXPECT_EQ(error_of([&] {
              links({good, mock}, {.name = "goood"});
            }),
            "parallel.transport: there is no transport 'goood' (isotherm list names them); use auto, or one "
            "of: good");
}
ISOTHERM_ON_EACH_BACKEND(HaloLinks);

}  // namespace
}  // namespace isotherm
