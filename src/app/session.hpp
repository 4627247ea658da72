// The plan of a run, by arithmetic before any work: the deck, owners of cells, devices, memory, files.
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
#include "output/records/run_record.hpp"

namespace isotherm {

// The assignment of GPUs to ranks, from the GPUs that each rank sees. Arithmetic only: no MPI, no device.

// The host and the GPUs that one rank sees.
struct RankSight {
  std::string host;               // the name of the machine, or of the rank's container
  int memory_group = 0;           // the lowest rank that MPI lets share memory with this one
  std::vector<std::string> gpus;  // in the order in which the rank counts them, by UUID
  std::string why_none;           // why `gpus` is empty
  bool mps = false;               // NVIDIA's multi-process service runs: ranks on one GPU work at once
};

struct DeviceMap {
  std::vector<int> gpu;      // by rank: position in its `gpus`
  std::vector<int> sharers;  // by rank: ranks on its GPU, itself among them
  int most_sharers = 1;
  std::vector<std::string> notes;     // about sharing that the user seems to intend
  std::vector<std::string> warnings;  // about placements that cost time
};

// Empty when every rank sees a GPU; else the problem, for a message, by the first rank that sees none: "no
// CUDA device (why)", or "rank 3 on node1 has no CUDA device (why) and 7 ranks of 8 have one".
std::string why_not_on_gpus(const std::vector<RankSight>& ranks);

// Assigns ranks in order, each to the GPU with the fewest ranks among those that it sees, the first of
// equals. Ranks move to other GPUs that they see as long as this makes the load more even: the optimal
// semi-matchings of Harvey, Ladner, Lovasz and Tamir (2003). Only the UUID identifies a GPU, as MPI may find
// no shared memory between ranks of a machine. `sharing_intended`: several ranks per GPU cause no warning as
// long as no GPU is idle. Every rank must see at least one.
DeviceMap map_devices(const std::vector<RankSight>& ranks, bool sharing_intended);

// The host on which a run computes. either: this one, unless GPUs are required and this host has none.
enum class Host { this_one, another, either };
ISOTHERM_WORDS(Host, "this", "another", "either");

// Stores in the deck the fingerprints or hashes of its dataset files, so that a restart, a study and --from
// detect other files. Throws Error(deck) if the deck has other ones. Skips files that cannot be read: the
// code that reads their cells reports this error. With `world` collective: only the root reads the files,
// which may be large.
void record_contents(Config& config);
void record_contents(Config& config, const Communicator& world);

struct PlannedBackend {
  Backend backend = Backend::host;
  Host host = Host::this_one;  // another: its GPUs cannot be queried from here
};

struct Placement : PlannedBackend {
  int device_index = -1;              // of this rank; -1 on the host
  int ranks_on_device = 1;            // that share this rank's GPU, or its host when it computes on the CPU
  std::vector<RankInfo> ranks;        // all of them: host and threads, and their GPUs
  std::string note;                   // why the CPU is used although not requested; how GPUs are shared
  std::vector<std::string> warnings;  // about placements that cost time
};

// Collective; opens no device. Throws CollectiveError(unavailable) if the deck asks for a device that is
// missing, or for fewer ranks per GPU. `allowed`: in a plan, which may be made on another host than the run,
// the GPUs that the deck or `wants_gpus` requires may be those of another host, one for each rank.
Placement place_ranks(const Config& config, const Communicator& world, int threads,
                      Host allowed = Host::this_one, bool wants_gpus = false);

// The backend of a rank that sees these devices. Throws like place_ranks().
PlannedBackend planned_backend(const Config& config, const CudaDevices& found, Host allowed);

std::string place_text(const RankInfo& rank);  // "CPU", or the GPU and its number

std::unique_ptr<Device> open_device(const Placement& placement);

// Bytes of one rank. On the CPU everything is host memory.
struct MemoryPlan {
  std::size_t field = 0;           // one field, ghosts and padding included
  std::size_t fields = 0;          // all of the solver: two, sources, materials, coarse grids, stages
  std::size_t halo = 0;            // packed ghosts, both ways
  std::size_t norms = 0;           // partial results of norms
  std::size_t queues = 0;          // LaunchMemory of kernels, always in host memory
  std::size_t mirror = 0;          // CUDA: the field in host memory for output, and staging
  std::size_t writing = 0;         // buffers for the cells of the file being written, always in host memory
  std::size_t copies = 0;          // of cells that are written during sweeps, always in host memory
  std::size_t initialising = 0;    // datasets of `initial` or `sources`, in fp64, while they are set
  std::size_t copy_bandwidth = 0;  // the bandwidth measurement; freed before the fields are allocated
  std::size_t program = 0;         // this process before it allocates a field, measured
  std::size_t device() const { return std::max(fields + halo + norms, copy_bandwidth); }
  std::size_t host(Backend backend) const {
    const std::size_t passing = std::max(writing + copies, initialising);
    return program + (backend == Backend::host
                          ? std::max(fields + halo + norms + queues + passing, copy_bandwidth)
                          : mirror + passing);
  }
};

// The memory of one rank; `sharers` ranks share its host or GPU. On a GPU of another host, norms are omitted.
MemoryPlan plan_memory(const Config& config, int ranks, int rank, PlannedBackend where, int sharers);

struct FileGroup {   // the files of one series, or checkpoints
  std::string name;  // "deck_*.hdf"
  std::int64_t files = 0;
  double bytes_each = 0;  // of the cells, before they are compressed
  double bytes() const { return bytes_each * static_cast<double>(files); }
};
std::vector<FileGroup> plan_files(const Config& config);
// Checkpoints on the disk at the same time: those that are kept, and the next while it is written.
FileGroup plan_checkpoints(const Config& config);

std::string domain_sizes(const Config& config);  // "20 x 20 x 4 mm, cells of 1 x 1 x 1 mm to 1 x 1 x 2 mm"

// On the process grid of the deck, or on the cheapest for this backend.
Decomposition decompose(const Config& config, int ranks, Backend backend);

// The estimated cost of a sweep of the deck on one process grid, and on all, the cheapest first.
SweepCost estimate(const Config& config, Int3 process_grid, Backend backend);
std::vector<EstimatedGrid> weigh_process_grids(const Config& config, int ranks, Backend backend);

// Collective. Throws CollectiveError(memory), with the table, where the ranks of a host or of a GPU need more
// than is free.
void check_memory(const MemoryPlan& mine, const Placement& placement, const Communicator& world);

std::string memory_table(const MemoryPlan& plan, Backend backend);  // lines: bytes by purpose

// Bytes of each of the two arrays between which a rank copies to measure its bandwidth. `moved`: bytes that
// all sweeps of the run move. `sharers`: ranks that share its host or GPU and copy at the same time.
std::size_t copy_probe_bytes(std::size_t field_bytes, double moved, Backend backend, int sharers);

// Calls body(T{}) for the number type T of that precision.
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

// Estimated seconds of the sweeps of all cases, if all ranks together copy `copy_bandwidth` bytes per second.
double predicted_seconds(const Session& session, double copy_bandwidth);

// The words before these seconds, such as "at most": sweeps may be only bounded, steps may be divided.
const char* predicted_as(const Session& session);

// Collective. Rank 0 reads the deck, every rank parses the same bytes. Runs, on all ranks, all checks that
// need no field. CollectiveError(internal): the ranks differ in their binaries or arguments.
Session plan_session(const CommandLine& command, const Communicator& world);

// With several materials, sets the limits of time steps or, if steady, the slowest mode, for which all cells
// are read: by this process alone, without MPI; or, collective, by all ranks.
void check_all_cells(Config& config);
void check_all_cells(Config& config, const Communicator& world);

// The deck itself, or the grids of its series. Throws Error(deck) if an axis of a grid would not have a whole
// number of cells, or if the grid of the deck is a single cell.
std::vector<Config> cases_of(const Config& config);
// The same, after all checks that need no device, rank count or field; these throw Error.
std::vector<Config> sound_cases(const Config& config);
// Throws Error(deck) if solver.tuning_file is another kind of file, Error(io) if it cannot be read.
void check_tuning_file(const Config& config);
// Runs the checks that need a rank count and a backend; they throw Error. For another host, whose devices
// cannot be queried, only those that are alike on all hosts: the thickness of subdomains, the process grid.
void validate_on(const Config& config, int ranks, PlannedBackend where);

// Throws Error(unavailable) if the device cannot use the transport that the deck names.
void validate_transport(const Config& config, const Device& device);

// Collective. If the deck does not set solver.halo_width, reduces the ghost layers until the fields fit.
// Throws as check_memory() where they do not.
void fit_ghosts(Session& session, const Communicator& world);

// Does the transport move data? If not, the field is invalid and has no fingerprint.
bool moves_data(const Config& config);

}  // namespace isotherm
