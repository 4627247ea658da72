// The one interface to a way of moving packed halos between ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/communicator.hpp"
#include "core/device.hpp"

namespace isotherm {

// One message each way between this rank and `peer`. Buffers are in the device's memory and live as long as
// the transport. `send_tag` of one side is `receive_tag` of the other; bytes agree.
struct HaloMessage {
  int peer;
  int send_tag, receive_tag;
  const void* send;
  void* receive;
  std::size_t bytes;  // each way
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Once an exchange, in this order. `stream` is where the pack kernels before `send` and the unpack kernels
  // after `wait` run. Failures throw Error(internal).
  virtual void post() = 0;               // receives may arrive from now on
  virtual void send(Stream stream) = 0;  // the packed data is on its way, or queued to be
  virtual void wait(Stream stream) = 0;  // work queued on `stream` after this sees the received data
};

// MPI counts are ints, so long messages travel in pieces. Well below 2^31, where MPI libraries and kernels
// have been caught cutting transfers short.
inline constexpr std::size_t largest_piece = std::size_t{1} << 30;  // bytes

// Non-blocking MPI over host memory; device memory is staged through pinned buffers. Not
// collective. Transports of one communicator must be used in the same order on all ranks.
std::unique_ptr<Transport> make_host_transport(Device& device, const Communicator& communicator,
                                               std::span<const HaloMessage> messages,
                                               std::size_t piece_bytes = largest_piece);

}  // namespace isotherm
