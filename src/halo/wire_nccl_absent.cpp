// Replaces wire_nccl.cpp in a build without NCCL.
#include "core/error.hpp"
#include "halo/packed_transport.hpp"

namespace isotherm {

std::string why_no_nccl(const Device&) { return "this build has no NCCL"; }

Wires open_nccl_wires(Device& device, const Communicator&) {
  throw Error(ExitCode::unavailable, why_no_nccl(device));
}

}  // namespace isotherm
