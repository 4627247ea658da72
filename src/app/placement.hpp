// Which rank computes where.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"

namespace isotherm {

// On which a run computes; either: on this one, unless it asks for GPUs that are not here.
enum class Host { this_one, another, either };

struct RankPlace {
  std::string host, device, uuid;
  int threads = 1;
};

struct Placement {
  Backend backend = Backend::host;
  Host host = Host::this_one;    // another: GPUs that are not here; nothing can be asked of them
  int device_index = -1;         // of this rank; -1 on the host
  int ranks_on_device = 1;       // that share this rank's GPU, or its host when it computes on the CPU
  std::vector<RankPlace> ranks;  // all of them
  std::string note;              // why the CPU was taken, where it was not asked for; how GPUs are shared
  std::vector<std::string> warnings;  // what of it costs time
};

// Collective; opens no device. GPUs are dealt out as app/device_map.hpp says. Throws
// CollectiveError(unavailable) when the deck asks for a device that is not there, or for fewer ranks a GPU.
Placement place_ranks(const Config& config, const Communicator& world, int threads);

// For a plan, made where no run has to be: GPUs that the deck asks for, or else `wants_gpus`, may be those of
// another host, one for each rank. Collective.
Placement plan_ranks(const Config& config, const Communicator& world, int threads, bool wants_gpus);

// Where a rank that sees these would compute. Throws Error(unavailable) where the deck asks for GPUs, none is
// here, and only this host will do.
struct Seat {
  Backend backend = Backend::host;
  Host host = Host::this_one;
};
Seat seat_among(const Config& config, const CudaDevices& found, Host allowed);

std::unique_ptr<Device> open_device(const Placement& placement);

}  // namespace isotherm
