#include "output/snapshot_series.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "output/safe_file.hpp"

namespace isotherm {

void write_series(const std::string& path, const std::vector<SeriesEntry>& entries) {
  nlohmann::ordered_json series;
  series["file-series-version"] = "1.0";
  series["files"] = nlohmann::ordered_json::array();
  for (const SeriesEntry& entry : entries)
    series["files"].push_back({{"name", entry.file}, {"time", entry.time}});
  using ErrorHandler = nlohmann::ordered_json::error_handler_t;
  write_file_atomically(path, series.dump(2, ' ', false, ErrorHandler::replace) + "\n");
}

std::vector<SeriesEntry> read_series(const std::string& path) {
  std::ifstream file(path);
  const auto series = nlohmann::json::parse(file, nullptr, false);
  std::vector<SeriesEntry> entries;
  if (!series.is_object() || !series.contains("files")) return entries;
  for (const auto& entry : series["files"]) {
    if (!entry.is_object() || !entry.contains("name") || !entry.contains("time")) continue;
    if (!entry["name"].is_string() || !entry["time"].is_number()) continue;
    entries.push_back({entry["name"].get<std::string>(), entry["time"].get<double>()});
  }
  return entries;
}

}  // namespace isotherm
