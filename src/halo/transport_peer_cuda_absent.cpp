// Replaces transport_peer_cuda.cpp in a build without CUDA.
#include "core/error.hpp"
#include "halo/transport.hpp"

namespace isotherm {

std::string why_no_peer_transport(const Device&) { return "this build has no CUDA"; }

template <class T>
TransportMaker<T> peer_transports(Device& device, const Communicator&) {
  throw Error(ExitCode::unavailable, why_no_peer_transport(device));
}

template TransportMaker<float> peer_transports(Device&, const Communicator&);
template TransportMaker<double> peer_transports(Device&, const Communicator&);

}  // namespace isotherm
