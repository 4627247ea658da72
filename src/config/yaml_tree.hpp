// The text of a deck as a tree with the position of each node. Knows YAML, but no keys of decks.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/enum_words.hpp"

namespace isotherm {

// A position in the deck (line and column, from 1) or in an override (the argument's number).
struct Place {
  int argument = 0;
  int line = 1, column = 1;

  std::string text(const std::string& deck) const;  // "deck.yaml:12:8" or "argument 3"

  // Positions in the deck from top to bottom, then those in overrides.
  friend auto operator<=>(const Place&, const Place&) = default;
};

struct YamlKey {
  std::string name;
  Place place;
};

struct YamlNode {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  Place place{};
  std::string text{};             // of a scalar
  bool quoted = false;            // a scalar in quotes is never a number
  std::vector<YamlKey> keys{};    // of a map, in order, duplicates included
  std::vector<YamlNode> items{};  // of a list, or the values of a map's keys

  // The first key of this name, and its value; null where there is none.
  const YamlKey* find_key(std::string_view name) const;
  const YamlNode* find(std::string_view name) const;
  YamlNode* find(std::string_view name) { return const_cast<YamlNode*>(std::as_const(*this).find(name)); }
  // Adds a key with its value to a map, at the value's place; returns the value.
  YamlNode& add(const std::string& name, YamlNode value) {
    keys.push_back({name, value.place});
    return items.emplace_back(std::move(value));
  }
};

inline YamlNode yaml_scalar(std::string text, const Place& place) {
  return {.kind = YamlNode::Kind::scalar, .place = place, .text = std::move(text)};
}
// [text(0), text(1), text(2)]
template <class Text>
YamlNode yaml_triple(const Text& text, const Place& place) {
  YamlNode list{.kind = YamlNode::Kind::list, .place = place};
  for (int axis = 0; axis < 3; ++axis) list.items.push_back(yaml_scalar(text(axis), place));
  return list;
}

ISOTHERM_WORDS(YamlNode::Kind, "nothing", "one value", "a list", "a map");

struct YamlError {
  Place place;
  std::string problem;  // "problem (why); what to do"
};

inline constexpr std::size_t largest_deck_bytes = 1 << 20;
// yaml-cpp looks ahead to the end of a line: an endless line of brackets would take 250 bytes per byte.
inline constexpr std::size_t longest_line_bytes = 16384;
inline constexpr int deepest_nesting = 16;
// Counted with aliases expanded; this limit stops a "billion laughs" deck.
inline constexpr std::size_t most_yaml_nodes = 50000;

// Throws YamlError for text that is not one YAML document of plain maps, lists and scalars. Aliases are
// expanded; tags are rejected. Duplicate and merge keys are kept for the reader to reject by path.
YamlNode parse_yaml(const std::string& text);

// Drops the keys of a map, with their values, whose names meet the condition.
void erase_keys(YamlNode& map, const std::function<bool(std::string_view)>& unwanted);

// Words and trees as YAML that reads back to the same.
std::string yaml_in_quotes(const std::string& text);
std::string yaml_text(const std::string& text);  // in quotes only where it needs them
std::string yaml_text(const YamlNode& node);     // on one line

}  // namespace isotherm
