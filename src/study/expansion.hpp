// From `study:` and `scaling:` of a deck to its cases: which keys have which values in each, and what it is
// called.
#pragma once

#include <string>
#include <vector>

#include "config/problems.hpp"
#include "config/study_config.hpp"

namespace isotherm {

struct StudySetting {
  std::string key;  // "solver.kernel"; "ranks" and "run" are not of the deck
  YamlNode value;   // placed where it was written
};

struct StudyCase {
  std::string name;  // of its folder: letters, digits and . _ - + only
  int ranks = 1;
  std::vector<StudySetting>
      settings{};  // in the order in which the deck has the keys, ranks and run left out
  int run = 1;     // of the repeats that `scaling:` asks for
  int series = 0;  // cases that differ in ranks and run alone have one
};

struct Expansion {
  std::vector<std::string> varied;  // keys, in the order of the deck; ranks and run too where they vary
  std::vector<StudyCase>
      cases;  // ranks of scaling change fastest, then the last key of the matrix; runs slowest
};

// runs x matrix x zip x list x counts of ranks, without those that are excluded. What is wrong is added to
// `problems`, by which the result is of no use then.
Expansion expand(const StudyConfig& study, Problems& problems);

// The value as it stands in names and tables: "naive", "0.5", "8x8x4".
std::string value_text(const YamlNode& value);
bool is_of_case(const std::string& key);  // ranks and run, which are no keys of a deck
// The case's value of a varied key as text; "default" where it leaves it to the deck.
std::string value_text(const StudyCase& each, const std::string& key);

}  // namespace isotherm
