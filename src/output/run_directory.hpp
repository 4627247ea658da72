// The folder that one run writes to; it writes nothing outside it.
//
//     deck.resolved.yaml   the deck with its defaults and overrides; also the mark of a run directory, with
//                          the run's name in its first line
//     deck.yaml            the deck as it was given, byte for byte
//     run.log  history.csv  probes.csv  run.json
//     run.lock             while a run writes there
//     <name>_00000100.hdf  snapshots, and <name>.hdf.series and .xmf next to them; likewise
//                          <name>_slice_z12..., <name>_region..., <name>_coarse...
//     <name>_material.h5  of a body of several materials: the material of each cell of the snapshots
//
// A folder with deck.resolved.yaml, which is written first and removed last, holds an earlier run of
// isotherm. Without this mark, a folder with files that have names of a run is rejected in any case.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace isotherm {

struct Config;

inline constexpr std::string_view snapshot_suffix = ".hdf", checkpoint_suffix = ".checkpoint.hdf",
                                  diverged_suffix = ".diverged.hdf";
// Files that a resumed run backs up: checkpoints of later sweeps, a history with other columns.
inline constexpr std::string_view aside_suffix = ".aside";

// "plate_00000100.hdf"
std::string file_of_sweep(std::string_view run_name, std::int64_t sweep, std::string_view suffix);
inline std::string checkpoint_name(std::string_view run_name, std::int64_t sweep) {
  return file_of_sweep(run_name, sweep, checkpoint_suffix);
}
// The number between "<run name>_" and the suffix; none for any other name.
std::optional<std::int64_t> sweep_of_file(std::string_view file_name, std::string_view run_name,
                                          std::string_view suffix);

// Does a run called `run_name` write a file of this name? Unfinished files end in `.part`.
bool is_run_file(std::string_view file_name, std::string_view run_name);
// The files of this run in the folder, sorted; none if there is no folder.
std::vector<std::string> find_run_files(const std::filesystem::path& folder, std::string_view run_name);
// The files of this run with this suffix, by sweep.
std::multimap<std::int64_t, std::string> files_by_sweep(const std::filesystem::path& folder,
                                                        std::string_view run_name, std::string_view suffix);

enum class Force { no, yes };  // take a directory even if its lock seems to be in use

// One run per directory: `run.lock` identifies the run that writes there (host, process, its start in ticks,
// the job). It is created with O_EXCL, as locks of file systems are not reliable; a helper thread, which
// calls neither MPI nor HDF5, touches it every ten seconds. A lock is stale, and is taken, if its process is
// gone from this host or, on another host, is of this job (restarted) or was silent for two minutes.
class RunLock {
 public:
  // Throws Error(cannot_create) where another run writes to `folder`, which must exist.
  RunLock(const std::filesystem::path& folder, Force force);
  ~RunLock();  // releases the lock
  RunLock& operator=(RunLock&&) = delete;

  const std::string& warning() const { return warning_; }  // on a lock that was taken; usually empty

 private:
  void take(Force force);
  void keep_alive(const std::stop_token& stop);

  std::filesystem::path path_;
  std::string mine_, warning_;
  std::jthread thread_;
};

struct RunDirectory {
  std::filesystem::path path;
  std::shared_ptr<RunLock> lock{};  // on rank 0, while the run writes there

  std::filesystem::path log() const { return path / "run.log"; }
  std::filesystem::path history() const { return path / "history.csv"; }
  std::filesystem::path probes() const { return path / "probes.csv"; }
  std::filesystem::path record() const { return path / "run.json"; }
};

// Throws Error(deck) if output.overwrite would remove a file that the deck reads.
void check_overwrite(const Config& config);

// Creates output.directory, a name used literally, locks it before reading it, removes the earlier run's
// files (is_run_file) if output.overwrite is set, and writes both decks. Throws Error(cannot_create), before
// any change, if the path is no folder, cannot be created or written to, is locked, or holds files that must
// be kept. `deck`: bytes of deck.yaml; `resumes`: files are kept; `lock`: of this run, or null.
RunDirectory prepare_run_directory(const Config& config, const std::string& deck, bool resumes, Force force,
                                   std::shared_ptr<RunLock> lock);

}  // namespace isotherm
