// How packed messages travel. A transport that packs, sends and unpacks is made of a wire by
// halo/packed_transport.hpp.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/communicator.hpp"
#include "core/device.hpp"

namespace isotherm {

// One message each way between this rank and `peer`. Buffers are in the device's memory and outlive the wire.
// `send_tag` of one side is `receive_tag` of the other; bytes agree.
struct WireMessage {
  int peer;
  int send_tag, receive_tag;
  const void* send;
  void* receive;
  std::size_t bytes;  // each way
};

class Wire {
 public:
  virtual ~Wire() = default;
  // Once an exchange, in this order. `stream` is where the pack kernels before `send` and the unpack kernels
  // after `receive` run. Failures throw Error(internal).
  virtual void send(Stream stream) = 0;     // the packed data is on its way, or queued to be
  virtual void receive(Stream stream) = 0;  // work queued on `stream` after this sees the received data
  virtual bool arrived() = 0;               // as Transport's
  virtual void abandon() noexcept {}
  virtual bool recordable() const { return false; }
};

// What makes the wires of one transport, ready on all ranks.
class WireMaker {
 public:
  virtual ~WireMaker() = default;
  // Called by the ranks of all these messages at about the same time, with one another's messages. Throws
  // where this rank or one of its peers cannot.
  virtual std::unique_ptr<Wire> make(std::span<const WireMessage> messages) = 0;
  virtual std::string why_broken() const { return {}; }  // as TransportMaker's
};

// MPI counts are ints, so long messages travel in pieces. Well below 2^31, where MPI libraries and kernels
// have been caught cutting transfers short.
inline constexpr std::size_t largest_piece = std::size_t{1} << 30;  // bytes
// Pieces of messages that are staged: one is copied while the one before it travels. Long enough that a
// piece's latencies (some 10 us) are a small part of its time at 25 GB/s.
inline constexpr std::size_t staged_piece = std::size_t{2} << 20;  // bytes

// Non-blocking MPI over host memory; device memory is staged through pinned buffers. Not collective. Wires of
// one communicator must be used in the same order on all ranks.
std::unique_ptr<Wire> make_host_wire(Device& device, const Communicator& communicator,
                                     std::span<const WireMessage> messages);
std::unique_ptr<Wire> make_direct_wire(Device& device, const Communicator& communicator,
                                       std::span<const WireMessage> messages,
                                       std::size_t piece_bytes = largest_piece);
std::unique_ptr<Wire> make_staged_wire(Device& device, const Communicator& communicator,
                                       std::span<const WireMessage> messages,
                                       std::size_t piece_bytes = staged_piece);

// The same without staging: for an MPI that takes the device's memory.
std::unique_ptr<Wire> make_mpi_device_wire(Device& device, const Communicator& communicator,
                                           std::span<const WireMessage> messages);

// Moves nothing: what is received is what was there. For measuring what the rest costs.
std::unique_ptr<Wire> make_mock_wire(Device& device, const Communicator& communicator,
                                     std::span<const WireMessage> messages);

}  // namespace isotherm
