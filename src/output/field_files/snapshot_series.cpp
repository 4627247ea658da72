#include "output/field_files/snapshot_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.hpp"
#include "output/field_files/snapshot_header.hpp"
#include "output/run_directory.hpp"
#include "output/safe_file.hpp"

namespace isotherm {

namespace {

std::string escaped_for_xml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string triple(const char* name, const Vector3& v) {  // z first, as all that XDMF counts
  return fmt::format(
      "          <DataItem Name=\"{}\" Dimensions=\"3\" NumberType=\"Float\" Precision=\"8\" "
      "Format=\"XML\">{} {} "
      "{}</DataItem>\n",
      name, v[2], v[1], v[0]);
}

struct CellBox {
  Vector3 origin, spacing;
};

// The box of the cells, wider by an ulp of single precision. The points by which ParaView and others probe a
// field are of that precision, and where one is rounded out of the box VTK finds no cell (5.11; VTK 9.7):
// without it half of all surfaces had no value.
CellBox box_with_its_surface(const FileGrid& grid) {
  constexpr double most = 1e-3;  // of a cell, where the origin is far away
  CellBox box;
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const auto cells = static_cast<double>(grid.cells[axis]);
    const double low = grid.origin[a], high = low + cells * grid.spacing[a];
    const auto margin = [&](double edge) {
      return std::min(std::ldexp(std::abs(edge), -23), most * grid.spacing[a]);
    };
    constexpr double rounding = 1e-15;  // of the spacing times the cells
    box.origin[a] = low - margin(low);
    box.spacing[a] = (high + margin(high) - box.origin[a]) * (1 + rounding) / cells;
  }
  return box;
}

std::string grid_text(const FileGrid& grid, const SeriesEntry& entry) {
  const Int3 n = grid.cells;
  const CellBox box = box_with_its_surface(grid);
  const std::string file = escaped_for_xml(entry.file);
  return fmt::format("      <Grid Name=\"{}\" GridType=\"Uniform\">\n        <Time Value=\"{}\"/>\n", file,
                     entry.time) +
         fmt::format("        <Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"{} {} {}\"/>\n", n.z + 1,
                     n.y + 1, n.x + 1) +
         "        <Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n" + triple("Origin", box.origin) +
         triple("Spacing", box.spacing) + "        </Geometry>\n" +
         "        <Attribute Name=\"temperature [K]\" AttributeType=\"Scalar\" Center=\"Cell\">\n" +
         fmt::format(
             "          <DataItem Dimensions=\"{} {} {}\" NumberType=\"Float\" Precision=\"{}\" "
             "Format=\"HDF\">{}:{}</DataItem>\n",
             n.z, n.y, n.x, entry.stored == Precision::fp32 ? 4 : 8, file, entry.dataset) +
         "        </Attribute>\n      </Grid>\n";
}

}  // namespace

std::string xdmf_text(const FileGrid& grid, const std::vector<SeriesEntry>& entries) {
  std::string text = fmt::format(
      "<?xml version=\"1.0\"?>\n<Xdmf Version=\"3.0\">\n  <Domain>\n    <Grid Name=\"{}\" "
      "GridType=\"Collection\" CollectionType=\"Temporal\">\n",
      escaped_for_xml(grid.stem));
  for (const SeriesEntry& entry : entries) text += grid_text(grid, entry);
  return text + "    </Grid>\n  </Domain>\n</Xdmf>\n";
}

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
