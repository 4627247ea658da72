#include "halo/wire_nccl.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "halo/ranks_nccl.hpp"

namespace isotherm {
namespace {

// The sender's tags give both sides one order, whatever theirs is: around a periodic axis of two parts each
// rank's first message is the other's second.
NcclGroup group_of(std::span<const WireMessage> messages) {
  std::vector<WireMessage> sorted(messages.begin(), messages.end());
  const auto by = [&](auto tag) {
    std::sort(sorted.begin(), sorted.end(), [&](const WireMessage& a, const WireMessage& b) {
      return std::tuple(a.peer, a.*tag) < std::tuple(b.peer, b.*tag);
    });
  };
  NcclGroup group;
  by(&WireMessage::send_tag);
  for (const WireMessage& m : sorted) group.sends.push_back({m.peer, const_cast<void*>(m.send), m.bytes});
  by(&WireMessage::receive_tag);
  for (const WireMessage& m : sorted) group.receives.push_back({m.peer, m.receive, m.bytes});
  return group;
}

class NcclWire final : public Wire {
 public:
  NcclWire(std::shared_ptr<NcclRanks> ranks, std::span<const WireMessage> messages)
      : ranks_(std::move(ranks)), group_(group_of(messages)) {}

  void send(Stream stream) override { ranks_->exchange(group_, stream); }
  void receive(Stream) override { ranks_->check(); }
  bool arrived() override { return true; }  // the stream waits, not the host
  void abandon() noexcept override { ranks_->abort(); }
  bool recordable() const override { return true; }

 private:
  std::shared_ptr<NcclRanks> ranks_;
  NcclGroup group_;
};

class NcclWires final : public WireMaker {
 public:
  NcclWires(Device& device, const Communicator& communicator)
      : device_(device), ranks_(shared_nccl_ranks(device, communicator)) {}
  std::unique_ptr<Wire> make(std::span<const WireMessage> messages) override {
    std::set<int> peers;
    for (const WireMessage& m : messages) peers.insert(m.peer);
    ranks_->meet(device_, std::move(peers));
    return std::make_unique<NcclWire>(ranks_, messages);
  }
  std::string why_broken() const override {
    return ranks_->aborted() ? "NCCL failed between other ranks, and had to be given up between all" : "";
  }

 private:
  Device& device_;
  std::shared_ptr<NcclRanks> ranks_;
};

}  // namespace

std::string why_no_nccl(const Device& device) {
  return device.backend() == Backend::host ? "needs a GPU" : "";
}

std::unique_ptr<WireMaker> open_nccl_wires(Device& device, const Communicator& communicator) {
  return std::make_unique<NcclWires>(device, communicator);
}

}  // namespace isotherm
