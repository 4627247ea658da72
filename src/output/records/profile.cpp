#include "output/records/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/text.hpp"
#include "output/records/json_value.hpp"
#include "output/records/run_record.hpp"

namespace isotherm {
namespace {

constexpr std::size_t most_lines = 32;  // of ranks; a page of a terminal, and a node or four of GPUs
constexpr std::size_t ends = 8;         // of more ranks: so many of the slowest, and of the fastest

// In the order of the columns; those from `interior` to `other` are the loop's.
constexpr std::array profiled{Phase::setup,     Phase::interior,    Phase::shells, Phase::sweep,
                              Phase::walls,     Phase::pack,        Phase::wire,   Phase::unpack,
                              Phase::reduction, Phase::diagnostics, Phase::output, Phase::other,
                              Phase::loop,      Phase::total};

double swept(const PhaseTimes& p) {
  return p[Phase::interior] + p[Phase::shells] + p[Phase::sweep];
}

// The ranks that are shown; of many, the slowest first.
std::vector<std::size_t> shown(const std::vector<PhaseTimes>& profiles) {
  std::vector<std::size_t> order(profiles.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.size() <= most_lines) return order;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return swept(profiles[a]) > swept(profiles[b]); });
  order.erase(order.begin() + ends, order.end() - ends);
  return order;
}

PhaseTimes mean_of(const std::vector<PhaseTimes>& profiles) {
  PhaseTimes mean;
  for (const PhaseTimes& each : profiles)
    for (const Phase phase : profiled) mean[phase] += each[phase] / static_cast<double>(profiles.size());
  return mean;
}

std::string share_text(Phase phase, const PhaseTimes& mean) {
  const bool within_loop = phase != Phase::setup && phase != Phase::total;
  return within_loop && mean[Phase::loop] > 0 ? fmt::format("{:.1f} %", 100 * mean[phase] / mean[Phase::loop])
                                              : "";
}

}  // namespace

std::vector<PhaseTimes> gather_profiles(const PhaseTimes& mine, const Communicator& communicator) {
  std::vector<PhaseTimes> profiles;
  for (const std::string& text : communicator.all_gather(Json(mine.values).dump()))
    profiles.push_back({Json::parse(text).get<decltype(mine.values)>()});
  return profiles;
}

std::string profile_table(const std::vector<PhaseTimes>& profiles, const std::vector<RankRow>& ranks) {
  if (profiles.empty()) return "";
  std::vector<Phase> spent;  // by some rank
  TextTable table{"rll", {{"rank", "host", "device"}}};
  for (const Phase phase : profiled) {
    if (std::ranges::none_of(profiles, [&](const PhaseTimes& p) { return p[phase] != 0; })) continue;
    spent.push_back(phase);
    table.alignment += 'r';
    table.rows.front().emplace_back(word(phase));
  }
  const auto add = [&](std::vector<std::string> line, const auto& cell) {
    for (const Phase phase : spent) line.push_back(cell(phase));
    table.rows.push_back(std::move(line));
  };
  for (const std::size_t i : shown(profiles)) {
    const RankRow& row = ranks[i];
    const std::string device = row.device_index < 0 ? "" : fmt::format("{} ", row.device_index);
    add({fmt::format("{}", row.rank), escaped(row.host), device + escaped(row.device)},
        [&](Phase phase) { return signed_duration(profiles[i][phase]); });
  }
  const PhaseTimes mean = mean_of(profiles);
  add({"", "mean", ""}, [&](Phase phase) { return signed_duration(mean[phase]); });
  add({"", "share of the loop", ""}, [&](Phase phase) { return share_text(phase, mean); });
  std::string text = "\n" + table.text(2);
  if (profiles.size() > most_lines)
    text += fmt::format("  {} ranks that swept longest and {} that swept shortest; {} more in run.json\n",
                        ends, ends, profiles.size() - 2 * ends);
  return text;
}

Json to_json_object(const std::vector<PhaseTimes>& profiles) {
  if (profiles.empty()) return nullptr;
  Json ranks = Json::array();
  for (std::size_t rank = 0; rank < profiles.size(); ++rank) {
    Json json = {{"rank", rank}};
    for (const Phase phase : profiled) json[fmt::format("{}_s", word(phase))] = profiles[rank][phase];
    ranks.push_back(std::move(json));
  }
  return ranks;
}

}  // namespace isotherm
