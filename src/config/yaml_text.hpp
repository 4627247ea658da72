// Words and trees as YAML that reads back to the same.
#pragma once

#include <string>

#include "config/yaml_tree.hpp"

namespace isotherm {

std::string yaml_in_quotes(const std::string& text);
std::string yaml_text(const std::string& text);  // in quotes only where it needs them
std::string yaml_text(const YamlNode& node);     // on one line

}  // namespace isotherm
