// Reads the value of one key: a number, a word, a formula, three numbers.
#pragma once

#include <string>

#include "config/key_table.hpp"
#include "config/problems.hpp"
#include "config/yaml_tree.hpp"

namespace isotherm {

// Stores the value in the key's target, or adds a problem. Not for maps and lists of maps.
void read_value(const YamlNode& node, const Key& key, const std::string& path, Problems& problems);

const char* name_of(YamlNode::Kind kind);  // "a list"

}  // namespace isotherm
