// Where the time of each rank goes, for `run --profile`: the phases of a run, those from `interior` to
// `other` adding up to `loop`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/communicator.hpp"
#include "core/phases.hpp"

namespace isotherm {

struct RankRow;

// Collective; by rank.
std::vector<PhaseTimes> gather_profiles(const PhaseTimes& mine, const Communicator& communicator);

// A line a rank, then the mean and its share of the loop, which is that of its columns. Of many ranks those
// that swept longest and shortest: the others wait for the first. Columns of phases that no rank has are left
// out.
std::string profile_table(const std::vector<PhaseTimes>& profiles, const std::vector<RankRow>& ranks);

nlohmann::ordered_json to_json_object(const std::vector<PhaseTimes>& profiles);

}  // namespace isotherm
