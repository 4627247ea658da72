// What a run reports of its halos: which transport carries which pair of neighbours, what it was measured to
// do, and what of it sweeps hide.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/communicator.hpp"
#include "halo/hiding.hpp"
#include "halo/links.hpp"

namespace isotherm {

struct HaloPair {
  int rank;       // the lower of the two
  HaloLink link;  // as it has it
};

struct HaloRecord {
  std::vector<HaloPair> pairs;   // every pair once, by rank and peer
  std::optional<HaloCost> cost;  // none without neighbours
};

// Collective; every rank returns all pairs.
std::vector<HaloPair> gather_pairs(const std::vector<HaloLink>& mine, const Communicator& communicator);

// Bytes a second, each way. None where it was not timed.
std::optional<double> bandwidth(const HaloLink& link);

// Of what an exchange costs. None where it was not measured.
std::optional<double> hidden_percent(const HaloRecord& record);

std::string transports_in_use(const HaloRecord& record);  // "host", "peer, host"; "none" without neighbours

// Lines for the banner: a pair each where they are few, else a line for all pairs of the same directions and
// transport, with medians. Then one of what is hidden, where that was measured.
std::vector<std::string> halo_lines(const HaloRecord& record);

nlohmann::ordered_json to_json_object(const HaloRecord& record);

}  // namespace isotherm
