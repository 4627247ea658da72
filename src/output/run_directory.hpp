// The folder that one run writes to, and nothing outside it.
//
//     deck.resolved.yaml   the deck with its defaults and overrides; also the mark of a run directory, with
//                          the run's name in its first line
//     deck.yaml            the deck as it was given, byte for byte
//     run.log  history.csv  probes.csv  run.json
//     run.lock             while a run writes there
//     <name>_00000100.hdf  snapshots, and <name>.hdf.series and .xmf beside them; in the same way
//                          <name>_slice_z12..., <name>_region..., <name>_coarse...
//     <name>_material.h5  of a body of several materials: which one each cell of the snapshots has
//
// A folder is an earlier run of ours when deck.resolved.yaml stands in it: written first, removed last. Files
// of our names in a folder without that mark are a stranger's, and are rejected whatever the deck says.
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
// What a run that goes on does not go on with: checkpoints of later sweeps, a history with other columns.
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
// Those that stand in the folder, sorted; none where there is no folder.
std::vector<std::string> find_run_files(const std::filesystem::path& folder, std::string_view run_name);
// Of them those with this suffix, by sweep.
std::multimap<std::int64_t, std::string> files_by_sweep(const std::filesystem::path& folder,
                                                        std::string_view run_name, std::string_view suffix);

enum class Force { no, yes };  // take a directory whose lock looks alive

// One run a directory: `run.lock` says who writes there (host, process, its start in ticks, the job). Made by
// O_EXCL, as locks of file systems cannot be relied on; a helper thread, which calls neither MPI nor HDF5,
// touches it every ten seconds. One whose process is gone from this host, whose job is ours (started again),
// or which is untouched for two minutes is left over from a killed run, and is taken.
class RunLock {
 public:
  // Throws Error(cannot_create) where another run writes to `folder`, which must exist.
  RunLock(const std::filesystem::path& folder, Force force);
  ~RunLock();  // gives the folder free
  RunLock& operator=(RunLock&&) = delete;

  const std::string& warning() const { return warning_; }  // of a lock that was taken; usually empty

 private:
  void take(Force force);
  void keep_alive(const std::stop_token& stop);

  std::filesystem::path path_;
  std::string mine_, warning_;
  std::jthread thread_;
};

struct RunDirectory {
  std::filesystem::path path;
  std::shared_ptr<RunLock> lock{};  // of rank 0, while the run writes there

  std::filesystem::path log() const { return path / "run.log"; }
  std::filesystem::path history() const { return path / "history.csv"; }
  std::filesystem::path probes() const { return path / "probes.csv"; }
  std::filesystem::path record() const { return path / "run.json"; }
};

// Makes output.directory, which is used to the letter, locks it before it looks at it, removes the earlier
// run's files (is_run_file) where output.overwrite is set, and writes both decks. Throws
// Error(cannot_create), before anything changes, where the path is no folder, cannot be made or written to,
// is locked, or holds files that must stay. `deck`: bytes of deck.yaml; `resumes`: the files stay; `lock`:
// where the run has locked the folder before.
RunDirectory prepare_run_directory(const Config& config, const std::string& deck, bool resumes, Force force,
                                   std::shared_ptr<RunLock> lock);

}  // namespace isotherm
