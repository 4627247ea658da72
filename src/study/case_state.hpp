// Where a case stands, by what is in its folder and nothing else.
//
//     <case>/<case>.yaml             its resolved deck, as the study starts it
//     <case>/stdout.txt, stderr.txt  what its runs have said
//     <case>/case.json               how the last of them ended; not there while one is under way
//     <case>/slurm.json              as which task of Slurm it was submitted last (study/slurm_tasks.hpp)
//     <case>/run.json, deck.yaml ... the run's own (output/run_directory.hpp)
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "study/child_process.hpp"
#include "study/study_deck.hpp"

namespace isotherm {

enum class CaseState {
  not_started,
  interrupted,    // begun, and not ended by itself: killed, or still under way
  stopped,        // by a signal or the wall time, with exit code 75
  failed,         // with any other exit code
  not_converged,  // exit code 10: it has an answer, and would end so again
  done,
  changed,  // the folder holds a run of another deck
};
const char* word(CaseState state);

enum class Failed { stay, retry };  // what becomes of cases that have failed

struct CaseLook {
  CaseState state = CaseState::not_started;
  std::optional<int> exit_code{};
  std::string message{};               // of what failed
  bool has_files = false;              // of a run
  bool has_checkpoint = false;         // to go on from
  double seconds_of_sweeps = 0;        // of its last run, by its record
  std::vector<std::string> changes{};  // "problem.steps 100 -> 200"

  bool is_finished() const { return state == CaseState::done || state == CaseState::not_converged; }
  bool is_due(Failed failed) const {
    return !is_finished() && (state != CaseState::failed || failed == Failed::retry);
  }
};

struct CaseFiles {
  explicit CaseFiles(const DeckCase& each) : folder(each.config.output.directory), name(each.study.name) {}
  std::filesystem::path folder;
  std::string name;
  std::filesystem::path deck() const { return folder / (name + ".yaml"); }
  std::filesystem::path out() const { return folder / "stdout.txt"; }
  std::filesystem::path err() const { return folder / "stderr.txt"; }
  std::filesystem::path record() const { return folder / "case.json"; }
  std::filesystem::path run_record() const { return folder / "run.json"; }
  std::filesystem::path submission() const { return folder / "slurm.json"; }
  std::filesystem::path history() const { return folder / "history.csv"; }
};

CaseLook look_at(const DeckCase& each);

// Of a run of this case that has ended. `wall`: s.
void record_end(const DeckCase& each, const ChildEnd& end, const std::string& message, double wall);

// What of the case is not as it was in this resolved deck; where that lay does not matter.
std::vector<std::string> changes_since(const DeckCase& each, const std::string& deck,
                                       std::optional<int> ranks);

std::string file_text_or_empty(const std::filesystem::path& path);

}  // namespace isotherm
