#include "output/depth_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "output/json_value.hpp"

namespace isotherm {
namespace {

using Estimate = DepthRecord::Estimate;

const Estimate& other_than(const DepthRecord& record, int depth) {
  if (depth != 1) return record.weighed.front();
  return *std::min_element(record.weighed.begin() + 1, record.weighed.end(),
                           [](const Estimate& a, const Estimate& b) { return a.seconds < b.seconds; });
}

std::string costs_text(const DepthRecord& r) {
  return fmt::format("{} an exchange, {} a message, {:.3g} GB/s, {:.3g} ns a cell by {}, measured in {}",
                     human_duration(r.exchange_seconds), human_duration(r.message_seconds),
                     r.bytes_a_second / 1e9, r.cell_seconds * 1e9, r.transports, human_duration(r.seconds));
}

}  // namespace

std::string depth_line(const DepthRecord& record, int depth) {
  if (!record.automatic) return {};
  if (record.weighed.size() < 2) return fmt::format("{} (auto): {}", depth, record.why);
  const auto taken = std::find_if(record.weighed.begin(), record.weighed.end(),
                                  [&](const Estimate& e) { return e.depth == depth; });
  const Estimate& other = other_than(record, depth);
  const auto text = [](const Estimate& e) {
    return fmt::format("({:.3g} messages, {} cells)", e.messages, grouped(std::llround(e.cells)));
  };
  return fmt::format("{} (auto): {} a sweep by estimate {}, {} at depth {} {}; {}", depth,
                     human_duration(taken->seconds), text(*taken), human_duration(other.seconds), other.depth,
                     text(other), costs_text(record));
}

Json to_json_object(const DepthRecord& record) {
  Json weighed = Json::array();
  for (const Estimate& e : record.weighed) {
    weighed.push_back(
        {{"depth", e.depth}, {"sweep_s", e.seconds}, {"messages", e.messages}, {"cells", e.cells}});
  }
  Json costs;
  if (!record.weighed.empty()) {
    costs = {{"exchange_s", record.exchange_seconds},
             {"message_s", record.message_seconds},
             {"bandwidth_bytes_per_s", record.bytes_a_second},
             {"cell_s", record.cell_seconds},
             {"transport", record.transports},
             {"trial_s", record.seconds}};
  }
  return {{"automatic", record.automatic},
          {"why", text_or_null(record.why)},
          {"costs", costs},
          {"weighed", weighed}};
}

}  // namespace isotherm
