// Arguments `a.b.c=value` that replace what the deck says.
#pragma once

#include <string>
#include <vector>

#include "config/problems.hpp"
#include "config/yaml_tree.hpp"

namespace isotherm {

// Keys of a deck by their dotted paths: "solver.kernel", "sources.0.value".
struct KeyAtPath {
  std::string problem;  // "unknown key; did you mean 'solver.kernel'?"; empty where a deck has the key
  std::string unit;     // "W/(m K)"; empty for words, counts, ratios and maps
};
KeyAtPath find_key_at(const std::string& path);

struct Override {
  int argument;       // its number on the command line
  std::string key;    // "initial.0.value"
  std::string value;  // YAML
};

// `numbers`: of the arguments on the command line; counted from 1 where there are none. Throws
// Error(command_line) for one without '=' or key, and for a key that stands twice.
std::vector<Override> split_overrides(const std::vector<std::string>& arguments,
                                      const std::vector<int>& numbers);

// Puts the value where its key says, making maps on the way. The reader checks whether the key exists.
void apply_override(YamlNode& deck, const Override& override, Problems& problems);
// The same with a value that is a tree with a place.
void put_value(YamlNode& deck, const std::string& key, YamlNode value, Problems& problems);

}  // namespace isotherm
