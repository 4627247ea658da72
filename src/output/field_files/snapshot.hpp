// Snapshots, files of a part of the cells, and checkpoints: one `.hdf` file per time (VTKHDF 1.0 ImageData
// with point data, unless it has only one layer), and an `.hdf.series` and an `.xmf` next to them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/timer.hpp"
#include "core/watchdog.hpp"
#include "output/field_files/snapshot_file.hpp"
#include "output/file_thread.hpp"
#include "output/records/run_record.hpp"

namespace isotherm {

struct SeriesEntry {
  std::string file;     // name within the folder of the series
  double time;          // s; in a steady problem the sweep, so that times differ
  std::string dataset;  // name of the dataset of cells
  Precision stored;     // of these cells
};

// XDMF 3 for the `.hdf` files of the folder: shows cell data in ParaView (VTKHDF has only point data).
std::string xdmf_text(const FileGrid& grid, const std::vector<SeriesEntry>& entries);

class SnapshotSeries;

// Seconds on this rank, from the start of writing a file.
struct SnapshotTimes {
  double written = 0;  // its cells are on the disk
  double proved = 0;   // it was read back and renamed
};

// Writes `.part`, reads it back, compares, and renames it: a file under its final name is complete and holds
// the field of its fingerprint. A failure that all ranks know of (no permission, no space, a file that reads
// back wrong) throws CollectiveError: `.part` is removed, and the caller may continue. A failed HDF5 call
// throws a plain Error(io) on its ranks: the others wait, so main must end all with MPI_Abort. If the file
// system stalls, the watchdog ends the process (ISOTHERM_IO_TIMEOUT seconds per phase).
class SnapshotWriter {
 public:
  static constexpr Index default_slab_bytes = Index{64} << 20;

  // Collective. The folder must exist. `grid`: the cells; `config`: the data common to all files of a run.
  // `slab_bytes`: the memory that writing may use on each rank, twice as much on rank 0 of a serial HDF5; at
  // most 1 GiB. `files`: shared by all writers of a run, which write in turn. The writer must not be moved or
  // destroyed while it writes a file. Throws Error(command_line) for a wrong ISOTHERM_IO_TIMEOUT.
  SnapshotWriter(const Config& config, const FileGrid& grid, const Communicator& communicator,
                 std::string folder, SnapshotProvenance provenance, FileThread& files,
                 Index slab_bytes = default_slab_bytes);

  // Collective. Queues the next file of the series in `files`; without a thread there, writes it.
  // `subdomain`: this rank's part of the file's cells, which may be empty. `cells` is called first: it waits
  // until its cells are ready; they must not change until wait() returns. wait() rethrows errors of the
  // thread. Returns the path that the file will have.
  std::string start(std::function<CellsView()> cells, Box subdomain, double time, std::int64_t sweep);
  void wait() { files_.wait(started_); }  // for the last file that was started
  // Collective. Writes the file of the cells' materials, which `grid` names, on rank 0.
  void write_materials(const Config& config);
  // Collective. Writes a file of this name, in no series, after the queued files; with `state` a checkpoint.
  // `meta.fingerprint` must be that of the cells as stored. Returns the file's path.
  std::string write_file(const std::string& name, const CellsView& field, Box subdomain,
                         const SnapshotMeta& meta, const std::optional<CheckpointState>& state);
  // Collective. Fingerprint of the cells as stored, rounded if the file has a lower precision than the field.
  std::uint64_t fingerprint(const CellsView& field, Box subdomain) const;

  // Collective, before the first write. Continues the series of an earlier part of the run, up to `sweep`.
  void continue_series(std::int64_t sweep);
  void publish_series();  // collective: the series names all files that were started

  // This rank's files, bytes and seconds, and the viewer file of the first series that has one; after wait().
  void add_to(WritingRecord& record) const;
  const SnapshotTimes& last_times() const { return last_times_; }  // of the last file

 protected:
  FileGrid grid_;
  Communicator communicator_;
  std::string folder_;

 private:
  Precision stored_precision(const CellsView& field) const;
  void write_now(const std::string& path, const CellsView& field, Box subdomain, const SnapshotMeta& meta,
                 const std::optional<CheckpointState>& state);
  std::int64_t write_part(const std::string& part, const CellsView& field, Box subdomain,
                          const SnapshotHeader& header);
  void read_back(const std::string& part, Box subdomain, const SnapshotHeader& header) const;

  SnapshotProvenance provenance_;
  Index slab_bytes_;
  Watchdog::Seconds timeout_;
  bool collective_ = false;
  std::shared_ptr<SnapshotSeries> series_;  // of rank 0
  WritingRecord written_;
  SnapshotTimes last_times_;
  FileThread& files_;
  FileThread::Ticket started_ = 0;
};

// Checkpoints in the run's directory: files like snapshots, with the state that a run needs to resume.
//
//     <name>_00000100.checkpoint.hdf   by sweep; the newest are kept, at least two
//     latest                           one line: the name of the checkpoint written last
class CheckpointWriter : SnapshotWriter {
 public:
  // As SnapshotWriter. Collective.
  CheckpointWriter(const Config& config, const Communicator& communicator, std::string folder,
                   SnapshotProvenance provenance, FileThread& files);

  // As SnapshotWriter::write_file. After the file is renamed, `latest` is set to its name; only then are the
  // oldest checkpoints deleted, and the files that a resumed run has backed up.
  std::string write(const CellsView& field, Box subdomain, const SnapshotMeta& meta,
                    const CheckpointState& state);

  // Duration of the last write on the slowest rank; an estimate before the first. The same on all ranks.
  double seconds() const { return seconds_; }

 private:
  int keep_;
  double seconds_;
};

// Checkpoints to delete once `written` exists, if `keep` are kept: the oldest, and those of later sweeps.
std::vector<std::int64_t> superfluous(std::vector<std::int64_t> sweeps, std::int64_t written, int keep);
// The sweeps of the checkpoints in a folder, the newest first, without unfinished ones.
std::vector<std::int64_t> find_checkpoints(const std::string& folder, const std::string& run_name);
// Renames checkpoints and fields of later sweeps, so that none of them is taken for the newest, and removes
// series files that list such a field. Throws Error(io).
void back_up_later(const std::string& folder, const std::string& run_name, std::int64_t sweep);
// Throws Error(file_missing) or Error(deck) where the file is no checkpoint with a sound header.
SnapshotHeader read_checkpoint_header(const std::string& path);

}  // namespace isotherm
