#include "output/field_files/snapshot.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <type_traits>
#include <utility>

#include "core/all_or_throw.hpp"
#include "core/text.hpp"
#include "kernels/fingerprint.hpp"
#include "output/field_files/cell_boxes.hpp"
#include "output/run_directory.hpp"
#include "output/safe_file.hpp"

namespace isotherm {
namespace {

std::string in_folder(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

std::string escaped_for_xml(const std::string& text) {
  std::string escaped;
  for (const char c : text)
    escaped += c == '&'   ? "&amp;"
               : c == '<' ? "&lt;"
               : c == '>' ? "&gt;"
               : c == '"' ? "&quot;"
                          : std::string(1, c);
  return escaped;
}

// Origin and spacing of the cells' box, widened by an ulp of fp32, because ParaView and others probe in fp32:
// VTK (5.11; 9.7) finds no cell for a point rounded out of the box, and half of all surfaces had no value.
std::pair<Vector3, Vector3> box_with_its_surface(const FileGrid& grid) {
  constexpr double most = 1e-3;  // of a cell: limits the margin where the origin is far away
  Vector3 origin, spacing;
  for (int axis = 0; axis < 3; ++axis) {
    const auto cells = static_cast<double>(grid.cells[axis]);
    const double low = grid.origin[axis], high = low + cells * grid.spacing[axis];
    const auto margin = [&](double edge) {
      return std::min(std::ldexp(std::abs(edge), -23), most * grid.spacing[axis]);
    };
    constexpr double rounding = 1e-15;  // relative, of spacing times cells
    origin[axis] = low - margin(low);
    spacing[axis] = (high + margin(high) - origin[axis]) * (1 + rounding) / cells;
  }
  return {origin, spacing};
}

// XDMF lists z first, except in the coordinates of a rectilinear grid.
std::string geometry_text(const FileGrid& grid, const std::string& file) {
  const Int3 n = grid.cells;
  if (grid.is_graded()) {
    std::string axes;
    for (int axis = 0; axis < 3; ++axis)
      axes += fmt::format(
          R"(          <DataItem Dimensions="{}" NumberType="Float" Precision="8" Format="HDF">{}:/isotherm/edges_{}</DataItem>
)",
          n[axis] + 1, file, "xyz"[axis]);
    return fmt::format(R"(        <Topology TopologyType="3DRectMesh" Dimensions="{} {} {}"/>
        <Geometry GeometryType="VXVYVZ">
{}        </Geometry>
)",
                       n.z + 1, n.y + 1, n.x + 1, axes);
  }
  const auto [o, h] = box_with_its_surface(grid);
  constexpr const char* triple = R"( Dimensions="3" NumberType="Float" Precision="8" Format="XML")";
  return fmt::format(R"(        <Topology TopologyType="3DCoRectMesh" Dimensions="{0} {1} {2}"/>
        <Geometry GeometryType="ORIGIN_DXDYDZ">
          <DataItem Name="Origin"{3}>{4} {5} {6}</DataItem>
          <DataItem Name="Spacing"{3}>{7} {8} {9}</DataItem>
        </Geometry>
)",
                     n.z + 1, n.y + 1, n.x + 1, triple, o[2], o[1], o[0], h[2], h[1], h[0]);
}

std::string material_text(const FileGrid& grid) {
  const Int3 n = grid.cells;
  if (grid.material_file.empty()) return "";
  return fmt::format(R"(        <Attribute Name="material" AttributeType="Scalar" Center="Cell">
          <DataItem Dimensions="{} {} {}" NumberType="UChar" Precision="1" Format="HDF">{}:/material</DataItem>
        </Attribute>
)",
                     n.z, n.y, n.x, escaped_for_xml(grid.material_file));
}

std::string grid_text(const FileGrid& grid, const SeriesEntry& entry) {
  const Int3 n = grid.cells;
  const std::string file = escaped_for_xml(entry.file);
  return fmt::format(R"(      <Grid Name="{0}" GridType="Uniform">
        <Time Value="{1}"/>
{2}        <Attribute Name="temperature [K]" AttributeType="Scalar" Center="Cell">
          <DataItem Dimensions="{3} {4} {5}" NumberType="Float" Precision="{6}" Format="HDF">{0}:{7}</DataItem>
        </Attribute>
{8}      </Grid>
)",
                     file, entry.time, geometry_text(grid, file), n.z, n.y, n.x,
                     entry.stored == Precision::fp32 ? 4 : 8, entry.dataset, material_text(grid));
}

constexpr Index largest_slab = Index{1} << 30;  // bytes; MPI counts and some MPI-IO are limited to 2 GiB

// Slightly more than the size of the file.
std::int64_t expected_bytes(const SnapshotHeader& header) {
  constexpr std::int64_t metadata = 64 << 10;
  const std::size_t texts = header.provenance.deck.size() + header.provenance.resolved_deck.size();
  return most_bytes_of_cells(header) + static_cast<std::int64_t>(texts) + metadata;
}

// Fingerprint of this rank's cells, converted to `To`.
template <class To, class From>
std::uint64_t stored_fingerprint(FieldView<const From> field, Box subdomain, Int3 cells, Index slab_bytes) {
  if constexpr (std::is_same_v<To, From>) {
    return subdomain.empty() ? 0 : isotherm::fingerprint(field, subdomain.lo, cells);
  } else {
    std::uint64_t sum = 0;
    std::vector<To> dense;
    for (const Box slab :
         cut_into_slabs({{0, 0, 0}, subdomain.extent()}, {1, 1, 1}, slab_cells<To>(slab_bytes))) {
      dense.resize(static_cast<std::size_t>(slab.cells()));
      copy_to_dense(field, slab, dense.data());
      sum += isotherm::fingerprint(dense_view<const To>(dense.data(), slab.extent()), subdomain.lo + slab.lo,
                                   cells);
    }
    return sum;
  }
}

}  // namespace

std::string xdmf_text(const FileGrid& grid, const std::vector<SeriesEntry>& entries) {
  std::string text = fmt::format(R"(<?xml version="1.0"?>
<Xdmf Version="3.0">
  <Domain>
    <Grid Name="{}" GridType="Collection" CollectionType="Temporal">
)",
                                 escaped_for_xml(grid.stem));
  for (const SeriesEntry& entry : entries) text += grid_text(grid, entry);
  return text + "    </Grid>\n  </Domain>\n</Xdmf>\n";
}

// Lists the files of a series with their times: `<stem>.hdf.series` and, for the same files, `<stem>.xmf`.
// Each is rewritten as a whole, at a cost that grows with its entries: at the first entry, then after at
// least one second and twenty times the last cost. A resumed run adds unlisted files by searching the folder.
class SnapshotSeries {
 public:
  SnapshotSeries(const std::string& folder, const FileGrid& grid, bool steady, bool xdmf)
      : folder_(folder), path_(in_folder(folder, grid.stem)), grid_(grid), steady_(steady), xdmf_(xdmf) {}
  ~SnapshotSeries() {
    try {
      publish();
    } catch (const std::exception&) {  // the error that ends the run is the one to report
    }
  }
  SnapshotSeries& operator=(SnapshotSeries&&) = delete;

  // Adds the files in the folder up to this sweep. Returns why files are left out, a line each.
  std::vector<std::string> continue_from(std::int64_t sweep) {
    std::vector<std::string> problems;
    int others = 0;
    for (const auto& [written, name] : files_by_sweep(folder_, grid_.stem, snapshot_suffix)) {
      if (written > sweep) break;
      try {
        const SnapshotHeader header = read_snapshot_header(in_folder(folder_, name));
        if (header.cells != grid_.cells || header.first_cell != grid_.first_cell ||
            header.factor != grid_.factor) {  // the .xmf has one grid for all files
          ++others;
          continue;
        }
        entries_.push_back({name, place_in_time({header.meta.time, written}),
                            header.format == 1 ? first_temperature_dataset : temperature_dataset,
                            header.precision});
      } catch (const Error& e) {
        problems.push_back(std::string(e.what()) + " (it is left out of the series)");
      }
    }
    if (others > 0)
      problems.push_back(
          fmt::format("{}_*.hdf: {} of other cells than the deck now selects (left out of the series); to "
                      "keep their series, resume in another output.directory",
                      path_, counted(others, "file")));
    complete_ = entries_.empty();
    return problems;
  }
  // Adds a complete file after those before it.
  void add(const std::string& file, const SnapshotMeta& meta, Precision stored) {
    if (!entries_.empty() && entries_.back().file == file) entries_.pop_back();  // it is written again
    entries_.push_back({file, place_in_time(meta), temperature_dataset, stored});
    complete_ = false;
    constexpr double least_seconds = 1, least_share = 20;  // s between two rewrites; in units of their cost
    if (!published_ || since_.seconds() >= std::max(least_seconds, least_share * cost_)) publish();
  }

  void publish() {  // unless the files are up to date
    if (complete_) return;
    const Timer timer;
    Json series = {{"file-series-version", "1.0"}, {"files", Json::array()}};
    for (const SeriesEntry& entry : entries_)
      series["files"].push_back({{"name", entry.file}, {"time", entry.time}});
    write_file_atomically(path_ + ".hdf.series",
                          series.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    if (xdmf_)
      write_file_atomically(path_ + ".xmf", xdmf_text(grid_, entries_));
    else
      remove_file(path_ + ".xmf");  // an earlier part of the run wrote it: it lacks later files
    complete_ = published_ = true;
    cost_ = timer.seconds();
    since_ = Timer();
  }

  std::string viewer_file() const {  // empty without an entry
    return entries_.empty() ? "" : path_ + (xdmf_ ? ".xmf" : ".hdf.series");
  }

 private:
  using Json = nlohmann::ordered_json;
  double place_in_time(const SnapshotMeta& meta) const {
    return steady_ ? static_cast<double>(meta.sweep) : meta.time;
  }

  std::string folder_, path_;  // path_: of the series, without a suffix
  FileGrid grid_;
  bool steady_, xdmf_;
  std::vector<SeriesEntry> entries_;
  bool published_ = false, complete_ = true;  // at least once; with all entries
  Timer since_;                               // the last publish()
  double cost_ = 0;                           // s, of the last publish()
};

SnapshotWriter::SnapshotWriter(const Config& config, const FileGrid& grid, const Communicator& communicator,
                               std::string folder, SnapshotProvenance provenance, FileThread& files,
                               Index slab_bytes)
    : grid_(grid),
      communicator_(communicator.duplicate()),  // separates its messages from those of halos
      folder_(std::move(folder)),
      provenance_(std::move(provenance)),
      slab_bytes_(std::clamp<Index>(slab_bytes, 1, largest_slab)),
      timeout_(io_timeout()),
      files_(files) {
  start_hdf5();
  const WayToWrite way = choose_way_to_write(communicator_, folder_);
  collective_ = way.collective;
  files_.warn(way.warning);
  if (!communicator_.is_root()) return;
  const bool xdmf = config.output.xdmf || !grid_.is_image();  // other grids have no VTKHDF
  const bool steady = config.problem.kind == ProblemKind::steady;
  series_ = std::make_shared<SnapshotSeries>(folder_, grid_, steady, xdmf);
}

// Never wider than the field.
Precision SnapshotWriter::stored_precision(const CellsView& field) const {
  return std::holds_alternative<FieldView<const float>>(field) ? Precision::fp32 : grid_.precision;
}

std::string SnapshotWriter::start(std::function<CellsView()> cells, Box subdomain, double time,
                                  std::int64_t sweep) {
  const std::string name = file_of_sweep(grid_.stem, sweep, snapshot_suffix), path = in_folder(folder_, name);
  started_ = files_.start([this, cells = std::move(cells), subdomain, time, sweep, name, path] {
    const CellsView field = cells();
    const Timer timer;
    const SnapshotMeta meta{time, sweep, fingerprint(field, subdomain)};
    written_.seconds += timer.seconds();
    write_now(path, field, subdomain, meta, std::nullopt);
    Watchdog watchdog(timeout_, grid_.stem + ".hdf.series", "writing the series", communicator_.rank());
    on_root(communicator_, [&] { series_->add(name, meta, stored_precision(field)); });
  });
  return path;
}

void SnapshotWriter::write_materials(const Config& config) {
  files_.finish();
  const std::string path = in_folder(folder_, grid_.material_file);
  const Watchdog::Seconds timeout = communicator_.is_root() ? timeout_ : Watchdog::Seconds(0);
  Watchdog watchdog(timeout, path, "creating the file", communicator_.rank());
  on_root(communicator_, [&] { write_material_file(config, path, watchdog); });
}

std::string SnapshotWriter::write_file(const std::string& name, const CellsView& field, Box subdomain,
                                       const SnapshotMeta& meta,
                                       const std::optional<CheckpointState>& state) {
  files_.finish();
  const std::string path = in_folder(folder_, name);
  write_now(path, field, subdomain, meta, state);
  return path;
}

void SnapshotWriter::write_now(const std::string& path, const CellsView& field, Box subdomain,
                               const SnapshotMeta& meta, const std::optional<CheckpointState>& state) {
  const std::string part = path + ".part";
  SnapshotHeader header{grid_, SnapshotHeader::newest_format, meta, provenance_, state};
  header.precision = stored_precision(field);
  const Timer timer;

  std::int64_t bytes = 0;
  try {
    bytes = write_part(part, field, subdomain, header);
    last_times_.written = timer.seconds();
    read_back(part, subdomain, header);
    Watchdog watchdog(timeout_, part, "renaming", communicator_.rank());
    on_root(communicator_, [&] { publish_file(part, path); });
  } catch (const CollectiveError&) {
    if (communicator_.is_root()) remove_file(part);
    throw;
  }
  last_times_.proved = timer.seconds();
  ++written_.files;
  written_.bytes += bytes;
  written_.cell_bytes += header.cell_bytes();
  written_.seconds += last_times_.proved;
}

// Returns the bytes of the file, which is closed and on the disk.
std::int64_t SnapshotWriter::write_part(const std::string& part, const CellsView& field, Box subdomain,
                                        const SnapshotHeader& header) {
  // Ranks that only send cells wait for the writer without a limit; the writer's watchdog covers them.
  const bool opens = collective_ || communicator_.is_root(), compressed = header.compression != 0;
  Watchdog watchdog(opens ? timeout_ : Watchdog::Seconds(0), part, "creating the file", communicator_.rank());
  // One rank first makes plain calls: they report better than MPI-IO why a file cannot be made or cannot fit.
  on_root(communicator_, [&] {
    create_empty_file(part);
    reserve_space(part, expected_bytes(header));
  });
  watchdog.phase("writing the header");
  SnapshotFile file(part, communicator_, collective_, header);
  const std::int64_t cells_end = compressed ? expected_bytes(header) : file.cells_end();
  watchdog.phase("reserving space");
  Reserved reserved = Reserved::on_disk;
  try {
    on_root(communicator_, [&] {
      reserved = reserve_space(part, cells_end, compressed ? FileSize::stays : FileSize::grows);
    });
  } catch (const CollectiveError&) {
    file.close();  // no HDF5 call has failed, and all ranks close it
    throw;
  }
  if (communicator_.any(reserved == Reserved::estimated))
    files_.warn(
        "this file system cannot reserve space for a file (quotas and other writers may still fill it)");

  files_.warn(file.write(field, subdomain, slab_bytes_, watchdog));
  watchdog.phase("closing the file");
  file.close();
  watchdog.phase("fsync");
  std::int64_t bytes = 0;
  on_root(communicator_, [&] {
    if (compressed) release_space(part);
    sync_file(part);
    bytes = static_cast<std::int64_t>(std::filesystem::file_size(part));
  });
  return communicator_.all_reduce(bytes, ReduceOp::max);
}

std::uint64_t SnapshotWriter::fingerprint(const CellsView& field, Box subdomain) const {
  const bool fp32 = stored_precision(field) == Precision::fp32;
  const std::uint64_t mine = std::visit(
      [&](auto cells) {
        return fp32 ? stored_fingerprint<float>(cells, subdomain, grid_.cells, slab_bytes_)
                    : stored_fingerprint<double>(cells, subdomain, grid_.cells, slab_bytes_);
      },
      field);
  return communicator_.all_reduce(mine, ReduceOp::sum);
}

// Detects data that MPI-IO or a disk has lost without an error.
void SnapshotWriter::read_back(const std::string& part, Box subdomain, const SnapshotHeader& header) const {
  Watchdog watchdog(timeout_, part, "reading back", communicator_.rank());
  const std::uint64_t here = all_or_throw(communicator_, [&] {
    return fingerprint_on_disk(part, subdomain, header.cells, header.precision, slab_bytes_);
  });
  const std::uint64_t on_disk = communicator_.all_reduce(here, ReduceOp::sum);
  if (on_disk != header.meta.fingerprint)
    throw error_of<CollectiveError>(
        ExitCode::io,
        "{}: the file does not hold what was written (fingerprint {} on the disk, {} of the field); the file "
        "system or its MPI-IO driver loses data: write to another one",
        part, fingerprint_text(on_disk), fingerprint_text(header.meta.fingerprint));
}

void SnapshotWriter::continue_series(std::int64_t sweep) {
  on_root(communicator_, [&] {
    for (const std::string& problem : series_->continue_from(sweep)) files_.warn(problem);
  });
}

void SnapshotWriter::publish_series() {
  files_.finish();
  Watchdog watchdog(timeout_, grid_.stem + ".hdf.series", "writing the series", communicator_.rank());
  on_root(communicator_, [&] { series_->publish(); });
}

void SnapshotWriter::add_to(WritingRecord& record) const {
  record.files += written_.files;
  record.bytes += written_.bytes;
  record.cell_bytes += written_.cell_bytes;
  record.compression = grid_.compression;
  record.seconds += written_.seconds;
  if (series_ && record.viewer_file.empty()) record.viewer_file = series_->viewer_file();
}

static constexpr double assumed_rate = 1e9;  // bytes per second, until a checkpoint was written

CheckpointWriter::CheckpointWriter(const Config& config, const Communicator& communicator, std::string folder,
                                   SnapshotProvenance provenance, FileThread& files)
    : SnapshotWriter(config, grid_of_checkpoints(config), communicator, std::move(folder),
                     std::move(provenance), files),
      keep_(config.output.checkpoint.keep),
      seconds_(static_cast<double>(grid_.cell_bytes()) / assumed_rate) {}

std::string CheckpointWriter::write(const CellsView& field, Box subdomain, const SnapshotMeta& meta,
                                    const CheckpointState& state) {
  const Timer timer;
  const std::string &run_name = grid_.stem, name = checkpoint_name(run_name, meta.sweep);
  const std::string path = write_file(name, field, subdomain, meta, state);
  on_root(communicator_, [&] {
    write_file_atomically(in_folder(folder_, "latest"), name + "\n");
    for (const std::int64_t sweep : superfluous(find_checkpoints(folder_, run_name), meta.sweep, keep_))
      remove_file(in_folder(folder_, checkpoint_name(run_name, sweep)));
    const std::string aside =
        std::string(snapshot_suffix).append(aside_suffix);  // also the end of a checkpoint's name
    for (const std::string& file : find_run_files(folder_, run_name))
      if (file.ends_with(aside)) remove_file(in_folder(folder_, file));
  });
  seconds_ = communicator_.all_reduce(timer.seconds(), ReduceOp::max);
  return path;
}

std::vector<std::int64_t> superfluous(std::vector<std::int64_t> sweeps, std::int64_t written, int keep) {
  std::ranges::sort(sweeps, std::greater<>{});
  std::vector<std::int64_t> all;
  int kept = 0;
  for (const std::int64_t sweep : sweeps)
    if (sweep > written || ++kept > keep) all.push_back(sweep);
  return all;
}

std::vector<std::int64_t> find_checkpoints(const std::string& folder, const std::string& run_name) {
  std::vector<std::int64_t> sweeps;
  for (const auto& [sweep, _] : files_by_sweep(folder, run_name, checkpoint_suffix)) sweeps.push_back(sweep);
  std::ranges::reverse(sweeps);
  return sweeps;
}

void back_up_later(const std::string& folder, const std::string& run_name, std::int64_t sweep) {
  static const std::regex form(R"((.*)_(\d{1,18})(\.checkpoint)?\.hdf)");
  std::smatch parts;
  for (const std::string& name : find_run_files(folder, run_name)) {
    const std::string file = in_folder(folder, name);
    if (!std::regex_match(name, parts, form) || std::stoll(parts[2]) <= sweep) continue;
    publish_file(file, file + std::string(aside_suffix));
    if (parts[3].matched) continue;
    // These list the file. They are written again if the deck still has the series.
    for (const char* list : {".hdf.series", ".xmf"}) remove_file(in_folder(folder, parts[1].str() + list));
  }
}

SnapshotHeader read_checkpoint_header(const std::string& path) {
  SnapshotHeader header = read_snapshot_header(path);
  if (!header.checkpoint)
    throw Error(ExitCode::deck, path +
                                    ": a snapshot (it has the field, but not the other data that a run needs "
                                    "to resume); name a checkpoint, a file *.checkpoint.hdf");
  return header;
}

}  // namespace isotherm
