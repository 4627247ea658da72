// The group /isotherm/checkpoint of a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/config.hpp"
#include "output/field_files/hdf5_file.hpp"

namespace isotherm {

// What a run must know beside its field to go on as if it had never stopped.
struct CheckpointState {
  static constexpr std::int64_t newest_version = 2;  // 1: knows nothing of stagnation

  std::optional<double> first_residual, last_residual;  // K
  std::int64_t last_checked = 0;                        // the sweep of last_residual; 0 without one
  std::int64_t checks = 0;
  // A asynchronous check whose turn comes when next something is due: its sweep, 0 without one, and its
  // residual.
  std::int64_t pending_sweep = 0;
  std::optional<double> pending_residual;
  // Of a steady problem: the lowest residual, K, and its sweep, and whether the run ended as no lower one
  // came.
  std::optional<double> lowest_residual;
  std::int64_t lowest_sweep = 0;
  bool stagnated = false;
  std::optional<Interval> histogram_range;  // K, of the bins
  double wall = 0;                          // s, as history.csv counts it
  double dt = 0;                            // s; 0 in a steady problem

  friend bool operator==(const CheckpointState&, const CheckpointState&) = default;
};

// `id`: of the group that the file has of its own.
void write_checkpoint_state(hid_t id, const CheckpointState& state, const std::string& path);
// Throws Error(deck) where an attribute is missing or wrong, or the version is newer than this program.
CheckpointState read_checkpoint_state(hid_t id, const std::string& path);

}  // namespace isotherm
