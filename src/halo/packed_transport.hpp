// A transport of packed messages: a kernel packs each edge into a dense buffer, a wire carries it, a kernel
// unpacks it into the peer's ghosts.
#pragma once

#include "halo/transport.hpp"
#include "halo/wire.hpp"

namespace isotherm {

using MakeWire = std::unique_ptr<Wire> (*)(Device&, const Communicator&, std::span<const WireMessage>);

// Allocates the buffers of all messages; throws Error(memory).
template <class T>
std::unique_ptr<Transport<T>> make_packed_transport(Device& device, const Communicator& communicator,
                                                    std::span<const HaloMessage> messages,
                                                    MakeWire make_wire);

// Of a wire that any two ranks can share. For the table of rows.
template <class T, MakeWire make_wire>
std::unique_ptr<TransportMaker<T>> packed_transports(Device& device, const Communicator& communicator) {
  class Maker final : public TransportMaker<T> {
   public:
    Maker(Device& device, const Communicator& communicator) : device_(device), communicator_(communicator) {}
    std::unique_ptr<Transport<T>> connect(std::span<const HaloField<T>>,
                                          std::span<const HaloMessage> messages) override {
      return make_packed_transport<T>(device_, communicator_, messages, make_wire);
    }

   private:
    Device& device_;
    const Communicator& communicator_;
  };
  return std::make_unique<Maker>(device, communicator);
}

}  // namespace isotherm
