// The folder that one run writes to, and nothing outside it.
//
//     deck.resolved.yaml   the deck with its defaults and overrides; also the mark of a run directory, with
//                          the run's name in its first line
//     deck.yaml            the deck as it was given, byte for byte
//     run.log  history.csv  probes.csv  run.json
//     run.lock             while a run writes there
//     <name>_00000100.hdf  snapshots, and <name>.hdf.series and .xmf beside them; in the same way
//                          <name>_slice_z12..., <name>_region..., <name>_coarse...
//
// A folder is an earlier run of ours when deck.resolved.yaml stands in it: written first, removed last. Files
// of our names in a folder without that mark are a stranger's, and are refused whatever the deck says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "output/run_lock.hpp"

namespace isotherm {

// The names of a run's files: which are ours, and what their numbers say.

inline constexpr std::string_view snapshot_suffix = ".hdf", checkpoint_suffix = ".checkpoint.hdf",
                                  diverged_suffix = ".diverged.hdf";
// What a run that goes on does not go on with: checkpoints of later sweeps, a history with other columns.
inline constexpr std::string_view aside_suffix = ".aside";

std::string snapshot_name(std::string_view run_name, std::int64_t sweep);  // "plate_00000100.hdf"
std::string checkpoint_name(std::string_view run_name,
                            std::int64_t sweep);                           // "plate_00000100.checkpoint.hdf"
std::string diverged_name(std::string_view run_name, std::int64_t sweep);  // "plate_00000100.diverged.hdf"
// The number between "<run name>_" and the suffix; none for any other name.
std::optional<std::int64_t> sweep_of_file(std::string_view file_name, std::string_view run_name,
                                          std::string_view suffix);

// Does a run called `run_name` write a file of this name? Unfinished files end in `.part`.
bool is_run_file(std::string_view file_name, std::string_view run_name);
// Those that stand in the folder, sorted; none where there is no folder.
std::vector<std::string> find_run_files(const std::filesystem::path& folder, std::string_view run_name);

struct RunDirectory {
  std::filesystem::path path;
  std::shared_ptr<RunLock> lock{};  // of rank 0, while the run writes there

  std::filesystem::path log() const { return path / "run.log"; }
  std::filesystem::path history() const { return path / "history.csv"; }
  std::filesystem::path probes() const { return path / "probes.csv"; }
  std::filesystem::path record() const { return path / "run.json"; }
};

// What to do with an earlier run in the folder; resume: keep its files and go on with them.
enum class Existing { refuse, replace, resume };

struct RunDirectoryPlan {
  std::filesystem::path path;  // used to the letter: nothing in it is expanded or cleaned
  std::string run_name;        // that snapshots begin with
  Existing existing = Existing::refuse;
  std::string deck;           // bytes of deck.yaml
  std::string resolved_deck;  // deck.resolved.yaml below its first line
};

// Makes the folder and its parents, takes away the files (only those of is_run_file) of the earlier run, also
// where that had another name, where that is allowed, and writes both decks. Throws Error(cannot_create),
// before anything is removed or written, where the path is no folder, cannot be made or written to, or holds
// files that must stay.
RunDirectory prepare_run_directory(const RunDirectoryPlan& plan);

struct RunDirectoryUse {
  bool resumed = false;  // the run goes on with what stands there
  Force force = Force::no;
  std::shared_ptr<RunLock> lock{};  // of rank 0, which may have locked it before
};

// Collective: rank 0 does the work, and all ranks return or throw together. The directory is locked before
// anything in it is looked at.
RunDirectory open_run_directory(const Config& config, const std::string& deck,
                                const std::string& resolved_deck, const Communicator& communicator,
                                const RunDirectoryUse& use = {});

}  // namespace isotherm
