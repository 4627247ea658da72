// The transport that stores straight into the neighbours' ghosts, through memory that the ranks of a host
// open for each other by CUDA IPC. The devices order it among themselves (kernels/peer_copy.hpp): no host
// waits.
#pragma once

#include "halo/transport.hpp"

namespace isotherm {

std::string why_no_peer_transport(const Device& device);

template <class T>
std::unique_ptr<TransportMaker<T>> peer_transports(Device& device, const Communicator& communicator);

}  // namespace isotherm
