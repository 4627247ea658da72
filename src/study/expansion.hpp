// From `study:` of a deck to its cases: which keys have which values in each, and what it is called.
#pragma once

#include <string>
#include <vector>

#include "config/problems.hpp"
#include "config/study_config.hpp"

namespace isotherm {

struct StudySetting {
  std::string key;  // "solver.kernel"; "ranks" is not of the deck
  YamlNode value;   // placed where it was written
};

struct StudyCase {
  std::string name;  // of its folder: letters, digits and . _ - + only
  int ranks = 1;
  std::vector<StudySetting> settings{};  // in the order in which the deck has the keys, ranks left out
};

struct Expansion {
  std::vector<std::string> varied;  // keys, in the order of the deck; ranks too where it varies
  std::vector<StudyCase> cases;     // the last key of the matrix changes fastest
};

// matrix x zip x list, without those that are excluded. What is wrong is added to `problems`, by which the
// result is of no use then.
Expansion expand(const StudyConfig& study, Problems& problems);

// The value as it stands in names and tables: "naive", "0.5", "8x8x4".
std::string value_text(const YamlNode& value);
// The case's value of a varied key as text; "default" where it leaves it to the deck.
std::string value_text(const StudyCase& each, const std::string& key);

}  // namespace isotherm
