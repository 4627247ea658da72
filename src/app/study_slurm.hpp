// isotherm study --slurm: the cases that are due as job arrays, whose tasks run isotherm study --case.
#pragma once

#include <string>

#include "app/command_line.hpp"
#include "study/study_deck.hpp"

namespace isotherm {

// The scripts that would be submitted, and how; submits and writes nothing.
std::string slurm_dry_run_text(const CommandLine& command, const StudyDeck& deck);

// Into the study's directory, which must be there, and to Slurm. Says on stdout what it has submitted. False:
// no case is due, and none is in the queue. Throws Error(unavailable) where Slurm is missing or refuses.
bool submit_study(const CommandLine& command, const StudyDeck& deck);

}  // namespace isotherm
