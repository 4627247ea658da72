// Arguments `a.b.c=value` that replace what the deck says.
#pragma once

#include <string>
#include <vector>

#include "config/problems.hpp"
#include "config/yaml_tree.hpp"

namespace isotherm {

// Keys of a deck by their dotted paths: "solver.kernel", "sources.0.value".
struct KeyAtPath {
  std::string
      problem;       // why no deck has such a key: "unknown key; did you mean 'solver.kernel'?"; else empty
  std::string unit;  // "W/(m K)"; empty for words, counts, ratios and maps
};
KeyAtPath find_key_at(const std::string& path);

struct Override {
  int argument;                    // its number on the command line
  std::string key;                 // "initial.0.value"
  std::vector<std::string> parts;  // "initial", "0", "value"
  std::string value;               // YAML
};

// `numbers`: of the arguments on the command line; counted from 1 where there are none. Throws
// Error(command_line) for one without '=' or key, and for a key that stands twice.
std::vector<Override> split_overrides(const std::vector<std::string>& arguments,
                                      const std::vector<int>& numbers);

// Puts the value where its key says, making maps on the way. Whether the key exists is the reader's business.
void apply_override(YamlNode& deck, const Override& override, Problems& problems);

// The same with a value that is a tree, and was written at its place. `key`: "initial.0.value".
void put_value(YamlNode& deck, const std::string& key, YamlNode value, Problems& problems);

std::vector<std::string> split_key(const std::string& key);  // "initial", "0", "value"

}  // namespace isotherm
