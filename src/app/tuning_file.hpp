// solver.tuning_file: what trials have found, so that a study does not try again.
//
// JSON (schema "isotherm-tuning", version 1): a list of entries, each a key and a choice. A key that differs
// in anything from that of the run is another entry's.
#pragma once

#include <optional>
#include <string>

#include "core/box.hpp"

namespace isotherm {

// What a choice depends on.
struct TuningKey {
  std::string version, git_revision;  // of isotherm: its rows change
  std::string device;                 // its name; on the host with instruction set and threads
  std::string precision;              // the deck's word
  Int3 cells;                         // of the largest rank's block
  int ranks = 1;
  int depth = 1;
  bool source = false;
  std::string faces;  // six letters: w where a wall stands, p where the box is periodic
  // solver.kernel, policy, reduction, graph, parallel.overlap; whether the norm is a sum
  std::string asked;

  bool operator==(const TuningKey&) const = default;
};

struct TuningChoice {
  std::string kernel, policy, reduction;
  bool graph = false;
  double seconds = 0;   // a sweep of the trial
  int fused = 1;        // sweeps of a launch
  bool single = false;  // launches that fuse sweeps were not tried: the run was too short
};

// None where there is no such file or no such entry. Throws Error(deck) where the file is no tuning
// file, Error(io) where it cannot be read.
std::optional<TuningChoice> find_tuning(const std::string& path, const TuningKey& key);

// Adds or replaces the entry; the file appears whole or not at all, also where several runs keep theirs at
// once: one of them may then lose its entry, and tries again another time. Throws Error(cannot_create) or
// Error(io).
void keep_tuning(const std::string& path, const TuningKey& key, const TuningChoice& choice);

}  // namespace isotherm
