// What the cases of a study will need, by arithmetic and one measurement.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/placement.hpp"
#include "core/device.hpp"
#include "study/case_state.hpp"
#include "study/study_deck.hpp"

namespace isotherm {

struct CasePlan {
  std::string name;
  int ranks = 1;
  Int3 cells{};              // of the largest grid of a series
  std::int64_t sweeps = 0;   // at most, in a steady problem
  double memory_bytes = 0;   // of all ranks, where they compute
  double file_bytes = 0;     // of the field, checkpoints included
  double traffic_bytes = 0;  // the least that its sweeps move
  Backend backend = Backend::host;
  CaseLook look{};
};

// Throws Error, with the case's name, for what a run of a case would be refused for: on this host, or on any.
void refuse_cases(const StudyDeck& deck, Host host);

std::vector<CasePlan> plan_cases(const StudyDeck& deck);
std::string plan_table(const std::vector<CasePlan>& plans, std::optional<int> width);

// With times, for which the copy bandwidth of this host is measured; starts nothing and writes nothing.
std::string dry_run_text(const StudyDeck& deck, Failed failed, std::optional<int> width);

}  // namespace isotherm
