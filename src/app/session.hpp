// What arithmetic settles before any work of a run: the deck, owners of cells, devices, memory, files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "config/config.hpp"
#include "config/deck.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/host_threads.hpp"
#include "grid/decomposition.hpp"
#include "grid/process_grid.hpp"
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

// Ranks are dealt out in order, each to the GPU with the fewest ranks of those that it sees, the first of
// equals; ranks move to other GPUs that they see as long as this makes the load more even: the optimal
// semi-matchings of Harvey, Ladner, Lovasz and Tamir (2003). A GPU is its UUID alone, as MPI may find no
// shared memory between ranks of a machine. `sharing_intended`: several ranks per GPU are no reason to warn,
// as long as none idles. Every rank sees at least one.
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

// Bytes of one rank. On the CPU everything is host memory.
struct MemoryPlan {
  std::size_t field = 0;           // one field, ghosts and padding included
  std::size_t fields = 0;          // the two fields, and the source
  std::size_t halo = 0;            // packed ghosts, both ways
  std::size_t norms = 0;           // what the reduction leaves on its way to a norm
  std::size_t queues = 0;          // what launches keep from one to the next, always in host memory
  std::size_t mirror = 0;          // CUDA: the field in host memory for output, and staging
  std::size_t writing = 0;         // the cells of one file on their way to it, always in host memory
  std::size_t copies = 0;          // of cells that are written while sweeps go on, always in host memory
  std::size_t initialising = 0;    // datasets of `initial` or `sources`, in fp64, while they are set
  std::size_t copy_bandwidth = 0;  // the bandwidth measurement; given back before the fields are made
  std::size_t program = 0;         // this process before it allocates a field, measured
  std::size_t device() const { return std::max(fields + halo + norms, copy_bandwidth); }
  std::size_t host(Backend backend) const {
    const std::size_t passing = std::max(writing + copies, initialising);
    return program + (backend == Backend::host
                          ? std::max(fields + halo + norms + queues + passing, copy_bandwidth)
                          : mirror + passing);
  }
};

// Of one rank; `sharers` share its host or GPU. What norms take on another host's GPU is not known.
MemoryPlan plan_memory(const Config& config, int ranks, int rank, Seat seat, int sharers);

struct FileGroup {   // the files of one series, or checkpoints
  std::string name;  // "deck_*.hdf"
  std::int64_t files = 0;
  double bytes_each = 0;  // of the cells, before they are compressed
  double bytes() const { return bytes_each * static_cast<double>(files); }
};
std::vector<FileGroup> plan_files(const Config& config);
// Checkpoints on the disk at once: those that stay, and the next while it is written.
FileGroup plan_checkpoints(const Config& config);

std::string domain_sizes(const Config& config);  // "20 x 20 x 4 mm, cells of 1 x 1 x 1 mm to 1 x 1 x 2 mm"

// On the process grid of the deck, or on the cheapest for this backend.
Decomposition decompose(const Config& config, int ranks, Backend backend);

// What a sweep of the deck costs on a process grid, and on all, the cheapest first, by estimate.
ExchangeWeights exchange_weights(const Config& config, Backend backend);
SweepCost estimate(const Config& config, Int3 process_grid, Backend backend);
std::vector<EstimatedGrid> weigh_process_grids(const Config& config, int ranks, Backend backend);

// Collective. Throws CollectiveError(memory), with the table, where the ranks of a host or of a GPU need more
// than is free.
void check_memory(const MemoryPlan& mine, const Placement& placement, const Communicator& world);

std::string memory_table(const MemoryPlan& plan, Backend backend);  // lines: bytes by purpose

// Bytes of each of the two arrays between which a rank with fields of this size, whose sweeps move so many
// bytes in all, measures its copy bandwidth, at the same time as the others that share its host, or its GPU.
std::size_t copy_probe_bytes(std::size_t field_bytes, double moved, Backend backend, int sharers);

// Calls body(T{}) for the number of that precision.
template <class Body>
auto with_number(Precision precision, const Body& body) {
  return precision == Precision::fp32 ? body(float{}) : body(double{});
}

struct LoadedDeck {
  std::string text;  // as in the file; with --from, the resolved deck within it
  Config config;
};

RegistryNames registry_names();  // of this build

struct Session {
  LoadedDeck deck;
  std::vector<Config> cases;  // the deck alone, or its series, coarse to fine
  ThreadPlan threads;
  Decomposition decomposition;
  Placement placement;
  MemoryPlan memory;  // of this rank in the largest case, planned before anything large was allocated
};

// s, of the sweeps of all cases, by estimate, where all ranks together copy so many bytes per second.
double predicted_seconds(const Session& session, double copy_bandwidth);

// Collective. Rank 0 reads the deck, every rank parses the same bytes. Rejects on all ranks what needs no
// field or device, and ranks of another binary or other arguments: CollectiveError(internal).
Session plan_session(const CommandLine& command, const Communicator& world);

// What of several materials takes all cells, the limits of steps or the slowest mode: of this process alone,
// without MPI; or, collective, of all ranks.
void look_at_cells(Config& config);
void look_at_cells(Config& config, const Communicator& world);

// The deck itself, or the grids of its series. Throws Error(deck) where an axis of one would not get a whole
// number of cells, or there is only one.
std::vector<Config> cases_of(const Config& config);
// The same. Throws Error for what can be rejected without a device, a rank count and a field.
std::vector<Config> sound_cases(const Config& config);
// The same for what needs both; opens no device.
void validate_on(const Config& config, int ranks, Backend backend);

// Where the device has no use for the transport that the deck names. Throws Error(unavailable).
void validate_transport(const Config& config, const Device& device);

// Collective. Fewer layers of ghosts for an open solver.halo_width where devices have too little memory.
void fit_ghosts(Session& session, const Communicator& world);

// Without it nothing that the field holds is worth a fingerprint.
bool moves_data(const Config& config);

}  // namespace isotherm
