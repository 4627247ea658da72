// Which rank computes where.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "output/records/run_record.hpp"

namespace isotherm {

// Which GPU each rank takes, from what each rank sees. Arithmetic only: no MPI, no device.

// What one rank sees of the machine that it runs on.
struct RankSight {
  std::string host;               // the name of the machine, or of the rank's container
  int memory_group = 0;           // the lowest rank that MPI lets share memory with this one
  std::vector<std::string> gpus;  // in the order in which the rank counts them, by UUID
  std::string why_none;           // the reason, where there are none
  bool mps = false;               // NVIDIA's multi-process service runs: ranks on one GPU work at once
};

struct DeviceMap {
  std::vector<int> gpu;      // by rank: position in its `gpus`
  std::vector<int> sharers;  // by rank: ranks on its GPU, itself among them
  int most_sharers = 1;
  std::vector<std::string> notes;     // what is as the user seems to want it
  std::vector<std::string> warnings;  // what costs time
};

// Empty when every rank sees a GPU; else the problem, for a message, by the first rank that sees none: "no
// CUDA device (why)", or "rank 3 on node1 has no CUDA device (why) and 7 ranks of 8 have one".
std::string why_not_on_gpus(const std::vector<RankSight>& ranks);

// Ranks are dealt out in their order, each to the GPU with the fewest ranks of those that it sees, the first
// of equals; where that one is taken, those on it move to others that they see, as long as this makes the
// load more even. What identifies a GPU is its UUID alone: where MPI finds no shared memory between ranks of
// a machine (a container or control group each), a rank on the host is always rank 0, and every rank would
// take the first GPU. Every rank sees at least one.
// Method: the optimal semi-matchings of Harvey, Ladner, Lovasz and Tamir (2003), so that no other dealing has
// a lower highest load. `sharing_intended`: several ranks per GPU are no reason to warn, as long as none
// idles.
DeviceMap map_devices(const std::vector<RankSight>& ranks, bool sharing_intended);

// On which a run computes; either: on this one, unless it asks for GPUs that are not here.
enum class Host { this_one, another, either };
ISOTHERM_WORDS(Host, "this", "another", "either");

struct Seat {
  Backend backend = Backend::host;
  Host host = Host::this_one;  // another: GPUs that are not here; nothing can be asked of them
};

struct Placement : Seat {
  int device_index = -1;        // of this rank; -1 on the host
  int ranks_on_device = 1;      // that share this rank's GPU, or its host when it computes on the CPU
  std::vector<RankInfo> ranks;  // all of them: host and threads, and their GPUs
  std::string note;             // why the CPU was taken, where it was not asked for; how GPUs are shared
  std::vector<std::string> warnings;  // what of it costs time
};

// Collective; opens no device. Throws CollectiveError(unavailable) when the deck asks for a device that is
// not there, or for fewer ranks per GPU. `allowed`: of a plan, made where no run has to be, GPUs that the
// deck asks for, or else `wants_gpus`, may be those of another host, one for each rank.
Placement place_ranks(const Config& config, const Communicator& world, int threads,
                      Host allowed = Host::this_one, bool wants_gpus = false);

// Where a rank that sees these would compute. Throws as place_ranks().
Seat seat_among(const Config& config, const CudaDevices& found, Host allowed);

std::string place_text(const RankInfo& rank);  // "CPU", or the GPU and its number

std::unique_ptr<Device> open_device(const Placement& placement);

}  // namespace isotherm
