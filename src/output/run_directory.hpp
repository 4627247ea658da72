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

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "output/run_lock.hpp"

namespace isotherm {

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
