// What a run reports of its halos: which transport carries which pair of neighbours, and what it was measured
// to do.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/communicator.hpp"
#include "halo/links.hpp"

namespace isotherm {

struct HaloPair {
  int rank;       // the lower of the two
  HaloLink link;  // as it has it
};

struct HaloRecord {
  std::vector<HaloPair> pairs;  // every pair once, by rank and peer
};

// Collective; every rank returns all pairs.
std::vector<HaloPair> gather_pairs(const std::vector<HaloLink>& mine, const Communicator& communicator);

// Bytes a second, each way. None where it was not timed.
std::optional<double> bandwidth(const HaloLink& link);

std::string transports_in_use(const HaloRecord& record);  // "host", "peer, host"; "none" without neighbours

// Lines for the banner: a pair each where they are few, else a line for all pairs of the same directions and
// transport, with medians.
std::vector<std::string> halo_lines(const HaloRecord& record);

nlohmann::ordered_json to_json_object(const HaloRecord& record);

}  // namespace isotherm
