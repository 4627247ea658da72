// Checkpoints: files like snapshots, with what a run needs to go on, in the run's directory.
//
//     <name>_00000100.checkpoint.hdf   by sweep; at least two stay, the newest
//     latest                           a line: the name of the one that was written last
#pragma once

#include <string>
#include <vector>

#include "output/field_files/snapshot.hpp"

namespace isotherm {

class CheckpointWriter {
 public:
  // As SnapshotWriter. Collective.
  CheckpointWriter(const Config& config, const Communicator& communicator, std::string folder,
                   SnapshotProvenance provenance, FileThread* files = nullptr);

  // As SnapshotWriter::write_file. Once the file has its name, `latest` names it, and only then are the
  // oldest deleted, with what a run that went on from an earlier sweep has left aside.
  template <class T>
  std::string write(FieldView<const T> field, Box block, const SnapshotMeta& meta,
                    const CheckpointState& state);

  // Of the last write, on the slowest rank; an estimate before the first. The same on all ranks.
  double seconds() const { return seconds_; }
  const std::vector<std::string>& remarks() const { return files_.remarks(); }

 private:
  std::string run_name_, folder_;
  int keep_;
  Communicator communicator_;
  SnapshotWriter files_;
  double seconds_;
};

// Of the checkpoints of these sweeps, those that go when that of `written` is there and `keep` may stay: the
// oldest, and those of later sweeps, which the run has gone back behind.
std::vector<std::int64_t> superfluous(std::vector<std::int64_t> sweeps, std::int64_t written, int keep);

// The sweeps of the checkpoints in a folder, the newest first. Unfinished ones are none.
std::vector<std::int64_t> find_checkpoints(const std::string& folder, const std::string& run_name);

// Those of later sweeps get another name, so that they are not taken for the newest. Throws Error(io).
void set_aside_later(const std::string& folder, const std::string& run_name, std::int64_t sweep);

// Throws Error(file_missing) or Error(deck) where the file is no checkpoint with a sound header. The cells
// are not looked at.
SnapshotHeader read_checkpoint_header(const std::string& path);

}  // namespace isotherm
