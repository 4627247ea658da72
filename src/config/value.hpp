// Reads the value of one key: a number, a word, a formula, three numbers.
#pragma once

#include <string>
#include <string_view>

#include "config/key_table.hpp"
#include "config/problems.hpp"
#include "config/yaml_tree.hpp"
#include "core/expression.hpp"

namespace isotherm {

// Formulas as decks may write them: what muParser would read otherwise than it was meant is refused.

// Throws FormulaError.
Expression compile_formula(const std::string& text, std::string_view variables);

// Stores the value in the key's target, or adds a problem. Not for maps and lists of maps.
void read_value(const YamlNode& node, const Key& key, const std::string& path, Problems& problems);

const char* name_of(YamlNode::Kind kind);  // "a list"

}  // namespace isotherm
