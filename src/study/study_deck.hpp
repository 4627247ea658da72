// A deck with `study:` or `scaling:` as its cases, each resolved and checked as a run of it would be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/deck.hpp"
#include "study/expansion.hpp"

namespace isotherm {

struct DeckCase {
  StudyCase study;
  Config config;     // its directory is a folder of its name in that of the study
  std::string deck;  // resolved, as isotherm run takes it
};

struct StudyDeck {
  StudyConfig study;
  std::string directory;            // output.directory of the deck: the cases' folders lie in it
  bool overwrite = false;           // output.overwrite of the deck: cases that have changed are replaced
  std::vector<std::string> varied;  // keys
  std::vector<DeckCase> cases;
  std::vector<std::string> warnings;
};

// False too for what is no deck.
bool is_study(const std::string& text, const std::vector<std::string>& overrides = {});

// Throws as parse_deck does, all cases read; lines that not every case has end in those that do, "[case a]".
// `limit`: instead of study.limit.
StudyDeck parse_study(const std::string& text, const std::string& path,
                      const std::vector<std::string>& overrides, const KnownRows& rows,
                      const std::vector<int>& arguments = {}, std::optional<int> limit = {});

// Leaves one case of them. Throws Error(command_line) where none has this name.
void keep_case(StudyDeck& deck, const std::string& name);

}  // namespace isotherm
