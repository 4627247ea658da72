// Job scripts for Slurm: a template that users edit, with what is to be run in the places that it has for it.
#pragma once

#include <string>
#include <vector>

#include "config/problems.hpp"
#include "config/study_config.hpp"

namespace isotherm {

struct SlurmScript {
  std::string name;                    // @name@ of the job
  std::string output;                  // @output@, a file: what its tasks say
  std::vector<int> tasks{};            // @tasks@ of the array, ascending
  int at_once = 0;                     // of them; 0: as many as there is room for
  int ranks = 1;                       // @ranks@ of each
  std::vector<std::string> options{};  // @options@ of sbatch
  std::vector<std::string> cases{};    // @cases@, of each task; empty: it is of none
  std::string folder{};                // @folder@ where the command is at home
  std::string command{};               // @command@, as bash reads it
};

const char* default_slurm_template();  // inputs/study.sbatch
// Of the file that study.slurm.template names. Throws Error(file_missing).
std::string read_slurm_template(const SlurmConfig& slurm);
// `path`: for messages. Throws Error(deck) where a place-holder is missing or is none.
std::string fill_slurm_template(const std::string& text, const std::string& path, const SlurmScript& script);

// Refuses options that would be no line of their own.
void check_slurm(const SlurmConfig& slurm, Problems& problems);

}  // namespace isotherm
