// Messages by NCCL: all sends and receives of an exchange are one group on the stream of the halos. The host
// only queues them, so that an exchange can be recorded into a graph.
#pragma once

#include <memory>
#include <string>

#include "halo/wire.hpp"

namespace isotherm {

// Why it cannot work in this build or with this device; empty: it may.
std::string why_no_nccl(const Device& device);

// Collective: one communicator of all ranks, which all who open wires between them share (ranks_nccl.hpp).
// Throws, on all ranks alike, where two ranks have one GPU, which NCCL does not allow, where NCCL fails, and
// where it does not come back in time.
std::unique_ptr<WireMaker> open_nccl_wires(Device& device, const Communicator& communicator);

}  // namespace isotherm
