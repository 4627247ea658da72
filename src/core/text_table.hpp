// Tables for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace isotherm {

// Columns of equal width with two spaces between; `alignment` holds 'l' or 'r' a column. Every line ends in a
// newline and none in a space.
struct TextTable {
  std::string alignment;
  std::vector<std::vector<std::string>> rows;  // the first is the head; short rows are filled up

  // On a terminal of `width` columns that the lines would not fit, heads and what stands on the left go on in
  // further lines of their cells, broken between words; numbers stay whole. Where that does not fit either,
  // the columns behind those on the left stand in tables below each other; and where not even one of them
  // does, each row is a block of lines, a cell with its head each.
  std::string text(int indent = 0, std::optional<int> width = std::nullopt) const;
};

}  // namespace isotherm
