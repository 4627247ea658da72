#include "output/field_files/snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/agree.hpp"
#include "core/error.hpp"
#include "core/timer.hpp"
#include "kernels/fingerprint.hpp"
#include "output/field_files/cell_writer.hpp"
#include "output/field_files/compression.hpp"
#include "output/field_files/dense_copy.hpp"
#include "output/field_files/disk_space.hpp"
#include "output/field_files/slabs.hpp"
#include "output/field_files/snapshot_file.hpp"
#include "output/run_directory.hpp"
#include "output/safe_file.hpp"

namespace isotherm {
namespace {

constexpr Index largest_slab = Index{1} << 30;  // bytes; MPI counts and some MPI-IO end at 2 GiB

// `work` on rank 0; its failure is everyone's.
template <class Work>
void on_root(const Communicator& communicator, Work&& work) {
  agree(communicator, [&] {
    if (communicator.is_root()) work();
  });
}

std::string in_folder(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

SnapshotHeader describe(const FileGrid& grid, const SnapshotProvenance& provenance, const SnapshotMeta& meta,
                        const std::optional<CheckpointState>& state) {
  SnapshotHeader header;
  static_cast<FileGrid&>(header) = grid;
  header.meta = meta;
  header.provenance = provenance;
  header.checkpoint = state;
  return header;
}

// Somewhat more than the file will have.
std::int64_t expected_bytes(const SnapshotHeader& header) {
  constexpr std::int64_t metadata = 64 << 10;
  const std::size_t texts = header.provenance.deck.size() + header.provenance.resolved_deck.size();
  return most_bytes_of_cells(header) + static_cast<std::int64_t>(texts) + metadata;
}

// Never wider than the field.
template <class T>
Precision stored_precision(const FileGrid& grid) {
  return std::is_same_v<T, float> ? Precision::fp32 : grid.precision;
}

// Of this rank's cells as they are stored in `To`.
template <class To, class From>
std::uint64_t stored_fingerprint(FieldView<const From> field, Box block, Int3 cells, Index slab_bytes) {
  if constexpr (std::is_same_v<To, From>) {
    return block.empty() ? 0 : isotherm::fingerprint(field, block.lo, cells);
  } else {
    std::uint64_t sum = 0;
    std::vector<To> dense;
    for (const Box slab : cut_into_slabs(block.extent(), slab_cells<To>(slab_bytes))) {
      dense.resize(static_cast<std::size_t>(slab.cells()));
      copy_to_dense(field, slab, dense.data());
      sum += isotherm::fingerprint(dense_view(dense.data(), slab.extent()), block.lo + slab.lo, cells);
    }
    return sum;
  }
}

}  // namespace

SnapshotWriter::SnapshotWriter(const Config& config, const Communicator& communicator, std::string folder,
                               Provenance provenance, FileThread* files, Index slab_bytes)
    : SnapshotWriter(config, grid_of_snapshots(config), communicator, std::move(folder),
                     std::move(provenance), files, slab_bytes) {}

SnapshotWriter::SnapshotWriter(const Config& config, const FileGrid& grid, const Communicator& communicator,
                               std::string folder, Provenance provenance, FileThread* files, Index slab_bytes)
    : grid_(grid),
      communicator_(communicator.split(0, communicator.rank())),  // no message of ours meets a halo's
      folder_(std::move(folder)),
      provenance_(std::move(provenance)),
      slab_bytes_(std::clamp<Index>(slab_bytes, 1, largest_slab)),
      timeout_(io_timeout()),
      files_(files) {
  start_hdf5();
  ChosenCellWriter chosen = choose_cell_writer(communicator_, folder_);
  cells_ = std::move(chosen.writer);
  remark(chosen.remark);
  if (!communicator_.is_root()) return;
  const bool xdmf = config.output.xdmf || is_flat(grid_);  // flat files are no VTKHDF
  const bool steady = config.problem.kind == ProblemKind::steady;
  series_ = std::make_unique<SnapshotSeries>(folder_, grid_, steady, xdmf);
}

template <class T>
std::string SnapshotWriter::write(FieldView<const T> field, Box block, const SnapshotMeta& meta) {
  if (files_) files_->finish();
  return write_in_series(field, block, meta);
}

template <class T>
std::string SnapshotWriter::start(std::function<FieldView<const T>()> cells, Box block, double time,
                                  std::int64_t sweep) {
  const auto write = [this, cells = std::move(cells), block, time, sweep] {
    const FieldView<const T> field = cells();
    const Timer timer;
    const std::uint64_t whole = fingerprint(field, block);
    seconds_ += timer.seconds();
    write_in_series(field, block, {time, sweep, whole});
  };
  if (files_) {
    started_ = files_->start(write);
  } else {
    write();
  }
  return in_folder(folder_, snapshot_name(grid_.stem, sweep));
}

void SnapshotWriter::wait() {
  if (files_) files_->wait(started_);
}

template <class T>
std::string SnapshotWriter::write_in_series(FieldView<const T> field, Box block, const SnapshotMeta& meta) {
  const std::string name = snapshot_name(grid_.stem, meta.sweep);
  const std::string path = write_now(name, field, block, meta, std::nullopt);
  on_series([&] { series_->add(name, meta.time, meta.sweep, stored_precision<T>(grid_)); });
  return path;
}

template <class T>
std::string SnapshotWriter::write_file(const std::string& name, FieldView<const T> field, Box block,
                                       const SnapshotMeta& meta,
                                       const std::optional<CheckpointState>& state) {
  if (files_) files_->finish();
  return write_now(name, field, block, meta, state);
}

template <class T>
std::string SnapshotWriter::write_now(const std::string& name, FieldView<const T> field, Box block,
                                      const SnapshotMeta& meta, const std::optional<CheckpointState>& state) {
  const std::string part = in_folder(folder_, name + ".part"), path = in_folder(folder_, name);
  SnapshotHeader header = describe(grid_, provenance_, meta, state);
  header.precision = stored_precision<T>(grid_);
  const FileSizeSignalIgnored file_size_errors_return;
  const Timer timer;

  prepare(part, expected_bytes(header));
  const std::int64_t bytes = write_part(part, field, block, header);
  last_times_.written = timer.seconds();
  try {
    read_back(part, block, header);
    Watchdog watchdog(timeout_, part, communicator_.rank());
    watchdog.phase("renaming");
    on_root(communicator_, [&] { publish_file(part, path); });
  } catch (const CollectiveError&) {
    if (communicator_.is_root()) remove_file(part);
    throw;
  }
  last_times_.proved = timer.seconds();
  ++files_written_;
  bytes_written_ += bytes;
  cell_bytes_ += header.cells.product() * (header.precision == Precision::fp32 ? 4 : 8);
  seconds_ += last_times_.proved;
  return path;
}

// Plain calls of one rank first: they say why a file cannot be made, or will not fit, better than MPI-IO
// does.
void SnapshotWriter::prepare(const std::string& part, std::int64_t bytes) const {
  Watchdog watchdog(timeout_, part, communicator_.rank());
  watchdog.phase("creating the file");
  on_root(communicator_, [&] {
    create_empty_file(part);
    try {
      reserve_space(part, bytes);
    } catch (...) {
      remove_file(part);
      throw;
    }
  });
}

// Returns the bytes of the file, which is closed and on the disk.
template <class T>
std::int64_t SnapshotWriter::write_part(const std::string& part, FieldView<const T> field, Box block,
                                        const SnapshotHeader& header) {
  // Ranks that only send cells wait for the writer as long as it takes; its watchdog watches for them.
  const bool opens = cells_->opens_file(communicator_), compressed = header.compression != 0;
  Watchdog watchdog(opens ? timeout_ : Watchdog::Seconds(0), part, communicator_.rank());
  std::optional<SnapshotFile> file;
  std::int64_t cells_end = 0;

  watchdog.phase("writing the header");
  if (opens) {
    file.emplace(part, cells_->file_access(communicator_).get(), header, communicator_.is_root());
    file->flush();
    cells_end = compressed ? expected_bytes(header) : file->cells_end();
  }
  watchdog.phase("reserving space");
  Reserved reserved = Reserved::on_disk;
  try {
    on_root(communicator_, [&] {
      reserved = reserve_space(part, cells_end, compressed ? FileSize::stays : FileSize::grows);
    });
  } catch (const CollectiveError&) {
    if (file) file->close();  // nothing has failed in HDF5, and every rank is here
    if (communicator_.is_root()) remove_file(part);
    throw;
  }
  if (communicator_.all_reduce(std::int64_t{reserved == Reserved::estimated}, ReduceOp::max))
    remark("this file system cannot reserve space for a file (quotas and other writers may still fill it)");

  remark(cells_->write(communicator_, field,
                       {block, header.cells, chunk_of(header), header.precision,
                        file ? file->cells() : H5I_INVALID_HID, slab_bytes_, part},
                       watchdog));
  watchdog.phase("closing the file");
  if (file) file->close();
  watchdog.phase("fsync");
  std::int64_t bytes = 0;
  on_root(communicator_, [&] {
    if (compressed) release_space(part);
    sync_file(part);
    bytes = static_cast<std::int64_t>(std::filesystem::file_size(part));
  });
  return communicator_.all_reduce(bytes, ReduceOp::max);
}

template <class T>
std::uint64_t SnapshotWriter::fingerprint(FieldView<const T> field, Box block) const {
  const std::uint64_t mine = stored_precision<T>(grid_) == Precision::fp32
                                 ? stored_fingerprint<float>(field, block, grid_.cells, slab_bytes_)
                                 : stored_fingerprint<double>(field, block, grid_.cells, slab_bytes_);
  return communicator_.all_reduce(mine, ReduceOp::sum);
}

// MPI-IO that loses data without an error is caught here, and so is a disk that does.
void SnapshotWriter::read_back(const std::string& part, Box block, const SnapshotHeader& header) const {
  Watchdog watchdog(timeout_, part, communicator_.rank());
  watchdog.phase("reading back");
  const std::uint64_t here = agree(communicator_, [&] {
    return header.precision == Precision::fp32
               ? fingerprint_on_disk<float>(part, block, header.cells, slab_bytes_)
               : fingerprint_on_disk<double>(part, block, header.cells, slab_bytes_);
  });
  const std::uint64_t on_disk = communicator_.all_reduce(here, ReduceOp::sum);
  if (on_disk != header.meta.fingerprint)
    throw CollectiveError(
        ExitCode::io,
        fmt::format(
            "{}: the file does not hold what was written (fingerprint {} on the disk, {} of the field); "
            "the file system or its MPI-IO driver loses data: write to another one",
            part, fingerprint_text(on_disk), fingerprint_text(header.meta.fingerprint)));
}

template <class Work>
void SnapshotWriter::on_series(const Work& work) {
  Watchdog watchdog(timeout_, grid_.stem + ".hdf.series", communicator_.rank());
  watchdog.phase("writing the series");
  on_root(communicator_, work);
}

void SnapshotWriter::continue_series(std::int64_t sweep) {
  std::vector<std::string> problems;
  on_root(communicator_, [&] { problems = series_->take_over(sweep); });
  problems.resize(static_cast<std::size_t>(communicator_.all_reduce(std::ssize(problems), ReduceOp::max)));
  for (const std::string& problem : problems) remark(communicator_.broadcast(problem));
}

void SnapshotWriter::publish_series() {
  if (files_) files_->finish();
  on_series([&] { series_->publish(); });
}

std::string SnapshotWriter::viewer_file() const {
  return series_ ? series_->viewer_file() : "";
}

void SnapshotWriter::add_to(WritingRecord& record) const {
  record.files += files_written_;
  record.bytes += bytes_written_;
  record.cell_bytes += cell_bytes_;
  record.compression = grid_.compression;
  record.seconds += seconds_;
}

void SnapshotWriter::remark(const std::string& text) {
  if (!text.empty() && std::find(remarks_.begin(), remarks_.end(), text) == remarks_.end())
    remarks_.push_back(text);
}

SnapshotWriter::SnapshotWriter(SnapshotWriter&&) noexcept = default;
SnapshotWriter::~SnapshotWriter() = default;

template std::string SnapshotWriter::write_file<float>(const std::string&, FieldView<const float>, Box,
                                                       const SnapshotMeta&,
                                                       const std::optional<CheckpointState>&);
template std::string SnapshotWriter::write_file<double>(const std::string&, FieldView<const double>, Box,
                                                        const SnapshotMeta&,
                                                        const std::optional<CheckpointState>&);
template std::string SnapshotWriter::write<float>(FieldView<const float>, Box, const SnapshotMeta&);
template std::string SnapshotWriter::write<double>(FieldView<const double>, Box, const SnapshotMeta&);
template std::string SnapshotWriter::start<float>(std::function<FieldView<const float>()>, Box, double,
                                                  std::int64_t);
template std::string SnapshotWriter::start<double>(std::function<FieldView<const double>()>, Box, double,
                                                   std::int64_t);
template std::uint64_t SnapshotWriter::fingerprint<float>(FieldView<const float>, Box) const;
template std::uint64_t SnapshotWriter::fingerprint<double>(FieldView<const double>, Box) const;

}  // namespace isotherm
