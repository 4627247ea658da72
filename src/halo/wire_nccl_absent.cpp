#include "core/error.hpp"
#include "halo/wire_nccl.hpp"

namespace isotherm {

std::string why_no_nccl(const Device&) {
  return "this build has no NCCL";
}

std::unique_ptr<WireMaker> open_nccl_wires(Device& device, const Communicator&) {
  throw Error(ExitCode::unavailable, why_no_nccl(device));
}

}  // namespace isotherm
