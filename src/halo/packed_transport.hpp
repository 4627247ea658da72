// Transports of packed messages: kernels pack edges and unpack ghosts, a wire carries the buffers.
#pragma once

#include <optional>

#include "halo/transport.hpp"

namespace isotherm {

// One message each way between this rank and `peer`. Buffers are in the device's memory and outlive the wire.
// `send_tag` of one side is `receive_tag` of the other; bytes agree.
struct WireMessage {
  int peer;
  int send_tag, receive_tag;
  void *send, *receive;
  std::size_t bytes;  // each way
};

class Wire {
 public:
  virtual ~Wire() = default;
  // Once per exchange, in this order. `stream` is where the pack kernels before `send` and the unpack kernels
  // after `receive` run. Failures throw Error(internal).
  virtual void send(Stream stream) = 0;     // the packed data is being sent, or queued for that
  virtual void receive(Stream stream) = 0;  // work queued later on `stream` reads the received data
  // As in Transport:
  virtual bool arrived() { return true; }
  virtual void abandon() noexcept {}
  virtual bool recordable() const { return false; }
};

// Makes the wires of one transport, ready on all ranks.
struct Wires {
  // All ranks of these messages call it at about the same time, each with its own side of them. Throws where
  // this rank or one of its peers fails.
  std::function<std::unique_ptr<Wire>(std::span<const WireMessage>)> make;
  std::function<std::string()> why_broken = [] { return std::string(); };  // as TransportMaker's
};
// Wires that any two ranks can share. `more`: arguments after the messages.
template <auto make_wire, auto... more>
Wires wires_of(Device& device, const Communicator& communicator) {
  return {[&](std::span<const WireMessage> messages) {
    return make_wire(device, communicator, messages, more...);
  }};
}

template <class T>
TransportMaker<T> packed_transports(Device& device, Wires wires);
// For the registry of transports. `open_wires` is collective, and throws if it is unavailable on all ranks.
template <class T, Wires (*open_wires)(Device&, const Communicator&)>
TransportMaker<T> packed_transports(Device& device, const Communicator& communicator) {
  return packed_transports<T>(device, open_wires(device, communicator));
}

// MPI counts are ints. The limit is well below 2^31, near which MPI libraries and kernels truncated messages.
inline constexpr std::size_t largest_piece = std::size_t{1} << 30;  // bytes
// Staged pieces: one is copied while another is sent. Each takes longer than latencies (10 us at 25 GB/s).
inline constexpr std::size_t staged_piece = std::size_t{2} << 20;  // bytes

// Non-blocking MPI over host memory; device memory is staged through pinned buffers. Not collective. Wires of
// one communicator must be used in the same order on all ranks.
std::unique_ptr<Wire> make_host_wire(Device& device, const Communicator& communicator,
                                     std::span<const WireMessage> messages);
// Host wires without staging, also for an MPI that accepts device memory; and with staging.
std::unique_ptr<Wire> make_direct_wire(Device& device, const Communicator& communicator,
                                       std::span<const WireMessage> messages,
                                       std::size_t piece_bytes = largest_piece);
std::unique_ptr<Wire> make_staged_wire(Device& device, const Communicator& communicator,
                                       std::span<const WireMessage> messages,
                                       std::size_t piece_bytes = staged_piece);
// Does this MPI accept device memory? If not, MPI crashes at the first pointer, so it is queried before the
// test. Empty: it does; else the reason and a remedy. Not collective.
std::string why_mpi_takes_no_device_memory();
// Decides this by MPI's own answer (none: there is no query), its version text and MPICH_GPU_SUPPORT_ENABLED
// ("" where it is not set), which users of Cray MPICH have to set.
std::string judge_device_memory(std::optional<bool> answer, const std::string& library,
                                std::string_view cray_switch);
// Transfers nothing: received buffers keep their contents. For measuring the cost of packing and unpacking.
std::unique_ptr<Wire> make_mock_wire(Device& device, const Communicator& communicator,
                                     std::span<const WireMessage> messages);

// NCCL: an exchange is one group on the halos' stream, which the host only queues, so it can be recorded.
// Collective: one communicator of all ranks. Throws on all ranks where two ranks share a GPU, where NCCL
// fails, and where it does not return in time.
Wires open_nccl_wires(Device& device, const Communicator& communicator);
std::string why_no_nccl(const Device& device);  // in this build or on this device; empty: it may work

}  // namespace isotherm
