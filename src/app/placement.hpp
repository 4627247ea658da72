// Which rank computes where.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"

namespace isotherm {

struct RankPlace {
  std::string host, device, uuid;
  int threads = 1;
};

struct Placement {
  Backend backend = Backend::host;
  int device_index = -1;         // of this rank; -1 on the host
  int ranks_on_device = 1;       // that share this rank's GPU, or its host when it computes on the CPU
  std::vector<RankPlace> ranks;  // all of them
  std::string note;              // why the CPU was taken, where it was not asked for; how GPUs are shared
  std::vector<std::string> warnings;  // what of it costs time
};

// Collective; opens no device. GPUs are dealt out as app/device_map.hpp says. Throws
// CollectiveError(unavailable) when the deck asks for a device that is not there, or for fewer ranks a GPU.
Placement place_ranks(const Config& config, const Communicator& world, int threads);

// Where a rank that sees these would compute. Throws Error(unavailable) where the deck asks for what is not
// there.
Backend backend_among(const Config& config, const CudaDevices& found);

std::unique_ptr<Device> open_device(const Placement& placement);

}  // namespace isotherm
