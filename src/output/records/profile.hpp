// Where the time of each rank goes, for `run --profile`: the phases of a run, and the parts of those in its
// loop.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/communicator.hpp"

namespace isotherm {

struct RankRow;

// In seconds of a rank's wall clock. Those from `interior` to `other` add up to `loop`.
enum class Part : int {
  setup,        // before the loop, as Phase::setup
  interior,     // sweeps beside exchanges: cells that need no ghost of another rank
  shells,       // and the rest of these sweeps
  sweep,        // whole sweeps, and the wait for the device
  walls,        // ghosts beyond walls, and halos within the rank's own block
  pack,         // edges into messages
  wire,         // messages, and the wait for the neighbours
  unpack,       // messages into ghosts
  reduction,    // as Phase::reduction
  diagnostics,  // as Phase::diagnostics
  output,       // as Phase::output
  other,        // of the loop: looking up, history, progress
  loop,         // from the first sweep until all files are there
  total,        // of the run
};
inline constexpr std::array<const char*, 14> part_names{
    "setup",  "interior",  "shells",      "sweep",  "walls", "pack", "wire",
    "unpack", "reduction", "diagnostics", "output", "other", "loop", "total"};

struct RankProfile {
  std::array<double, part_names.size()> seconds{};
  double& operator[](Part p) { return seconds[static_cast<std::size_t>(p)]; }
  double operator[](Part p) const { return seconds[static_cast<std::size_t>(p)]; }
};

// Collective; by rank.
std::vector<RankProfile> gather_profiles(const RankProfile& mine, const Communicator& communicator);

// A line a rank, then the mean and its share of the loop, which is that of its columns. Of many ranks those
// that swept longest and shortest: the others wait for the first. Columns of parts that no rank has are left
// out.
std::string profile_table(const std::vector<RankProfile>& profiles, const std::vector<RankRow>& ranks);

nlohmann::ordered_json to_json_object(const std::vector<RankProfile>& profiles);

}  // namespace isotherm
