#include "output/writing_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "output/json_value.hpp"

namespace isotherm {

WritingRecord slowest(WritingRecord mine, const Communicator& communicator) {
  double times[] = {mine.seconds, mine.exposed, mine.at_end};
  communicator.all_reduce(times, 3, ReduceOp::max);
  mine.seconds = times[0];
  mine.exposed = times[1];
  mine.at_end = times[2];
  return mine;
}

std::optional<double> hidden_percent(const WritingRecord& record) {
  const double could_hide = record.seconds - record.at_end;
  if (record.files == 0 || !(could_hide > 0)) return std::nullopt;
  return 100 * std::clamp(1 - record.exposed / could_hide, 0.0, 1.0);
}

std::optional<double> compression_ratio(const WritingRecord& record) {
  if (record.compression == 0 || record.bytes == 0) return std::nullopt;
  return static_cast<double>(record.cell_bytes) / static_cast<double>(record.bytes);
}

std::optional<double> bandwidth(const WritingRecord& record) {
  if (record.files == 0 || !(record.seconds > 0)) return std::nullopt;
  return static_cast<double>(record.bytes) / record.seconds;
}

std::string writing_line(const WritingRecord& record) {
  const auto rate = bandwidth(record);
  if (!rate) return {};
  std::string text =
      fmt::format("{} of {} in {}, {:.3g} GB/s", human_bytes(static_cast<double>(record.bytes)),
                  counted(record.files, "file"), human_duration(record.seconds), *rate / 1e9);
  if (const auto ratio = compression_ratio(record))
    text += fmt::format(", compressed from {} ({:.3g} times)",
                        human_bytes(static_cast<double>(record.cell_bytes)), *ratio);
  if (!record.why_in_step.empty()) return text + fmt::format(", in step ({})", record.why_in_step);
  const auto hidden = hidden_percent(record);
  const std::string end =
      record.at_end > 0 ? fmt::format(", {} after the last", human_duration(record.at_end)) : "";
  return text + (hidden ? fmt::format(", {:.1f} % hidden behind sweeps", *hidden) : "") + end;
}

Json to_json_object(const WritingRecord& record) {
  return {{"mode", record.why_in_step.empty() ? "asynchronous" : "in_step"},
          {"why_in_step", text_or_null(record.why_in_step)},
          {"files", record.files},
          {"bytes", record.bytes},
          {"cell_bytes", record.cell_bytes},
          {"compression", record.compression},
          {"compression_ratio", value_or_null(compression_ratio(record))},
          {"write_s", record.seconds},
          {"bandwidth_bytes_per_s", value_or_null(bandwidth(record))},
          {"exposed_s", record.exposed},
          {"after_last_sweep_s", record.at_end},
          {"hidden_percent", value_or_null(hidden_percent(record))}};
}

}  // namespace isotherm
