// solver.tuning_file: the results of the autotuner, so that a study does not measure again.
//
// JSON (schema "isotherm-tuning", version 2): a list of entries, each a key and a choice.
#pragma once

#include <optional>
#include <string>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "grid/decomposition.hpp"
#include "output/records/run_record.hpp"

namespace isotherm {

// The facts on which a choice depends.
struct TuningKey {
  std::string version, git_revision;  // of isotherm: its kernels change
  std::string device;                 // its name; on the host with instruction set and threads
  std::string precision;              // the deck's keyword
  Int3 cells;                         // of the largest rank's subdomain
  int ranks = 1;
  bool source = false;
  std::string faces;  // six letters: w a boundary, p periodic
  // solver.kernel, tile, reduction, cuda_graph, halo_width, time_block, parallel.overlap; whether the norm is
  // a sum
  std::string asked;

  bool operator==(const TuningKey&) const = default;
};

struct TuningChoice : StepRecord {
  double seconds = 0;    // of a sweep
  double measured = 0;   // s that the autotuner took
  bool complete = true;  // no candidate was omitted for lack of time
};

// s that measurements may take, by the time of a sweep: solver.tuning_budget, or 5 % of the run if less.
double tuning_seconds(const Config& config, double sweep_seconds);

TuningKey tuning_key(const Config& config, const Decomposition& decomposition, const Device& device,
                     int threads);

// None without such a file or entry. Throws Error(deck) for another kind of file, Error(io) if unreadable.
std::optional<TuningChoice> find_tuning(const std::string& path, const TuningKey& key);

// Collective; rank 0 reads the file. Returns the entry, unless candidates were omitted for lack of time and
// this run has twice the time. A file that cannot be read, or of another kind, is an error of all ranks.
std::optional<TuningChoice> recall_tuning(const Config& config, const TuningKey& key,
                                          const Communicator& world);

// Adds or replaces the entry; the file, behind links, is replaced as a whole or not at all. Runs that write
// at the same time wait for a lock of its name with `.lock`. Throws Error(cannot_create) or Error(io).
void keep_tuning(const std::string& named, const TuningKey& key, const TuningChoice& choice);

}  // namespace isotherm
