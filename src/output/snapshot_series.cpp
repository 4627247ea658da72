#include "output/snapshot_series.hpp"

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

}  // namespace isotherm
