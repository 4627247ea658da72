// What is settled before any work of a run: the deck, who owns which cells, and where they are computed.
#pragma once

#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "app/placement.hpp"
#include "app/plan.hpp"
#include "config/config.hpp"
#include "config/deck.hpp"
#include "core/communicator.hpp"
#include "core/host_threads.hpp"
#include "grid/decomposition.hpp"
#include "output/records/run_record.hpp"

namespace isotherm {

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

// Collective. Rank 0 reads the deck, every rank parses the same bytes. What can be rejected without a field
// or a device is rejected here, on all ranks alike; ranks with another binary or other arguments too:
// CollectiveError(internal).
Session plan_session(const CommandLine& command, const Communicator& world);

// The deck alone, or the grids of its series. Throws Error for what can be rejected without a device, a rank
// count and a field.
std::vector<Config> sound_cases(const Config& config);
// The same for what needs both; opens no device.
void validate_on(const Config& config, int ranks, Backend backend);

// Where the device has no use for the transport that the deck names. Throws Error(unavailable).
void validate_transport(const Config& config, const Device& device);

// Of this rank in the largest case; with --ranks, of one that the job would have.
MemoryPlan memory_of(const Session& session, const Communicator& world);

// Collective. Where solver.halo_width is open, fewer layers of ghosts for the autotuner to try, if the memory
// of the devices holds no more.
void fit_ghosts(Session& session, const Communicator& world);

// Without it nothing that the field holds is worth a fingerprint.
bool moves_data(const Config& config);

}  // namespace isotherm
