#include "output/snapshot_series.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.hpp"
#include "output/run_files.hpp"
#include "output/safe_file.hpp"
#include "output/snapshot_header.hpp"
#include "output/xdmf_series.hpp"

namespace isotherm {
namespace {

constexpr double least_seconds = 1;  // between two replacements
constexpr double least_share = 20;   // of what one costs

}  // namespace

std::string series_text(const std::vector<SeriesEntry>& entries) {
  nlohmann::ordered_json series;
  series["file-series-version"] = "1.0";
  series["files"] = nlohmann::ordered_json::array();
  for (const SeriesEntry& entry : entries)
    series["files"].push_back({{"name", entry.file}, {"time", entry.time}});
  using ErrorHandler = nlohmann::ordered_json::error_handler_t;
  return series.dump(2, ' ', false, ErrorHandler::replace) + "\n";
}

SnapshotSeries::SnapshotSeries(std::string folder, const FileGrid& grid, bool steady, bool xdmf)
    : folder_(std::move(folder)),
      path_((std::filesystem::path(folder_) / grid.stem).string()),
      grid_(grid),
      steady_(steady),
      xdmf_(xdmf) {}

SnapshotSeries::~SnapshotSeries() {
  try {
    publish();
  } catch (const std::exception&) {  // the error that ends the run is the one to tell
  }
}

std::vector<std::string> SnapshotSeries::take_over(std::int64_t sweep) {
  std::vector<std::pair<std::int64_t, std::string>> files;
  for (const std::string& name : find_run_files(folder_, grid_.stem)) {
    const auto written = sweep_of_file(name, grid_.stem, snapshot_suffix);
    if (written && *written <= sweep) files.emplace_back(*written, name);
  }
  std::ranges::sort(files);
  std::vector<std::string> problems;
  for (const auto& [written, name] : files) {
    try {
      const SnapshotHeader header = read_snapshot_header((std::filesystem::path(folder_) / name).string());
      entries_.push_back({name, place_in_time(header.meta.time, written),
                          header.format == 1 ? first_temperature_dataset : temperature_dataset,
                          header.precision});
    } catch (const Error& e) {
      problems.push_back(std::string(e.what()) + " (it is left out of the series)");
    }
  }
  complete_ = entries_.empty();
  return problems;
}

void SnapshotSeries::add(const std::string& file, double time, std::int64_t sweep, Precision stored) {
  if (!entries_.empty() && entries_.back().file == file) entries_.pop_back();  // written once more
  entries_.push_back({file, place_in_time(time, sweep), temperature_dataset, stored});
  complete_ = false;
  if (!published_ || since_.seconds() >= std::max(least_seconds, least_share * cost_)) publish();
}

void SnapshotSeries::publish() {
  if (complete_) return;
  const Timer timer;
  write_file_atomically(path_ + ".hdf.series", series_text(entries_));
  if (xdmf_) write_file_atomically(path_ + ".xmf", xdmf_text(grid_, entries_));
  complete_ = published_ = true;
  cost_ = timer.seconds();
  since_ = Timer();
}

std::string SnapshotSeries::viewer_file() const {
  return entries_.empty() ? "" : path_ + (xdmf_ ? ".xmf" : ".hdf.series");
}

double SnapshotSeries::place_in_time(double time, std::int64_t sweep) const {
  return steady_ ? static_cast<double>(sweep) : time;
}

}  // namespace isotherm
