// Tables of a deck: values at times, in place of a formula of t.
//
//     {table: trace.csv, time: t_s, column: P_W, interpolation: step}      columns of a file, by their names
//     {table: [[0, 20], [1.5, 80]]}                                        [s, value], linear between them
#pragma once

#include <string>

#include "config/expression.hpp"
#include "config/yaml_tree.hpp"

namespace isotherm {

// What is wrong with a table, and what to do: "problem; advice".
struct TableError {
  std::string problem;
};

// `node` is a map; a relative path starts at `folder`. Throws TableError.
Expression read_table(const YamlNode& node, const std::string& folder);

}  // namespace isotherm
