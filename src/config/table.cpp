#include "config/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "config/text.hpp"
#include "core/text.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_knots = 1'000'000;  // of a file
constexpr std::size_t most_pairs = 500;        // that have room on a line of the resolved deck
constexpr std::string_view keys = "table, time, column, interpolation";

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> problem, Args&&... args) {
  throw TableError{fmt::format(problem, std::forward<Args>(args)...)};
}

double number_of(const std::string& text, const std::string& where) {
  const ParsedNumber number = parse_number(text);
  if (!number.is_number || !number.problem.empty() || !std::isfinite(number.value))
    fail("'{}' is not a number ({}); write numbers alone", printable(text), where);
  return number.value;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream rest(line);
  for (std::string cell; std::getline(rest, cell, ',');) {
    const auto wanted = [](char c) { return c != ' ' && c != '\t' && c != '\r' && c != '"'; };
    const auto first = std::ranges::find_if(cell, wanted);
    const auto last = std::find_if(cell.rbegin(), std::make_reverse_iterator(first), wanted).base();
    cells.emplace_back(first, last);
  }
  return cells;
}

std::vector<TableKnot> read_file(const std::string& path, const std::string& time,
                                 const std::string& column) {
  std::ifstream file(path);
  if (!file) fail("{} cannot be read; give a file of values separated by commas", path);
  std::vector<TableKnot> knots;
  std::optional<std::array<std::size_t, 2>> columns;  // of times and values
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.empty() || (cells.size() == 1 && cells[0].empty()) || line[0] == '#') continue;
    if (!columns) {
      const auto place_of = [&](const std::string& name) {
        const auto at = std::ranges::find(cells, name);
        if (at == cells.end())
          fail("{} has no column '{}'; its first line names {}", path, printable(name),
               fmt::join(cells, ", "));
        return static_cast<std::size_t>(at - cells.begin());
      };
      columns = {place_of(time), place_of(column)};
      continue;
    }
    const std::string where = fmt::format("{}, line {}", path, number);
    if (cells.size() <= std::ranges::max(*columns)) fail("{} has {} values only", where, cells.size());
    knots.push_back({number_of(cells[(*columns)[0]], where), number_of(cells[(*columns)[1]], where)});
    if (knots.size() > most_knots) fail("{} has more than {} lines; leave some out", path, most_knots);
  }
  return knots;
}

std::vector<TableKnot> read_list(const YamlNode& list) {
  if (list.items.size() > most_pairs)
    fail("{} pairs are more than {}; put them in a file", list.items.size(), most_pairs);
  std::vector<TableKnot> knots;
  for (const YamlNode& pair : list.items) {
    if (pair.kind != YamlNode::Kind::list || pair.items.size() != 2)
      fail("a table is a list of [time, value]; write [[0, 20], [1.5, 80]]");
    const std::string where = fmt::format("entry {}", knots.size() + 1);
    knots.push_back({number_of(pair.items[0].text, where), number_of(pair.items[1].text, where)});
  }
  return knots;
}

void check(const std::vector<TableKnot>& knots) {
  if (knots.empty()) fail("the table is empty; give a time and a value at least");
  const auto falls = [](const TableKnot& a, const TableKnot& b) { return !(a.time < b.time); };
  const auto bad = std::ranges::adjacent_find(knots, falls);
  if (bad != knots.end())
    fail("the time {} s does not follow {} s; times must rise", bad[1].time, bad[0].time);
}

}  // namespace

Expression read_table(const YamlNode& node, const std::string& folder) {
  const YamlNode* table = nullptr;
  std::string time, column, interpolation = "linear";
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const std::string& name = node.keys[i].name;
    const YamlNode& value = node.items[i];
    std::string* const text = name == "time"            ? &time
                              : name == "column"        ? &column
                              : name == "interpolation" ? &interpolation
                                                        : nullptr;
    if (name == "table")
      table = &value;
    else if (!text || value.kind != YamlNode::Kind::scalar)
      fail("'{}' is no part of a table; write {}", printable(name), keys);
    else
      *text = value.text;
  }
  if (!table) fail("a map stands where a number, a formula or a table is wanted; write table: FILE");
  if (interpolation != "linear" && interpolation != "step")
    fail("interpolation '{}' is unknown; use linear or step", printable(interpolation));
  const bool is_list = table->kind == YamlNode::Kind::list;
  if (is_list != (time.empty() && column.empty()) || (!is_list && (time.empty() || column.empty())))
    fail("a file needs the names of its columns (time and column), a list has none");
  // Absolute, so that the resolved deck finds it from anywhere.
  const std::string file =
      is_list ? "" : fs::absolute(fs::path(folder) / table->text).lexically_normal().string();
  const std::vector<TableKnot> knots = is_list ? read_list(*table) : read_file(file, time, column);
  check(knots);
  const bool steps = interpolation == "step";
  const std::string source = is_list ? yaml_text(*table)
                                     : fmt::format("{}, time: {}, column: {}", yaml_in_quotes(file),
                                                   yaml_in_quotes(time), yaml_in_quotes(column));
  return {knots, steps, fmt::format("{{table: {}{}}}", source, steps ? ", interpolation: step" : "")};
}

}  // namespace isotherm
