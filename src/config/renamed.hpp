// Keys and words of decks that were renamed: an error in a deck, translated in what an earlier version has
// written.
#pragma once

#include <string>

#include "config/problems.hpp"
#include "config/yaml_tree.hpp"

namespace isotherm {

// Renames them in `deck`, with a problem for each that names the new word.
void refuse_old_words(YamlNode& deck, Problems& problems);

// A deck that isotherm has stored in a file, in the words of this version.
YamlNode stored_deck(const std::string& text);  // throws YamlError
std::string stored_deck_text(const std::string& text);

}  // namespace isotherm
