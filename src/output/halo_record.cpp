#include "output/halo_record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "output/json_value.hpp"

namespace isotherm {
namespace {

constexpr std::size_t pairs_worth_a_line = 12;

// "x+", "y-z+": as the lower rank sees its peer.
std::string word(Direction d) {
  std::string text;
  for (int axis = 0; axis < 3; ++axis) {
    if (d[static_cast<std::size_t>(axis)] == 0) continue;
    text += "xyz"[axis];
    text += d[static_cast<std::size_t>(axis)] > 0 ? '+' : '-';
  }
  return text;
}

std::vector<std::string> words(const std::vector<Direction>& directions) {
  std::vector<std::string> all;
  for (const Direction d : directions) all.push_back(word(d));
  return all;
}

Json to_json_object(const TransportTrial& trial) {
  const auto measured = [](double seconds) { return seconds > 0 ? Json(seconds) : Json(nullptr); };
  return {{"transport", trial.transport},
          {"why_not", text_or_null(trial.why_not)},
          {"exchange_s", measured(trial.seconds)},
          {"latency_s", measured(trial.latency)}};
}

Json to_json_object(const HaloPair& pair) {
  const HaloLink& link = pair.link;
  Json trials = Json::array();
  for (const TransportTrial& trial : link.trials) trials.push_back(to_json_object(trial));
  const TransportTrial& chosen = link.chosen();
  Json json = to_json_object(chosen);
  json.erase("why_not");
  json.update({{"rank", pair.rank},
               {"peer", link.peer},
               {"directions", words(link.directions)},
               {"bytes", link.bytes},
               {"bandwidth_bytes_per_s", value_or_null(bandwidth(link))},
               {"trials", trials}});
  return json;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What pairs of one kind were measured to do.
std::string figures_of(const std::vector<const HaloLink*>& links) {
  std::vector<double> seconds, latencies;
  for (const HaloLink* link : links) {
    seconds.push_back(link->chosen().seconds);
    latencies.push_back(link->chosen().latency);
  }
  const auto bytes = static_cast<double>(links.front()->bytes);
  const double time = median_of(seconds);
  if (!(time > 0)) return fmt::format("{} each way", human_bytes(bytes));
  return fmt::format("{} each way in {:.1f} us: {:.2f} GB/s, latency {:.1f} us", human_bytes(bytes),
                     1e6 * time, bytes / time / 1e9, 1e6 * median_of(latencies));
}

}  // namespace

std::optional<double> hidden_percent(const HaloRecord& record) {
  const std::optional<double> share = record.cost ? record.cost->hidden_share() : std::nullopt;
  return share ? std::optional(100 * *share) : std::nullopt;
}

std::optional<double> bandwidth(const HaloLink& link) {
  const double seconds = link.chosen().seconds;
  if (!(seconds > 0)) return std::nullopt;
  return static_cast<double>(link.bytes) / seconds;
}

std::vector<HaloPair> gather_pairs(const std::vector<HaloLink>& mine, const Communicator& communicator) {
  Json sent = Json::array();
  for (const HaloLink& link : mine) {
    if (link.peer < communicator.rank()) continue;
    Json trials = Json::array();
    for (const TransportTrial& t : link.trials) {
      trials.push_back({t.transport, t.why_not, t.seconds, t.latency});
    }
    sent.push_back({link.peer, link.directions, link.bytes, link.transport, trials});
  }
  std::vector<HaloPair> pairs;
  int rank = 0;
  for (const std::string& text :
       communicator.all_gather(sent.dump(-1, ' ', false, Json::error_handler_t::replace))) {
    for (const Json& j : Json::parse(text)) {
      HaloPair& pair = pairs.emplace_back(HaloPair{rank, {j[0], j[1], j[2], j[3], {}}});
      for (const Json& t : j[4]) pair.link.trials.push_back({t[0], t[1], t[2], t[3]});
    }
    ++rank;
  }
  std::sort(pairs.begin(), pairs.end(), [](const HaloPair& a, const HaloPair& b) {
    return std::pair(a.rank, a.link.peer) < std::pair(b.rank, b.link.peer);
  });
  return pairs;
}

std::string transports_in_use(const HaloRecord& record) {
  std::vector<std::string> names;
  for (const HaloPair& pair : record.pairs) {
    if (std::find(names.begin(), names.end(), pair.link.transport) == names.end()) {
      names.push_back(pair.link.transport);
    }
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> halo_lines(const HaloRecord& record) {
  std::map<std::string, std::vector<const HaloLink*>> groups;
  const bool each = record.pairs.size() <= pairs_worth_a_line;
  for (const HaloPair& pair : record.pairs) {
    const HaloLink& link = pair.link;
    const std::string who = each ? fmt::format("ranks {}-{} ", pair.rank, link.peer) : "";
    groups[fmt::format("{}{} by {}", who, fmt::join(words(link.directions), " "), link.transport)].push_back(
        &link);
  }
  std::vector<std::string> lines;
  for (const auto& [name, links] : groups) {
    const std::string count = each ? "" : fmt::format(" ({} pairs)", links.size());
    lines.push_back(fmt::format("{}{}: {}", name, count, figures_of(links)));
  }
  if (const auto percent = hidden_percent(record)) {
    lines.push_back(fmt::format("{:.1f} % hidden: of an exchange of {:.1f} us, {:.1f} us add to a step",
                                *percent, 1e6 * record.cost->exchange, 1e6 * record.cost->exposed));
  }
  return lines;
}

Json to_json_object(const HaloRecord& record) {
  Json links = Json::array();
  for (const HaloPair& pair : record.pairs) links.push_back(to_json_object(pair));
  const std::optional<HaloCost>& cost = record.cost;
  return {{"hidden_percent", value_or_null(hidden_percent(record))},
          {"exchange_s", value_or_null(cost ? std::optional(cost->exchange) : std::nullopt)},
          {"exposed_s", value_or_null(cost ? std::optional(cost->exposed) : std::nullopt)},
          {"links", links}};
}

}  // namespace isotherm
