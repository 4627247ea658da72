// What all cases have come to, as study.csv, study.json and the table that answers the question.
#pragma once

#include <optional>
#include <string>

#include "core/error.hpp"
#include "study/case_state.hpp"
#include "study/study_deck.hpp"

namespace isotherm {

struct Collection {
  std::string csv;           // a line a case, in the order of the deck; names with units in the head
  std::string json;          // the same, with each case's settings and its whole run.json
  std::string table;         // study.report, sorted by study.sort; then those of scaling
  std::string disagreement;  // of fingerprints that must be one; else empty
  int finished = 0, failed = 0;
  ExitCode exit_code = ExitCode::done;  // of the first case that failed; stopped; not_converged; done
};

// `width`: of the terminal that the table is for, if it is for one.
Collection collect(const StudyDeck& deck, const std::string& deck_path, std::optional<int> width);

}  // namespace isotherm
