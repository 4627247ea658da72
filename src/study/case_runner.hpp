// Runs the cases of a study as processes of their own, several at once, and goes on where others left off.
#pragma once

#include <string>

#include "study/case_state.hpp"
#include "study/study_deck.hpp"

namespace isotherm {

struct RunnerOptions {
  std::string program;  // isotherm
  int jobs = 1;         // at once
  int cores = 1;        // of this host, shared by the jobs
  Failed failed = Failed::stay;
};

// Throws Error(cannot_create), before anything is started, where a folder holds a run of another deck and the
// study may not replace it.
void refuse_changed(const StudyDeck& deck);

// Until all cases that are due have ended, or a signal came: the cases then stop with checkpoints. Says on
// stdout how each ends. Returns the signal, or 0.
int run_cases(const StudyDeck& deck, const RunnerOptions& options);

}  // namespace isotherm
