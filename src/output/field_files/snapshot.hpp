// Snapshots, files of a part of the cells, and checkpoints: one `.hdf` file a time, VTKHDF 1.0 ImageData with
// point data where it has more than one layer, and an `.hdf.series` and an `.xmf` beside them.
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
  double time;          // s; in a steady problem the sweep, so that the files stay apart
  std::string dataset;  // of its cells
  Precision stored;     // in which they are
};

// XDMF 3 over the `.hdf` files of the folder, for ParaView, as cells in their box (VTKHDF has points alone).
std::string xdmf_text(const FileGrid& grid, const std::vector<SeriesEntry>& entries);

class SnapshotSeries;

// Seconds of a file on this rank, from the start of its writing.
struct SnapshotTimes {
  double written = 0;  // its cells are on the disk
  double proved = 0;   // it was read back, and has its name
};

// Writes `.part`, reads it back, compares, and renames it: a file under its final name is complete and holds
// the field of its fingerprint. A failure that all ranks know of (no permission, no space, a file that reads
// back wrong) is a CollectiveError, `.part` is gone, and a caller may go on. A failed HDF5 call is a plain
// Error(io) of its ranks: it leaves the others waiting, so main must end them all with MPI_Abort. A stalled
// file system ends the process by the watchdog (ISOTHERM_IO_TIMEOUT seconds a phase).
class SnapshotWriter {
 public:
  static constexpr Index default_slab_bytes = Index{64} << 20;

  // Collective. The folder must exist. `grid`: the cells; `config`: what all files of a run have in common.
  // `slab_bytes`: the memory that writing may take on each rank, twice of it on rank 0 of a serial HDF5; at
  // most 1 GiB. `files`: of all writers of a run, which take turns by it. The writer must not move, nor end,
  // while a file of it is under way. Throws Error(command_line) for a wrong ISOTHERM_IO_TIMEOUT.
  SnapshotWriter(const Config& config, const FileGrid& grid, const Communicator& communicator,
                 std::string folder, SnapshotProvenance provenance, FileThread& files,
                 Index slab_bytes = default_slab_bytes);

  // Collective. The next file of the series, in the turn of `files` and by its thread where it has one.
  // `subdomain`: this rank's of the file's cells, which may be empty. `cells` is called first: it waits for
  // what it returns, which nobody may touch until wait() returns. There errors are thrown. Returns the path
  // that the file will have.
  std::string start(std::function<CellsView()> cells, Box subdomain, double time, std::int64_t sweep);
  // Collective. The materials of the cells, by rank 0, where `grid` names a file of them; in the turn of
  // `files`. `config` outlives it.
  void start_materials(const Config& config);
  void wait() { files_.wait(started_); }  // for the last file that was started
  // Collective: a file of this name in no series, behind those that were started; a checkpoint with `state`.
  // `meta.fingerprint` must be that of the cells as stored. Returns the file's path.
  std::string write_file(const std::string& name, const CellsView& field, Box subdomain,
                         const SnapshotMeta& meta, const std::optional<CheckpointState>& state);
  // Of the cells as the file will hold them, rounded where it is narrower than the field. Collective.
  std::uint64_t fingerprint(const CellsView& field, Box subdomain) const;

  // Collective. Before the first write: the series continues that of an earlier part of the run, up to
  // `sweep`.
  void continue_series(std::int64_t sweep);
  void publish_series();  // collective: the series names all files that were started
  // On rank 0, once there is a file: what to open in a viewer, the `.xmf` or else the `.hdf.series`.
  std::string viewer_file() const;

  void add_to(WritingRecord& record) const;  // this rank's files, bytes and seconds; none is under way
  const SnapshotTimes& last_times() const { return last_times_; }  // of the last file
  // What a log should say of how files were written, each once; usually nothing. The same on all ranks.
  const std::vector<std::string>& remarks() const { return remarks_; }

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
  void remark(const std::string& text);

  SnapshotProvenance provenance_;
  Index slab_bytes_;
  Watchdog::Seconds timeout_;
  bool collective_ = false;
  std::shared_ptr<SnapshotSeries> series_;  // of rank 0
  std::vector<std::string> remarks_;
  WritingRecord written_;
  SnapshotTimes last_times_;
  FileThread& files_;
  FileThread::Ticket started_ = 0;
};

// Checkpoints: files like snapshots, with what a run needs to go on, in the run's directory.
//
//     <name>_00000100.checkpoint.hdf   by sweep; at least two stay, the newest
//     latest                           a line: the name of the one that was written last
class CheckpointWriter : SnapshotWriter {
 public:
  // As SnapshotWriter. Collective.
  CheckpointWriter(const Config& config, const Communicator& communicator, std::string folder,
                   SnapshotProvenance provenance, FileThread& files);

  // As SnapshotWriter::write_file. Once the file has its name, `latest` names it, and only then are the
  // oldest deleted, with what a run that went on from an earlier sweep has left aside.
  std::string write(const CellsView& field, Box subdomain, const SnapshotMeta& meta,
                    const CheckpointState& state);

  // Of the last write, on the slowest rank; an estimate before the first. The same on all ranks.
  double seconds() const { return seconds_; }
  using SnapshotWriter::remarks;

 private:
  int keep_;
  double seconds_;
};

// Which checkpoints go when `written` is there and `keep` may stay: the oldest, and those of later sweeps.
std::vector<std::int64_t> superfluous(std::vector<std::int64_t> sweeps, std::int64_t written, int keep);
// The sweeps of the checkpoints in a folder, the newest first. Unfinished ones are none.
std::vector<std::int64_t> find_checkpoints(const std::string& folder, const std::string& run_name);
// Those of later sweeps get another name, so that they are not taken for the newest. Throws Error(io).
void set_aside_later(const std::string& folder, const std::string& run_name, std::int64_t sweep);
// Throws Error(file_missing) or Error(deck) where the file is no checkpoint with a sound header.
SnapshotHeader read_checkpoint_header(const std::string& path);

}  // namespace isotherm
