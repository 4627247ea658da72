#include "halo/packed_transport.hpp"

#include <algorithm>

#include "kernels/face_copy.hpp"

namespace isotherm {
namespace {

constexpr std::size_t buffer_alignment = 128;  // bytes

template <class T>
class PackedTransport final : public Transport<T> {
 public:
  // Throws Error(memory) where the buffers do not fit.
  PackedTransport(Device& device, std::span<const HaloMessage> messages, const Wires& wires)
      : cells_(FaceCopy<T>::on(device.backend())), messages_(messages.begin(), messages.end()) {
    const auto bytes = [](const HaloMessage& m) { return m.cells() * sizeof(T); };
    std::size_t all = 0, at = 0;
    for (const HaloMessage& m : messages) all += round_up(bytes(m), buffer_alignment);
    sent_ = Buffer(device, all);
    received_ = Buffer(device, all);
    for (const HaloMessage& m : messages) {
      packed_.push_back({m.peer, send_tag(m), receive_tag(m), sent_.as<std::byte>() + at,
                         received_.as<std::byte>() + at, bytes(m)});
      at += round_up(bytes(m), buffer_alignment);
    }
    wire_ = wires.make(packed_);
  }

  void send(FieldView<T> field, Stream stream) override {
    this->measure(Phase::pack, [&] {
      for (std::size_t i = 0; i < messages_.size(); ++i)
        cells_.pack(field, messages_[i].edge, static_cast<T*>(packed_[i].send), stream);
    });
    this->measure(Phase::wire, [&] { wire_->send(stream); });
  }

  void receive(FieldView<T> field, Stream stream) override {
    this->measure(Phase::wire, [&] { wire_->receive(stream); });
    this->measure(Phase::unpack, [&] {
      for (std::size_t i = 0; i < messages_.size(); ++i)
        cells_.unpack(static_cast<const T*>(packed_[i].receive), field, messages_[i].ghosts, stream);
    });
  }

  bool arrived() override { return wire_->arrived(); }
  void abandon() noexcept override { wire_->abandon(); }
  bool recordable() const override { return wire_->recordable(); }

 private:
  const FaceCopy<T>& cells_;
  std::vector<HaloMessage> messages_;
  Buffer sent_, received_;           // one message after the other
  std::vector<WireMessage> packed_;  // by message
  std::unique_ptr<Wire> wire_;
};

// Ghosts are unpacked from memory that is set to 0 once, so that no sweep reads an accidental NaN.
class MockWire final : public Wire {
 public:
  MockWire(Device& device, std::span<const WireMessage> messages) {
    const Owned<Stream> stream = own_stream(device, Priority::normal);
    for (const WireMessage& m : messages) {
      const Buffer zeros(device, m.bytes, Memory::staging);
      std::fill_n(zeros.as<std::byte>(), m.bytes, std::byte{0});
      device.copy(m.receive, zeros.data(), m.bytes, stream);
      device.synchronize(stream);
    }
  }
  void send(Stream) override {}
  void receive(Stream) override {}
  bool recordable() const override { return true; }
};

}  // namespace

std::unique_ptr<Wire> make_mock_wire(Device& device, const Communicator&,
                                     std::span<const WireMessage> messages) {
  return std::make_unique<MockWire>(device, messages);
}

template <class T>
TransportMaker<T> packed_transports(Device& device, Wires wires) {
  const auto connect = [&device, wires](auto, std::span<const HaloMessage> messages) {
    return std::make_unique<PackedTransport<T>>(device, messages, wires);
  };
  return {connect, wires.why_broken};
}

template TransportMaker<float> packed_transports(Device&, Wires);
template TransportMaker<double> packed_transports(Device&, Wires);

}  // namespace isotherm
