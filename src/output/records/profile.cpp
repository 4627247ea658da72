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

double swept(const RankProfile& p) {
  return p[Part::interior] + p[Part::shells] + p[Part::sweep];
}

// The ranks that are shown; of many, the slowest first.
std::vector<std::size_t> shown(const std::vector<RankProfile>& profiles) {
  std::vector<std::size_t> order(profiles.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.size() <= most_lines) return order;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return swept(profiles[a]) > swept(profiles[b]); });
  order.erase(order.begin() + ends, order.end() - ends);
  return order;
}

RankProfile mean_of(const std::vector<RankProfile>& profiles) {
  RankProfile mean;
  for (const RankProfile& each : profiles)
    for (std::size_t i = 0; i < mean.seconds.size(); ++i)
      mean.seconds[i] += each.seconds[i] / static_cast<double>(profiles.size());
  return mean;
}

// What some rank has spent time on.
std::vector<std::size_t> parts_of(const std::vector<RankProfile>& profiles) {
  std::vector<std::size_t> parts;
  for (std::size_t i = 0; i < part_names.size(); ++i)
    if (std::ranges::any_of(profiles, [&](const RankProfile& p) { return p.seconds[i] != 0; }))
      parts.push_back(i);
  return parts;
}

bool within_loop(std::size_t part) {
  return part >= static_cast<std::size_t>(Part::interior) && part <= static_cast<std::size_t>(Part::loop);
}

std::string share_text(std::size_t part, const RankProfile& mean) {
  const double loop = mean[Part::loop];
  return within_loop(part) && loop > 0 ? fmt::format("{:.1f} %", 100 * mean.seconds[part] / loop) : "";
}

}  // namespace

std::vector<RankProfile> gather_profiles(const RankProfile& mine, const Communicator& communicator) {
  std::vector<RankProfile> profiles;
  for (const std::string& text : communicator.all_gather(Json(mine.seconds).dump()))
    profiles.push_back({Json::parse(text).get<decltype(mine.seconds)>()});
  return profiles;
}

std::string profile_table(const std::vector<RankProfile>& profiles, const std::vector<RankRow>& ranks) {
  if (profiles.empty()) return "";
  const std::vector<std::size_t> parts = parts_of(profiles);
  TextTable table{fmt::format("rll{:r>{}}", "", parts.size()), {{"rank", "host", "device"}}};
  for (const std::size_t part : parts) table.rows.front().push_back(part_names[part]);
  const auto add = [&](std::vector<std::string> line, const auto& cell) {
    for (const std::size_t part : parts) line.push_back(cell(part));
    table.rows.push_back(std::move(line));
  };
  for (const std::size_t i : shown(profiles)) {
    const RankRow& row = ranks[i];
    const std::string device = row.device_index < 0 ? "" : fmt::format("{} ", row.device_index);
    add({fmt::format("{}", row.rank), escaped(row.host), device + escaped(row.device)},
        [&](std::size_t part) { return signed_duration(profiles[i].seconds[part]); });
  }
  const RankProfile mean = mean_of(profiles);
  add({"", "mean", ""}, [&](std::size_t part) { return signed_duration(mean.seconds[part]); });
  add({"", "share of the loop", ""}, [&](std::size_t part) { return share_text(part, mean); });
  std::string text = "\n" + table.text(2);
  if (profiles.size() > most_lines)
    text += fmt::format("  {} ranks that swept longest and {} that swept shortest; {} more in run.json\n",
                        ends, ends, profiles.size() - 2 * ends);
  return text;
}

Json to_json_object(const std::vector<RankProfile>& profiles) {
  if (profiles.empty()) return nullptr;
  Json ranks = Json::array();
  for (std::size_t rank = 0; rank < profiles.size(); ++rank) {
    Json json = {{"rank", rank}};
    for (std::size_t i = 0; i < part_names.size(); ++i)
      json[fmt::format("{}_s", part_names[i])] = profiles[rank].seconds[i];
    ranks.push_back(std::move(json));
  }
  return ranks;
}

}  // namespace isotherm
