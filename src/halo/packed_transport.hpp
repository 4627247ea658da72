// A transport of packed messages: a kernel packs each edge into a dense buffer, a wire carries it, a kernel
// unpacks it into the peer's ghosts.
#pragma once

#include "halo/transport.hpp"
#include "halo/wire.hpp"

namespace isotherm {

// For the table of rows: a transport of the wires that `wires` makes.
template <class T>
std::unique_ptr<TransportMaker<T>> packed_transports(Device& device, std::unique_ptr<WireMaker> wires);

// Of a wire that any two ranks can share.
using MakeWire = std::unique_ptr<Wire> (*)(Device&, const Communicator&, std::span<const WireMessage>);
template <class T, MakeWire make_wire>
std::unique_ptr<TransportMaker<T>> packed_transports(Device& device, const Communicator& communicator) {
  class Wires final : public WireMaker {
   public:
    Wires(Device& its_device, const Communicator& its_communicator)
        : device_(its_device), communicator_(its_communicator) {}
    std::unique_ptr<Wire> make(std::span<const WireMessage> messages) override {
      return make_wire(device_, communicator_, messages);
    }

   private:
    Device& device_;
    const Communicator& communicator_;
  };
  return packed_transports<T>(device, std::make_unique<Wires>(device, communicator));
}

// Of wires whose ranks meet once, beforehand. Collective; throws where all ranks have to do without.
using OpenWires = std::unique_ptr<WireMaker> (*)(Device&, const Communicator&);
template <class T, OpenWires open_wires>
std::unique_ptr<TransportMaker<T>> opened_transports(Device& device, const Communicator& communicator) {
  return packed_transports<T>(device, open_wires(device, communicator));
}

}  // namespace isotherm
