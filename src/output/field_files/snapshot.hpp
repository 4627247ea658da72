// Snapshots, and files of a part of the cells: one `.hdf` file a time, VTKHDF 1.0 ImageData with point data
// where it has more than one layer, and an `.hdf.series` and an `.xmf` beside them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/field_view.hpp"
#include "core/watchdog.hpp"
#include "output/field_files/snapshot_header.hpp"
#include "output/field_files/snapshot_series.hpp"
#include "output/file_thread.hpp"
#include "output/records/run_record.hpp"

namespace isotherm {

class CellWriter;

// Seconds of a file on this rank, from the start of its writing.
struct SnapshotTimes {
  double written = 0;  // its cells are on the disk
  double proved = 0;   // it was read back, and has its name
};

// Written in the order: guard the space, `.part`, flush, close, fsync, read back and compare, rename, fsync
// of the folder, series. A file under its final name is complete and holds the field of its fingerprint.
//
// Where all ranks know of a failure (no permission, no space, a file that reads back wrong) it is a
// CollectiveError, `.part` is gone, and a caller may go on. A failed HDF5 call while the file is written is a
// plain Error(io) of the ranks concerned: HDF5 has left the others waiting, so main must end them all with
// MPI_Abort. A stalled file system ends the process by the watchdog (ISOTHERM_IO_TIMEOUT seconds a phase).
class SnapshotWriter {
 public:
  using Provenance = SnapshotProvenance;
  static constexpr Index default_slab_bytes = Index{64} << 20;

  // Collective. The folder must exist. `slab_bytes`: the memory that writing may take on each rank, twice of
  // it on rank 0 of a serial HDF5; at most 1 GiB. `files`: of all writers of a run, which take turns by it;
  // null for one that is alone. It must not move, nor end, while a file of it is under way. Throws
  // Error(command_line) for a wrong ISOTHERM_IO_TIMEOUT.
  SnapshotWriter(const Config& config, const Communicator& communicator, std::string folder,
                 Provenance provenance, FileThread* files = nullptr, Index slab_bytes = default_slab_bytes);
  // Of these cells. `config` says what all files of a run have in common.
  SnapshotWriter(const Config& config, const FileGrid& grid, const Communicator& communicator,
                 std::string folder, Provenance provenance, FileThread* files = nullptr,
                 Index slab_bytes = default_slab_bytes);
  SnapshotWriter(SnapshotWriter&&) noexcept;
  ~SnapshotWriter();

  // `field` in host memory: this rank's `block` of the file's cells, which may be empty. Collective. Returns
  // the file's path. `meta.fingerprint` must be that of the cells as they are stored.
  template <class T>
  std::string write(FieldView<const T> field, Box block, const SnapshotMeta& meta);
  // A file of this name that is in no series: a checkpoint, where `state` is given. Else as write().
  template <class T>
  std::string write_file(const std::string& name, FieldView<const T> field, Box block,
                         const SnapshotMeta& meta, const std::optional<CheckpointState>& state);
  // As write(), in the turn of `files` and by its thread where it has one; the fingerprint is found there
  // too. `cells` is called first: it waits for what it returns, which nobody may touch until wait() returns.
  // There errors are thrown. Returns the path that the file will have.
  template <class T>
  std::string start(std::function<FieldView<const T>()> cells, Box block, double time, std::int64_t sweep);
  void wait();  // for the last file that was started
  // Of the cells as the file will hold them, rounded where it is narrower than the field. Collective.
  template <class T>
  std::uint64_t fingerprint(FieldView<const T> field, Box block) const;
  const FileGrid& grid() const { return grid_; }

  // Before the first write: the series goes on with what an earlier part of the run has written up to
  // `sweep`. Collective.
  void continue_series(std::int64_t sweep);
  // Behind all files that were started: the series names them. Collective.
  void publish_series();
  // On rank 0, once there is a file: what to open in a viewer, the `.xmf` or else the `.hdf.series`.
  std::string viewer_file() const;

  std::int64_t bytes_written() const { return bytes_written_; }
  void add_to(WritingRecord& record) const;  // this rank's files, bytes and seconds; none is under way
  const SnapshotTimes& last_times() const { return last_times_; }  // of the last file
  // What a log should say of how files were written, each once; usually nothing. The same on all ranks.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  template <class T>
  std::string write_now(const std::string& name, FieldView<const T> field, Box block,
                        const SnapshotMeta& meta, const std::optional<CheckpointState>& state);
  template <class T>
  std::string write_in_series(FieldView<const T> field, Box block, const SnapshotMeta& meta);
  void prepare(const std::string& part, std::int64_t bytes) const;
  template <class T>
  std::int64_t write_part(const std::string& part, FieldView<const T> field, Box block,
                          const SnapshotHeader& header);
  void read_back(const std::string& part, Box block, const SnapshotHeader& header) const;
  template <class Work>
  void on_series(const Work& work);
  void remark(const std::string& text);

  FileGrid grid_;
  bool xdmf_;
  Communicator communicator_;
  std::string folder_;
  Provenance provenance_;
  Index slab_bytes_;
  Watchdog::Seconds timeout_;
  std::unique_ptr<CellWriter> cells_;
  std::unique_ptr<SnapshotSeries> series_;  // of rank 0
  std::vector<std::string> remarks_;
  std::int64_t files_written_ = 0, bytes_written_ = 0, cell_bytes_ = 0;
  double seconds_ = 0;
  SnapshotTimes last_times_;
  FileThread* files_;
  FileThread::Ticket started_ = 0;
};

}  // namespace isotherm
