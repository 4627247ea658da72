// MPI reads and writes the packed buffers themselves: host memory, or a GPU's where MPI can.
#include "core/mpi_native.hpp"
#include "halo/mpi_requests.hpp"
#include "halo/wire.hpp"

namespace isotherm {
namespace {

class DirectWire final : public Wire {
 public:
  DirectWire(Device& device, const Communicator& communicator, std::span<const WireMessage> messages,
             std::size_t piece_bytes)
      : device_(device), communicator_(communicator), packed_(own_event(device)) {
    const MPI_Comm comm = communicator_.native().comm;
    for (const WireMessage& m : messages) {
      for_each_piece(m.bytes, piece_bytes, [&](std::size_t offset, std::size_t bytes) {
        sends_.add(at(m.send, offset), bytes, m.peer, m.send_tag, comm);
        receives_.add(at(m.receive, offset), bytes, m.peer, m.receive_tag, comm);
      });
    }
  }

  // On a GPU the host does not wait here for the packs: it has the interior to queue.
  void send(Stream stream) override {
    device_.record(packed_, stream);
    started_ = false;
    start_if_packed();
  }

  bool arrived() override {
    if (!started_) start_if_packed();
    return started_ && receives_.test_all() && sends_.test_all();
  }

  void receive(Stream) override {
    if (!started_) {
      device_.synchronize(packed_);
      start();
    }
    receives_.wait_all();
    sends_.wait_all();  // the next pack may overwrite them
  }

 private:
  void start_if_packed() {
    if (device_.passed(packed_)) start();
  }
  // Behind `packed_`, and so behind the unpacks of the exchange before: messages may arrive.
  void start() {
    receives_.start();
    sends_.start();
    started_ = true;
  }

  Device& device_;
  Communicator communicator_;  // keeps the MPI_Comm of the requests alive
  Owned<Event> packed_;
  bool started_ = false;
  Requests sends_{Requests::Way::send}, receives_{Requests::Way::receive};
};

}  // namespace

std::unique_ptr<Wire> make_direct_wire(Device& device, const Communicator& communicator,
                                       std::span<const WireMessage> messages, std::size_t piece_bytes) {
  return std::make_unique<DirectWire>(device, communicator, messages, piece_bytes);
}

std::unique_ptr<Wire> make_mpi_device_wire(Device& device, const Communicator& communicator,
                                           std::span<const WireMessage> messages) {
  return make_direct_wire(device, communicator, messages);
}

std::unique_ptr<Wire> make_host_wire(Device& device, const Communicator& communicator,
                                     std::span<const WireMessage> messages) {
  if (device.backend() == Backend::host) return make_direct_wire(device, communicator, messages);
  return make_staged_wire(device, communicator, messages);
}

}  // namespace isotherm
