// What is told of each case: the columns of study.csv, and those of the table at the end.
#pragma once

#include <string>
#include <vector>

#include "config/problems.hpp"
#include "study/expansion.hpp"

namespace isotherm {

struct Column {
  std::string name;  // with its unit behind the last '_', as in run.json and history.csv: "step_s", "max_K"
  std::string path;  // within run.json: "performance.step_s"; empty: of history.csv, under its name
};

// Those that every study has, behind name, the varied keys, ranks, state and exit_code.
const std::vector<Column>& run_columns();

// Those that a deck with scaling has besides.
const std::vector<const char*>& scaling_columns();

// Refuses what study.report and study.sort name and no case can have. A path within run.json ("a.b") may be
// any.
void check_columns(const StudyConfig& study, const std::vector<std::string>& varied, Problems& problems);

}  // namespace isotherm
